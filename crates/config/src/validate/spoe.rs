//! Engines of `filter spoe` lines: their backends, their rules, the variables that they may set.
use crate::context::Cx;
use crate::diag::{Diagnostic, Place, Severity};
use crate::model::{Filter, Mode, Proxy, SpoeLine};
use crate::parse::spoe_file::frame_size_range;
use ::rules::SpoeEngine;
use sample::vars::VarName;
use std::fmt;
use std::sync::Arc;

/// Completes the lines of all proxies.
pub(super) fn resolve(proxies: &[Proxy], bufsize: usize, cx: &mut Cx<'_>) {
    let mut number = 0;
    for proxy in proxies {
        for line in lines(proxy) {
            let backend = backend(proxy, line, proxies, cx).unwrap_or(0);
            let _ = line.resolved.set((number, backend));
            number += 1;
            check_frame_size(line, bufsize, cx);
            let _ = line.engine.agent.variables.mentioned.set(mentioned(&line.engine, cx));
        }
        groups(proxy, cx);
    }
}

fn lines(proxy: &Proxy) -> impl Iterator<Item = &Arc<SpoeLine>> {
    proxy.common.filters.iter().filter_map(|filter| match filter {
        Filter::Spoe(line) => Some(line),
        _ => None,
    })
}

/// The number of the agent's backend, which has to carry bytes.
fn backend(proxy: &Proxy, line: &SpoeLine, all: &[Proxy], cx: &mut Cx<'_>) -> Option<usize> {
    let (agent, place) = (&line.engine.agent, &line.place);
    let found = all.iter().position(|it| it.back.is_some() && *it.name == *agent.backend);
    let who = format!("used by SPOE agent '{}' declared at {place}", agent.name);
    let fault = match found {
        None => format!("unknown backend '{}' {who}.", agent.backend),
        Some(index) if all[index].mode != Mode::Tcp => {
            format!("backend '{}' {who} does not support HTTP mode.", agent.backend)
        }
        Some(index) => return Some(index),
    };
    let message = format!("Proxy {} : {fault}", proxy.name);
    let mut alert = Diagnostic::about(Severity::Alert, place, message);
    if found.is_none() {
        let names = all.iter().filter(|it| it.back.is_some()).map(|it| &*it.name);
        alert.suggestion = crate::suggest::nearest(&agent.backend, names);
    }
    cx.diagnostics.push(alert);
    None
}

/// A frame and its length fill a buffer at most.
fn check_frame_size(line: &SpoeLine, bufsize: usize, cx: &mut Cx<'_>) {
    let most = u32::try_from(bufsize.saturating_sub(4)).unwrap_or(u32::MAX);
    if let Some(size) = line.max_frame_size.as_ref().filter(|size| size.value > most) {
        cx.about(Severity::Alert, &size.place, frame_size_range(most));
    }
}

/// The variables with the prefix of an engine that the configuration mentions, without it.
fn mentioned(engine: &SpoeEngine, cx: &Cx<'_>) -> std::collections::HashMap<Box<[u8]>, VarName> {
    let prefix = format!("{}.", engine.agent.variables.prefix);
    let names = cx.variable_names.iter().filter_map(|name| {
        let own = name.strip_prefix(&prefix)?;
        Some((own.as_bytes().into(), VarName::parse(&format!("txn.{name}")).ok()?))
    });
    names.collect()
}

/// Gives `send-spoe-group` rules the engines of their section that they name.
fn groups(proxy: &Proxy, cx: &mut Cx<'_>) {
    let inherited = proxy.inherited_rules.as_deref();
    for set in inherited.into_iter().chain([&proxy.rules]).flat_map(|rules| rules.sets()) {
        for rule in set.rules() {
            let ::rules::Action::SpoeGroup(action) = rule.action() else { continue };
            let (file, line) = rule.place();
            let place = Place { file: file.into(), line };
            if let Err(error) = group(proxy, action) {
                cx.about(Severity::Alert, &place, format!("Proxy '{}': {error}", proxy.name));
            }
        }
    }
}

/// Why a `send-spoe-group` rule cannot run.
#[derive(Debug)]
enum SpoeGroupError {
    /// The section has no such engine.
    Engine { engine: String, group: String },
    /// The engine has no such group.
    Group { engine: String, group: String },
    /// A message of the group needs samples that do not exist where the rule runs.
    Arguments { message: String, group: String, place: Place, needed: String, places: String },
}

impl fmt::Display for SpoeGroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine { engine, group } => write!(
                f,
                "unable to find SPOE engine '{engine}' used by the send-spoe-group '{group}'."
            ),
            Self::Group { engine, group } => write!(
                f,
                "unable to find SPOE group '{group}' into SPOE engine '{engine}' configuration."
            ),
            Self::Arguments { message, group, place, needed, places } => write!(
                f,
                "Invalid SPOE message '{message}' used by SPOE group '{group}' at {place}: some args extract information from '{needed}',none of which is available here ('{places}')."
            ),
        }
    }
}

fn group(proxy: &Proxy, action: &::rules::action::SpoeGroupAction) -> Result<(), SpoeGroupError> {
    let (engine, group, places) = (action.engine(), action.group(), action.places());
    let Some(line) = lines(proxy).find(|line| *line.engine.name == *engine) else {
        return Err(SpoeGroupError::Engine {
            engine: engine.to_string(),
            group: group.to_string(),
        });
    };
    let Some(number) = line.engine.groups.iter().position(|it| *it.name == *group) else {
        return Err(SpoeGroupError::Group { engine: engine.to_string(), group: group.to_string() });
    };
    for message in &line.engine.groups[number].messages {
        if let Some((_, expr)) = message.arguments.iter().find(|(_, it)| !it.valid_in(places)) {
            return Err(SpoeGroupError::Arguments {
                message: message.name.to_string(),
                group: group.to_string(),
                place: line.place.clone(),
                needed: expr.needs().to_string(),
                places: places.name().to_string(),
            });
        }
    }
    action.resolve(&line.engine, number);
    Ok(())
}
