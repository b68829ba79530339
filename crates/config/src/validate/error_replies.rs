//! Error replies of proxies, the `http-errors` sections that lines and rules name, and the room in a buffer.
use super::Shared;
use crate::context::Cx;
use crate::diag::{Place, Severity};
use crate::draft::{DraftError, DraftErrorFiles, DraftProxy};
use crate::model::{ErrorReply, Rules};
use std::collections::BTreeMap;

/// Error replies leave room for `http-after-response` rules (section 4.2 `errorfile`).
pub(super) fn check_error_files(settings: &settings::Process, cx: &mut Cx<'_>) {
    let buffer = settings.buffer_size;
    let room = buffer - settings.max_rewrite.min(buffer / 2);
    for (length, alert) in std::mem::take(&mut cx.error_files) {
        if length > room {
            cx.diagnostics.push(alert);
        }
    }
}

/// Error replies of a proxy: later lines override earlier ones, and the section's own override
/// inherited ones.
pub(super) fn error_replies(draft: &mut DraftProxy, shared: &Shared<'_>, cx: &mut Cx<'_>) {
    let own = std::mem::take(&mut draft.settings.errors);
    let mut replies = BTreeMap::new();
    let mut level = Some(&own);
    while let Some(errors) = level {
        for line in errors.lines.iter().rev() {
            match line {
                DraftError::Reply(status, reply) => {
                    replies.entry(*status).or_insert_with(|| reply.clone());
                }
                DraftError::Files(line) => error_files(line, draft, shared, cx, &mut replies),
            }
        }
        level = errors.inherited.as_deref();
    }
    // `default-errorfiles` hides inherited error files.
    replies.retain(|_, reply| !matches!(reply, ErrorReply::Reply(reply) if reply.is_default()));
    sections_of_rules(&draft.name, &draft.rules, shared, cx);
    draft.settings.common.error_replies = replies;
}

/// The `http-errors` sections that rules name must be there, and should have what is asked for.
pub(super) fn sections_of_rules(proxy: &str, rules: &Rules, shared: &Shared<'_>, cx: &mut Cx<'_>) {
    for rule in rules.sets().into_iter().flat_map(|set| set.rules()) {
        let rules::Action::Control(control) = rule.action() else { continue };
        let Some(reply) = control.reply() else { continue };
        let Some(name) = reply.section() else { continue };
        let (file, line) = rule.place();
        let place = Place { file: file.into(), line };
        let status = reply.key();
        match shared.draft.http_errors.iter().find(|section| *section.name == *name) {
            Some(section) if section.files.contains_key(&status) => {}
            Some(_) => {
                let message = format!(
                    "Proxy '{proxy}': status '{status}' referenced by an http reply not declared in http-errors section '{name}'."
                );
                cx.about(Severity::Warning, &place, message);
            }
            None => {
                let message = format!(
                    "Proxy '{proxy}': unable to find required http-errors section '{name}'."
                );
                cx.about(Severity::Alert, &place, message);
            }
        }
    }
}

fn error_files(
    line: &DraftErrorFiles,
    draft: &DraftProxy,
    shared: &Shared<'_>,
    cx: &mut Cx<'_>,
    replies: &mut BTreeMap<u16, ErrorReply>,
) {
    let Some(section) = shared.draft.http_errors.iter().find(|s| *s.name == *line.section) else {
        let message = format!(
            "Proxy '{}': unable to find required http-errors section '{}'.",
            draft.name, line.section
        );
        cx.about(Severity::Alert, &line.place, message);
        return;
    };
    for (status, reply) in &section.files {
        if line.statuses.is_empty() || line.statuses.contains(status) {
            replies.entry(*status).or_insert_with(|| reply.clone());
        }
    }
}
