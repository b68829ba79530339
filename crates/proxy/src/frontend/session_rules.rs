//! The rules that run on a connection before anything is read from it.
//!
//! `tcp-request connection` rules go first, then the preamble of the connection
//! ([`crate::frontend::preamble`]), then the rules of `tcp-request session` (manual section 4): a
//! connection that is refused is no session, and is not logged. Rules that wait for an answer from
//! outside are continued by a task of the connection.

use crate::frontend::listener;
use engine::state::runtime::Proxy;
use engine::state::session::client::Client;
use engine::state::session::pending::{OutsideAnswer, RuleScope};
use engine::state::session::request_buffers::{Notes, Workspace};
use engine::state::session::transaction::RulePlace;
use observability::telemetry::sample_context::View;
use observability::telemetry::trace::points as trace;
use quic::InitialVerdict;
use rules::{Need, Verdict};
use std::future::poll_fn;
use std::task::Poll;
use table::DataType;
use transaction::stages::rule_sections;
use transaction::stages::rule_sections::SetOf;
use transaction::stages::table::is_same;
use transport::stats::counters::Metric;

/// How a connection is refused.
#[derive(Clone, Copy)]
struct Refusal {
    metric: Metric,
    reset: bool,
    vanishes: bool,
}

/// The result of the rules for a connection.
pub(crate) enum Admission {
    /// The connection continues.
    Granted,
    /// A rule has refused the connection, which is counted and closed when dropped.
    Refused,
    /// A rule waits for an answer from outside.
    Waits(Box<Evaluation>),
}

/// A stage of a connection that has no transaction yet; the same skeleton as that of a request
/// (`transaction::stages`).
struct SessionStage {
    /// The keyword of the rules that the stage runs.
    name: &'static str,
    /// Whether it applies to a frontend.
    applies: fn(&Proxy) -> bool,
    set: SetOf,
    /// The end of a connection that the rules refuse.
    refusal: Refusal,
    /// The next step of a connection that passes.
    passed: fn(&mut Client),
    /// The trace point that is reported behind it.
    trace: Option<&'static trace::ClientPoint>,
}

/// The stages of a connection. No byte has been sent on one that is refused before its session: a
/// reset costs least on both sides.
const STAGES: &[SessionStage] = &[
    SessionStage {
        name: "tcp-request connection",
        applies: |front| front.rules.admission,
        set: |rules| &rules.tcp_connection,
        refusal: Refusal { metric: Metric::DeniedConnections, reset: true, vanishes: false },
        passed: admitted,
        trace: None,
    },
    SessionStage {
        name: "tcp-request session",
        applies: |front| front.rules.admission,
        set: |rules| &rules.tcp_session,
        refusal: Refusal { metric: Metric::DeniedSessions, reset: false, vanishes: false },
        passed: opened,
        trace: Some(&trace::SESSION_NEW),
    },
];

const CONNECTION: &SessionStage = named("tcp-request connection");
const SESSION: &SessionStage = named("tcp-request session");

/// The row with this name, which there is: it is looked up at compile time.
const fn named(name: &str) -> &'static SessionStage {
    let mut number = 0;
    while !is_same(STAGES[number].name, name) {
        number += 1;
    }
    &STAGES[number]
}

impl SessionStage {
    /// Runs the rules, if there are any.
    fn run(&'static self, client: &mut Client) -> Admission {
        if !(self.applies)(&client.proxy) {
            self.pass(client);
            return Admission::Granted;
        }
        let admission = Evaluation::begin(client, self).run(client);
        if let Admission::Granted = admission {
            self.pass(client);
        }
        admission
    }

    /// The connection passes.
    fn pass(&self, client: &mut Client) {
        (self.passed)(client);
        if let Some(point) = self.trace {
            trace::client(client, point);
        }
    }
}

/// The decision of the `quic-initial` rules about a client, on its first packet.
pub(crate) fn initial(client: &mut Client) -> InitialVerdict {
    let mut evaluation = Evaluation::begin(client, CONNECTION);
    let (proxy, mut place) = (client.proxy.clone(), RulePlace::default());
    let set: SetOf = |rules| &rules.quic_initial;
    let verdict = rule_sections::evaluate(&proxy.settings, set, &mut place, |rules, cursor| {
        rules.evaluate(cursor, &mut View::at(evaluation.scope(client)))
    });
    let verdict = match verdict {
        Verdict::Reject | Verdict::OutOfSteps => InitialVerdict::Refuse,
        Verdict::SilentDrop => InitialVerdict::Ignore,
        Verdict::SendRetry => InitialVerdict::Retry,
        // No action of these rules waits.
        _ => InitialVerdict::Accept,
    };
    evaluation.give_back(client);
    if matches!(verdict, InitialVerdict::Refuse | InitialVerdict::Ignore) {
        client.counted().for_each(|block| block.count(Metric::DeniedConnections));
    }
    verdict
}

/// Whether the rules admit a connection.
pub(crate) fn admits(client: &mut Client) -> Admission {
    CONNECTION.run(client)
}

/// Decides whether the session of a connection may begin, after its preamble; a session that begins
/// is counted.
pub(crate) fn opens_session(client: &mut Client) -> Admission {
    SESSION.run(client)
}

