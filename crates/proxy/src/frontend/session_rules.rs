//! The rules that a connection passes before anything is read from it.
//!
//! `tcp-request connection` rules go first, then the preamble of the connection
//! ([`crate::frontend::preamble`]), then the rules of `tcp-request session` (manual section 4): a
//! connection that is refused is no session, and is not logged.

use crate::frontend::listener;
use engine::state::session::client::Client;
use engine::state::session::request_buffers::{Notes, Workspace};
use observability::telemetry::sample_context::View;
use observability::telemetry::trace::points as trace;
use rules::{Cursor, RuleSet, Rules, Verdict};
use sample::regex::effort;
use std::cell::OnceCell;
use table::DataType;
use transport::stats::counters::Metric;

/// Picks a rule set of a section.
type Pick = fn(&Rules) -> &RuleSet;

/// How a connection is refused.
struct Refusal {
    metric: Metric,
    reset: bool,
    vanishes: bool,
}

/// Whether the rules admit a connection. A refused one is counted; its drop closes it.
pub(crate) fn admits(client: &mut Client) -> bool {
    let welcome = !client.proxy.rules.admission || passes(client, Stage::Connection);
    if welcome {
        client.peer = client.rare.source.or(client.peer);
        if let Some(address) = client.rare.destination {
            client.set_local(address);
        }
        client.rare.set_ends(None, None);
    }
    welcome
}

/// Whether the session of a connection may begin, after its preamble; then it is counted.
pub(crate) fn opens_session(client: &mut Client) -> bool {
    if client.proxy.rules.admission && !passes(client, Stage::Session) {
        return false;
    }
    client.count(DataType::SESSION);
    listener::count_session(client);
    trace::client(client, &trace::SESSION_NEW);
    true
}

/// The rule set that is evaluated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Connection,
    Session,
}

fn passes(client: &mut Client, stage: Stage) -> bool {
    let worker = client.worker.clone();
    let (mut space, mut notes) = (worker.take_workspace(), worker.take_notes());
    notes.used = true;
    std::mem::swap(&mut notes.variables.session, &mut client.variables);
    (notes.source, notes.destination) = (client.rare.source, client.rare.destination);
    notes.expects = client.rare.expects;
    let refusal = judge(client, stage, &mut space, &mut notes);
    std::mem::swap(&mut notes.variables.session, &mut client.variables);
    client.rare.set_ends(notes.source.take(), notes.destination.take());
    client.rare.set_expected(std::mem::take(&mut notes.expects));
    worker.give_workspace(space);
    worker.give_notes(notes);
    let Some(Refusal { metric, reset, vanishes }) = refusal else { return true };
    client.counted().for_each(|block| block.count(metric));
    trace::client(client, &trace::SESSION_REFUSED);
    (client.reset, client.vanishes) = (reset, vanishes);
    false
}

fn judge(
    client: &Client,
    stage: Stage,
    space: &mut Workspace,
    notes: &mut Notes,
) -> Option<Refusal> {
    let (set, metric): (Pick, _) = match stage {
        Stage::Connection => (|rules| &rules.tcp_connection, Metric::DeniedConnections),
        Stage::Session => (|rules| &rules.tcp_session, Metric::DeniedSessions),
    };
    for section in client.proxy.settings.rule_sections() {
        let worker = &client.worker;
        effort::open(notes.account());
        let (backend, slot, server, stream) = (None, None, None, false);
        let server_name = OnceCell::new();
        let mut view =
            View { worker, client, space, notes, backend, slot, server, stream, server_name };
        match set(section).evaluate(Cursor::default(), &mut view) {
            Verdict::Allow => break,
            // No byte has been sent on a connection that is refused this early: a reset costs least
            // on both sides.
            Verdict::Reject | Verdict::OutOfSteps if stage == Stage::Connection => {
                return Some(Refusal { metric, reset: true, vanishes: false });
            }
            Verdict::Reject | Verdict::OutOfSteps => {
                return Some(Refusal { metric, reset: false, vanishes: false });
            }
            Verdict::SilentDrop => return Some(Refusal { metric, reset: false, vanishes: true }),
            _ => {}
        }
    }
    None
}
