//! `filter spoe` lines, and the engines that their files describe (SPOE.txt, section 2).
use super::spoe_error::SpoeFileError;
use super::spoe_file::{self, AgentDraft, FileDraft, MessageDraft};
use crate::context::Cx;
use crate::diag::{Place, Severity};
use crate::draft::{DraftKind, DraftLog, DraftProxy};
use crate::line::{Args, Fault, Parsed};
use crate::model::{Filter, ProxyKind, SpoeLine};
use rules::{SpoeAgent, SpoeEngine, SpoeEvent, SpoeGroup, SpoeMessage, SpoeVariables};
use sample::vars::VarName;
use sample::{Place as SamplePlace, Places};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// `filter spoe [engine <name>] config <file>`
pub(super) fn line(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let (mut engine, mut file, mut n) = (None, None, 2);
    while let Some(word) = args.get(n) {
        let to = match word {
            "engine" => &mut engine,
            "config" => &mut file,
            _ => return Err(args.fault(n, format!("'filter' : 'unknown keyword '{word}''"))),
        };
        let message = format!("'filter' : ''spoe' : '{word}' option without value'");
        *to = Some(args.need(n + 1, message)?);
        n += 2;
    }
    let file = file.ok_or_else(|| args.fault(n, in_filter("'spoe' : missing config file")))?;
    let bytes = cx.read(file, &args.place().file).map_err(|error| {
        let message = format!("Could not open configuration file {file} : {error}");
        args.fault(n - 1, in_filter(&message))
    })?;
    let before = cx.diagnostics.alerts();
    let draft = spoe_file::read(proxy, cx, (file, &bytes), engine);
    if cx.diagnostics.alerts() > before {
        return Ok(());
    }
    let agent = draft.agent.as_ref();
    let agent = agent.ok_or_else(|| {
        args.fault(n - 1, in_filter(format!("No SPOE agent found in file {file}")))
    })?;
    let name = engine.unwrap_or(&agent.name).to_owned();
    let fails = |error: SpoeFileError| args.fault(1, in_filter(&error));
    if spoe_lines(proxy).any(|line| *line.engine.name == *name) {
        let message = format!("Proxy {} : duplicated name for SPOE engine '{name}'.", proxy.name);
        return Err(args.fault(1, message));
    }
    let built = build(proxy, cx, &name, draft).map_err(fails)?;
    proxy.settings.common.filters.push(Filter::Spoe(Arc::new(built)));
    Ok(())
}

/// The engines of a proxy so far.
pub(crate) fn spoe_lines(proxy: &DraftProxy) -> impl Iterator<Item = &Arc<SpoeLine>> {
    proxy.settings.common.filters.iter().filter_map(|filter| match filter {
        Filter::Spoe(line) => Some(line),
        _ => None,
    })
}

fn in_filter(message: impl fmt::Display) -> String {
    format!("'filter' : '{message}'")
}

/// Resolves the names in a file.
fn build(
    proxy: &DraftProxy,
    cx: &mut Cx<'_>,
    name: &str,
    draft: FileDraft,
) -> Result<SpoeLine, SpoeFileError> {
    let FileDraft { agent: Some(agent), messages, groups } = draft else {
        return Err(SpoeFileError::NoAgent);
    };
    let (who, place) = (agent.name.clone(), agent.place.clone());
    let Some(backend) = agent.backend.clone() else {
        return Err(SpoeFileError::NoBackend { agent: who, place });
    };
    let mut known: HashMap<String, (Arc<SpoeMessage>, Option<SpoeEvent>, Place)> = HashMap::new();
    for message in messages {
        let MessageDraft { name, place, arguments, event, condition, .. } = message;
        let built = SpoeMessage { name: name.as_str().into(), arguments, condition };
        known.insert(name, (Arc::new(built), event, place));
    }
    let mut events: [Vec<Arc<SpoeMessage>>; 8] = Default::default();
    for wanted in &agent.messages {
        let Some((message, event, at)) = known.get(wanted) else {
            let message = wanted.clone();
            return Err(SpoeFileError::UnknownMessage { agent: who, message, place });
        };
        if let Some(event) = runs_at(proxy, cx, (wanted, at), *event) {
            check_arguments(proxy, message, event, at)?;
            events[event as usize].push(message.clone());
        }
    }
    let mut all = Vec::new();
    for wanted in &agent.groups {
        let Some(group) = groups.iter().find(|group| group.name == *wanted) else {
            let group = wanted.clone();
            return Err(SpoeFileError::UnknownGroup { agent: who, group, place });
        };
        let mut messages = Vec::new();
        for name in &group.messages {
            let Some((message, ..)) = known.get(name) else {
                let (message, place) = (name.clone(), group.place.clone());
                return Err(SpoeFileError::GroupMessage { group: wanted.clone(), message, place });
            };
            messages.push(message.clone());
        }
        all.push(SpoeGroup { name: wanted.as_str().into(), messages });
    }
    advise(proxy, cx, &agent);
    let (global_logs, logs) = logs(&agent);
    let size = agent.max_frame_size.clone();
    let engine = SpoeEngine {
        name: name.into(),
        agent: self::agent(agent, name, backend)?,
        events,
        groups: all,
    };
    let (engine, resolved) = (Arc::new(engine), Default::default());
    Ok(SpoeLine { engine, place, global_logs, logs, max_frame_size: size, resolved })
}

