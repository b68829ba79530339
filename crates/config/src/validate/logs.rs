//! Targets of log lines.
use super::formats;
use crate::context::Cx;
use crate::diag::Severity;
use crate::draft::{Draft, DraftLog, DraftProxy};
use crate::model::{LogStyle, LogTarget, LogTransport, SendHostname};

/// Targets without `format` follow `log-send-hostname`.
pub(super) fn default_transports(draft: &mut Draft) {
    if draft.global.log_send_hostname == SendHostname::No {
        return;
    }
    let own = draft.proxies.iter_mut().flat_map(|p| &mut p.settings.logs);
    let own = own.filter_map(|log| match log {
        DraftLog::Target(target) => Some(target),
        DraftLog::Global => None,
    });
    for target in draft.global.logs.iter_mut().chain(own) {
        if target.default_transport {
            target.transport = LogTransport::Rfc3164;
        }
    }
}

/// `log global` becomes the global targets.
pub(crate) fn logs(own: Vec<DraftLog>, global: &[LogTarget]) -> Vec<LogTarget> {
    let mut logs = Vec::new();
    for log in own {
        match log {
            DraftLog::Global => logs.extend_from_slice(global),
            DraftLog::Target(target) => logs.push(target),
        }
    }
    logs
}

/// A log format without anywhere to log to.
pub(super) fn check_logs(draft: &DraftProxy, global: &[LogTarget], cx: &mut Cx<'_>) {
    let settings = &draft.settings;
    let formats = &settings.formats;
    let formats = [&formats.log, &formats.structured_data];
    let chosen = formats.iter().any(|format| format.is_some())
        || settings.front.log_style != LogStyle::default();
    if chosen && draft.has_frontend() && !formats::logs_somewhere(draft, global) {
        let message = format!(
            "log format ignored for {} '{}' since it has no log address.",
            draft.word(),
            draft.name
        );
        cx.about(Severity::Warning, &draft.place, message);
    }
}