/// The addresses that rules have set count from now on.
fn admitted(client: &mut Client) {
    client.peer = client.rare.source.or(client.peer);
    if let Some(address) = client.rare.destination {
        client.set_local(address);
    }
    client.rare.set_ends(None, None);
}

fn opened(client: &mut Client) {
    client.count(DataType::SESSION);
    listener::count_session(client);
}

/// Continues an evaluation that waits, in the task that owns the client's socket. `false`: the
/// rules refuse the connection, or its client has left.
pub(crate) async fn resume(client: &mut Client, mut waiting: Box<Evaluation>) -> bool {
    loop {
        let stage = waiting.stage;
        let admission = match waiting.answer(client).await {
            Some(OutsideAnswer::Continue) => waiting.run(client),
            Some(OutsideAnswer::Allow) => waiting.conclude(client, None),
            Some(_) => waiting.conclude(client, Some(stage.refusal)),
            // As after a read that finds the end.
            None => {
                waiting.give_back(client);
                return false;
            }
        };
        match admission {
            Admission::Refused => return false,
            Admission::Waits(next) => waiting = next,
            Admission::Granted => {
                stage.pass(client);
                return true;
            }
        }
    }
}

/// An evaluation of rules, with the memory that it uses.
pub(crate) struct Evaluation {
    stage: &'static SessionStage,
    /// The next rule.
    place: RulePlace,
    space: Box<Workspace>,
    notes: Box<Notes>,
}

impl Evaluation {
    fn begin(client: &mut Client, stage: &'static SessionStage) -> Self {
        let (space, mut notes) = (client.worker.take_workspace(), client.worker.take_notes());
        notes.used = true;
        std::mem::swap(&mut notes.variables.session, &mut client.variables);
        (notes.source, notes.destination) = (client.rare.source, client.rare.destination);
        notes.expects = client.rare.expects;
        Self { stage, place: RulePlace::default(), space, notes }
    }

    fn scope<'a>(&'a mut self, client: &'a Client) -> RuleScope<'a> {
        let (space, notes) = (&mut *self.space, &mut *self.notes);
        let (backend, slot, server, stream) = (None, None, None, false);
        let worker = &client.worker;
        RuleScope { worker, client, space, notes, backend, slot, server, stream }
    }

    /// Evaluates the rules that are left.
    fn run(mut self, client: &mut Client) -> Admission {
        let (set, proxy, mut place) = (self.stage.set, client.proxy.clone(), self.place);
        let verdict = rule_sections::evaluate(&proxy.settings, set, &mut place, |rules, cursor| {
            match rules.evaluate(cursor, &mut View::at(self.scope(client))) {
                // No bytes are there before the session.
                Verdict::Suspend { need: Need::Bytes, .. } => Verdict::Continue,
                verdict => verdict,
            }
        });
        let refusal = self.stage.refusal;
        match verdict {
            Verdict::Reject | Verdict::OutOfSteps => self.conclude(client, Some(refusal)),
            Verdict::SilentDrop => {
                let refusal = Refusal { reset: false, vanishes: true, ..refusal };
                self.conclude(client, Some(refusal))
            }
            Verdict::Suspend { .. } => {
                self.place = place;
                Admission::Waits(Box::new(self))
            }
            _ => self.conclude(client, None),
        }
    }

    /// Waits for the answer that a rule has asked for; `None`: the client has left, which ends the
    /// wait with `option abortonclose`.
    async fn answer(&mut self, client: &Client) -> Option<OutsideAnswer> {
        let Some(mut pending) = self.notes.asked.take() else {
            return Some(OutsideAnswer::Continue);
        };
        let matters = client.proxy.front.settings.abort_on_close;
        poll_fn(|context| {
            if let Poll::Ready(answer) = pending.poll(context, &mut self.scope(client)) {
                return Poll::Ready(Some(answer));
            }
            if matters && client.socket.is_closed() {
                return Poll::Ready(None);
            }
            if matters {
                client.socket.want_close();
            }
            Poll::Pending
        })
        .await
    }

    /// Gives the memory back, and does to the client what the rules have decided.
    fn conclude(self, client: &mut Client, refusal: Option<Refusal>) -> Admission {
        self.give_back(client);
        let Some(Refusal { metric, reset, vanishes }) = refusal else {
            return Admission::Granted;
        };
        client.counted().for_each(|block| block.count(metric));
        trace::client(client, &trace::SESSION_REFUSED);
        (client.reset, client.vanishes) = (reset, vanishes);
        Admission::Refused
    }

    fn give_back(self, client: &mut Client) {
        let Self { space, mut notes, .. } = self;
        std::mem::swap(&mut notes.variables.session, &mut client.variables);
        client.rare.set_ends(notes.source.take(), notes.destination.take());
        client.rare.set_expected(std::mem::take(&mut notes.expects));
        client.worker.give_workspace(space);
        client.worker.give_notes(notes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_architecture_names_the_stages_of_a_connection_in_their_order() {
        const PAGE: &str = include_str!("../../../../ARCHITECTURE.md");
        let (_, page) = PAGE.split_once("### Stages of a connection\n").unwrap();
        let (page, _) = page.split_once("\n### ").unwrap();
        let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
        let names = STAGES.iter().map(|stage| stage.name);
        assert!(rows.skip(1).eq(names));
    }
}
