//! The rules that a connection passes before anything is read from it. Never waits.
//!
//! `tcp-request connection` rules go first, then those of `tcp-request session` (manual section 4):
//! a connection that is refused is no session, and is not logged.

use crate::client::Client;
use crate::counters::Metric;
use crate::facts::View;
use crate::workspace::{Notes, Workspace};
use rules::{Cursor, RuleSet, Rules, Verdict};

/// Picks a rule set of a section.
type Pick = fn(&Rules) -> &RuleSet;

/// What became of a connection that was refused.
struct Refusal {
    metric: Metric,
    reset: bool,
}

/// Whether a connection is welcome. One that is not is counted; its drop closes it.
pub(crate) fn admits(client: &mut Client) -> bool {
    let worker = client.worker.clone();
    let (mut space, mut notes) = (worker.take_workspace(), worker.take_notes());
    notes.used = true;
    std::mem::swap(&mut notes.variables.session, &mut client.variables);
    let refusal = judge(client, &mut space, &mut notes);
    std::mem::swap(&mut notes.variables.session, &mut client.variables);
    (client.source, client.destination) = (notes.source.take(), notes.destination.take());
    worker.give_workspace(space);
    worker.give_notes(notes);
    let Some(Refusal { metric, reset }) = refusal else { return true };
    if let Some(front) = &client.proxy.front {
        front.counters.of(worker.thread.index).count(metric);
    }
    client.reset = reset;
    false
}

fn judge(client: &Client, space: &mut Workspace, notes: &mut Notes) -> Option<Refusal> {
    let connection: Pick = |rules| &rules.tcp_connection;
    let session: Pick = |rules| &rules.tcp_session;
    let sets = [(connection, Metric::DeniedConnections), (session, Metric::DeniedSessions)];
    for (set, metric) in sets {
        for section in client.proxy.settings.rule_sections() {
            let worker = &client.worker;
            let mut view =
                View { worker, client, space, notes, backend: None, slot: None, server: None };
            match set(section).evaluate(Cursor::default(), &mut view) {
                Verdict::Allow => break,
                // Nothing has been said on a connection that is refused this early: a reset costs
                // least on both sides.
                Verdict::Reject if metric == Metric::DeniedConnections => {
                    return Some(Refusal { metric, reset: true });
                }
                Verdict::Reject => return Some(Refusal { metric, reset: false }),
                Verdict::SilentDrop => return Some(Refusal { metric, reset: true }),
                _ => {}
            }
        }
    }
    None
}
