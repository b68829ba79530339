//! Warnings about `tcp-request content` rules that track or capture too early or too late for their samples.
use crate::context::Cx;
use crate::diag::{Place as Line, Severity};
use crate::draft::DraftProxy;
use crate::model::Mode;
use rules::action::{CounterEdit, VariableEdit};
use rules::{Action, Rule};
use sample::{Place, Places};

/// Warnings about the rules of a proxy with a client side.
pub(super) fn check(draft: &DraftProxy, cx: &mut Cx<'_>) {
    if !draft.has_frontend() {
        return;
    }
    let http = draft.settings.mode == Mode::Http;
    let waits = draft.settings.common.timeouts.request_inspection.is_some();
    for rule in draft.rules.tcp_request.rules() {
        // A key that exists at this point does not depend on contents.
        let session = Places::of(Place::FeTcpSession);
        let track = match rule.action() {
            Action::Counter(CounterEdit::Track(track)) => track,
            Action::Variable(VariableEdit::Capture(expr, _)) => {
                if !waits && !expr.valid_in(session) {
                    warn(draft, rule, cx, ("capture", EARLY));
                }
                continue;
            }
            _ => continue,
        };
        if !track.key().valid_in(session) {
            if !waits {
                warn(draft, rule, cx, ("content track-sc*", EARLY));
            }
        } else if http && rule.condition().is_none_or(|condition| condition.known_in(session)) {
            warn(draft, rule, cx, ("content track-sc*", LATE));
        }
    }
}

const EARLY: &str = "explicitly depending on request contents without any 'tcp-request inspect-delay' setting. This means that this rule will randomly find its contents. This can be fixed by setting the tcp-request inspect-delay.";
const LATE: &str = "not depending on request contents for an HTTP frontend should be executed at the session level, using a 'tcp-request session' rule (mandatory to track invalid HTTP requests).";

fn warn(draft: &DraftProxy, rule: &Rule, cx: &mut Cx<'_>, (kind, what): (&str, &str)) {
    let (file, line) = rule.place();
    let (word, name) = (draft.word(), &draft.name);
    let message = format!("{word} '{name}' : a 'tcp-request {kind}' rule {what}");
    cx.about(Severity::Warning, &Line::new(&file.into(), line), message);
}