/// The event at which a message of this proxy is sent, if there is one. In a `listen` section the
/// events of the backend's requests are those of the frontend's.
fn runs_at(
    proxy: &DraftProxy,
    cx: &mut Cx<'_>,
    (name, at): (&str, &Place),
    event: Option<SpoeEvent>,
) -> Option<SpoeEvent> {
    use SpoeEvent::{
        BackendHttpRequest, BackendTcpRequest, ClientSession, FrontendHttpRequest,
        FrontendTcpRequest,
    };
    let Some(event) = event else {
        let message =
            format!("Proxy '{}': Ignore SPOE message '{name}' without event at {at}.", proxy.name);
        cx.about(Severity::Warning, at, message);
        return None;
    };
    let early = matches!(event, ClientSession | FrontendTcpRequest | FrontendHttpRequest);
    if early && proxy.kind == DraftKind::Proxy(ProxyKind::Backend) {
        let message =
            format!("Proxy '{}': frontend event used on a backend proxy at {at}.", proxy.name);
        cx.about(Severity::Warning, at, message);
        return None;
    }
    let listens = proxy.kind == DraftKind::Proxy(ProxyKind::Listen);
    Some(match event {
        BackendTcpRequest if listens => FrontendTcpRequest,
        BackendHttpRequest if listens => FrontendHttpRequest,
        other => other,
    })
}

/// The place of the samples of an event.
fn place_of(proxy: &DraftProxy, event: SpoeEvent) -> SamplePlace {
    let front = proxy.kind == DraftKind::Proxy(ProxyKind::Frontend);
    let either = |front_place, back_place| if front { front_place } else { back_place };
    match event {
        SpoeEvent::ClientSession => SamplePlace::FeTcpConnection,
        SpoeEvent::FrontendTcpRequest => SamplePlace::FeTcpRequest,
        SpoeEvent::FrontendHttpRequest => SamplePlace::FeHttpRequest,
        SpoeEvent::BackendTcpRequest => {
            either(SamplePlace::FeTcpRequest, SamplePlace::BeTcpRequest)
        }
        SpoeEvent::BackendHttpRequest => {
            either(SamplePlace::FeHttpRequest, SamplePlace::BeHttpRequest)
        }
        SpoeEvent::ServerSession => SamplePlace::BeServerConnect,
        SpoeEvent::TcpResponse => either(SamplePlace::FeTcpResponse, SamplePlace::BeTcpResponse),
        SpoeEvent::HttpResponse => either(SamplePlace::FeHttpResponse, SamplePlace::BeHttpResponse),
    }
}

/// The samples of a message must exist at its event.
fn check_arguments(
    proxy: &DraftProxy,
    message: &SpoeMessage,
    event: SpoeEvent,
    at: &Place,
) -> Result<(), SpoeFileError> {
    let places = Places::of(place_of(proxy, event));
    match message.arguments.iter().find(|(_, expr)| !expr.valid_in(places)) {
        None => Ok(()),
        Some((_, expr)) => Err(SpoeFileError::Arguments {
            message: message.name.to_string(),
            place: at.clone(),
            needed: expr.needs().to_string(),
            places: places.name().to_string(),
        }),
    }
}

fn advise(proxy: &DraftProxy, cx: &mut Cx<'_>, agent: &AgentDraft) {
    let (name, place) = (&agent.name, &agent.place);
    let settings = &agent.settings;
    if settings.hello.is_none() || settings.idle.is_none() || settings.processing.is_none() {
        let message = format!(
            "Proxy '{}': missing timeouts for SPOE agent '{name}' declare at {place}.\n   | While not properly invalid, you will certainly encounter various problems\n   | with such a configuration. To fix this, please ensure that all following\n   | timeouts are set to a non-zero value: 'hello', 'idle', 'processing'.",
            proxy.name
        );
        cx.about(Severity::Warning, place, message);
    }
    if agent.messages.is_empty() && agent.groups.is_empty() {
        let message = format!(
            "Proxy '{}': No message/group used by SPOE agent '{name}' declared at {place}.",
            proxy.name
        );
        cx.about(Severity::Warning, place, message);
    }
}

/// Whether the agent logs where `global` does, and its own targets.
fn logs(agent: &AgentDraft) -> (bool, Vec<crate::model::LogTarget>) {
    let global = agent.logs.iter().any(|log| matches!(log, DraftLog::Global));
    let own = agent.logs.iter().filter_map(|log| match log {
        DraftLog::Target(target) => Some(target.clone()),
        DraftLog::Global => None,
    });
    (global, own.collect())
}

/// The settings of an agent, with its variables.
fn agent(draft: AgentDraft, engine: &str, backend: String) -> Result<SpoeAgent, SpoeFileError> {
    let prefix = draft.prefix.as_deref().unwrap_or(engine);
    let failed = |name: &str, bad: &str| SpoeFileError::Variable {
        agent: draft.name.clone(),
        variable: format!("{prefix}.{name}"),
        bad: bad.to_owned(),
    };
    let variable = |name: &str| {
        let parsed = VarName::parse(&format!("txn.{prefix}.{name}"));
        let valid = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
        parsed.map_err(|_| failed(name, name.trim_start_matches(valid)))
    };
    let optional = |name: &Option<String>| name.as_deref().map(variable).transpose();
    let mut known = HashMap::new();
    for name in &draft.names {
        known.insert(name.as_bytes().into(), variable(name)?);
    }
    Ok(SpoeAgent {
        name: draft.name.as_str().into(),
        backend: backend.into(),
        max_frame_size: draft.max_frame_size.as_ref().map_or(0, |size| size.value),
        on_error: optional(&draft.on_error)?,
        process_time: optional(&draft.process_time)?,
        total_time: optional(&draft.total_time)?,
        variables: SpoeVariables {
            prefix: prefix.into(),
            any: draft.any_variable,
            known,
            mentioned: Default::default(),
        },
        ..draft.settings
    })
}

/// An error of the file, in the words of a faulty line.
pub(super) fn unknown(args: Args<'_>, section: &str) -> Fault {
    let word = args.text(0);
    args.fault(0, format!("unknown keyword '{word}' in {section} section."))
}
