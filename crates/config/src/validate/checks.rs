//! Health checks and mails about them, put together from the lines of a section.
use super::Shared;
use crate::context::Cx;
use crate::diag::Severity;
use crate::draft::{CheckMethod, DraftCheck, DraftProxy};
use crate::model::{EmailAlert, HealthCheck, LogLevel, Process};
use rules::check::{Script, Step, StepAction, StepPorts};
use std::sync::Arc;

/// The lines of a script count only with the option that it belongs to.
pub(super) fn health_check(check: DraftCheck) -> HealthCheck {
    let script = match check.method {
        CheckMethod::Connect => return HealthCheck::Connect,
        CheckMethod::Ready(script) => return HealthCheck::Script(script),
        CheckMethod::External => {
            let command = check.command.unwrap_or_default();
            return HealthCheck::External { command, path: check.path.unwrap_or_default() };
        }
        CheckMethod::Tcp => Script { steps: check.tcp, ..Script::default() },
        CheckMethod::Http => {
            let sends = |step: &Arc<Step>| matches!(step.action, StepAction::HttpSend(_));
            let first = check.http.iter().position(sends);
            Script {
                request_wins: first.is_some_and(|first| first < check.request_at),
                request: check.request,
                disable_on_404: check.disable_on_404,
                send_state: check.send_state,
                ..Script::http(check.http)
            }
        }
    };
    HealthCheck::Script(Arc::new(script))
}

/// The ports that steps of a section's checks leave open.
pub(super) fn ports(check: &DraftCheck) -> StepPorts {
    match &check.method {
        CheckMethod::Tcp => StepPorts::of(&check.tcp),
        CheckMethod::Http => StepPorts::of(&check.http),
        CheckMethod::Connect | CheckMethod::Ready(_) | CheckMethod::External => StepPorts::Implied,
    }
}

/// Whether its checks are HTTP requests.
pub(super) fn speaks_http(check: &DraftCheck) -> bool {
    matches!(check.method, CheckMethod::Http)
}

/// Programs are started only where `global` allows it.
pub(super) fn external(draft: &DraftProxy, process: &Process, cx: &mut Cx<'_>) {
    let check = &draft.settings.check;
    if !matches!(check.method, CheckMethod::External) {
        for (what, given) in [("command", &check.command), ("path", &check.path)] {
            if given.is_some() {
                let message = format!(
                    "'external-check {what}' will be ignored for {} '{}' (requires 'option external-check').",
                    draft.word(),
                    draft.name
                );
                cx.about(Severity::Warning, &draft.place, message);
            }
        }
        return;
    }
    if !draft.has_backend() {
        return;
    }
    let mut say = |severity, message: &str| {
        cx.about(severity, &draft.place, format!("Proxy '{}' : {message}", draft.name));
    };
    if !process.external_check {
        let message = "'option external-check' unable to find required 'global.external-check'.";
        say(Severity::Alert, message);
    } else if check.command.is_none() {
        let message = "'option external-check' unable to find required 'external-check command'.";
        say(Severity::Alert, message);
    }
    if !process.insecure_fork {
        let message = "'insecure-fork-wanted' not enabled in the global section, 'option external-check' will fail.";
        say(Severity::Warning, message);
    }
}

/// Steps of a section of its own that no option asks for.
pub(super) fn unused(draft: &DraftProxy, cx: &mut Cx<'_>) {
    let check = &draft.settings.check;
    if check.inherited {
        return;
    }
    let none = matches!(check.method, CheckMethod::Connect);
    let astray = check.astray.map(|at| at == Some(std::mem::discriminant(&check.method)));
    let kinds = [(&check.tcp, "tcp-check", "tcp-check"), (&check.http, "http-check", "httpchk")];
    for ((steps, rules, option), astray) in kinds.into_iter().zip(astray).rev() {
        if !steps.is_empty() && (none || astray) {
            let message = format!(
                "{} '{}' uses {rules} rules without 'option {option}', so the rules are ignored.",
                draft.word(),
                draft.name
            );
            cx.about(Severity::Warning, &draft.place, message);
        }
    }
}

/// The mails of a section, if it has all the lines that they need.
pub(super) fn email_alert(
    draft: &DraftProxy,
    shared: &Shared<'_>,
    cx: &mut Cx<'_>,
) -> Option<EmailAlert> {
    let mail = &draft.settings.mail;
    if mail.is_empty() {
        return None;
    }
    let (Some(from), Some(to), Some(wanted)) = (&mail.from, &mail.to, &mail.mailers) else {
        let message = format!(
            "'email-alert' will be ignored for {} '{}' (the presence any of 'email-alert from', 'email-alert level' 'email-alert mailers', 'email-alert myhostname', or 'email-alert to' requires each of 'email-alert from', 'email-alert mailers' and 'email-alert to' to be present).",
            draft.word(),
            draft.name
        );
        cx.about(Severity::Warning, &draft.place, message);
        return None;
    };
    let Some(mailers) = shared.draft.mailers.iter().find(|section| *section.name == *wanted.value)
    else {
        let message = format!("Proxy '{}': unable to find mailers '{}'.", draft.name, wanted.value);
        let mut alert = crate::diag::Diagnostic::about(Severity::Alert, &wanted.place, message);
        let names = shared.draft.mailers.iter().map(|section| &*section.name);
        alert.suggestion = crate::suggest::nearest(&wanted.value, names);
        cx.diagnostics.push(alert);
        return None;
    };
    Some(EmailAlert {
        from: from.clone(),
        to: to.clone(),
        hostname: mail.hostname.clone(),
        level: mail.level.unwrap_or(LogLevel(1)),
        mailers: mailers.clone(),
    })
}
