//! `tcp-request content` and `tcp-response content`: rules that may wait for bytes.
//!
//! The rules are evaluated from the first one on whenever bytes have arrived (from behind the last
//! one that had its effect by an answer from outside), until one decides, or until nothing can
//! change any more: the delay is over, the buffer is full, or the peer has ended its stream (manual
//! section 4, `tcp-request inspect-delay`). In HTTP mode the head is complete at the first
//! evaluation.

use crate::transaction::http_rules;
use crate::transaction::retry;
use crate::transaction::stages::sticking;
use crate::transaction::tcp;
use crate::transaction::wait;
use crate::upstream::client_presence::Gathered;
use engine::state::runtime::{Proxy, ProxyRef};
use engine::state::session::pending::OutsideAnswer;
use engine::state::session::transaction::{Progress, Transaction};
use mux::{Side, h1};
use observability::telemetry::accounting;
use observability::telemetry::sample_context::View;
use rules::action::Control;
use rules::{Action, Cursor, Need, RuleSet, Rules, Spoken, Verdict};
use settings::{Mode, RetryOn};
use std::io;
use stdx::Tick;
use transport::stats::counters::Metric;
use transport::stats::transaction_log::{Cause, Failure, Phase};

#[cfg(test)]
mod tests;

/// The verdict of the rules on the bytes received so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ruling {
    Pass,
    Wait,
    /// A rule waits for an answer from outside.
    Ask,
    Close,
    Reject,
    Drop,
    Switch(Option<Spoken>),
}

/// The state of a client that the rules do not refuse.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Passed {
    /// It goes on in its mode.
    On,
    /// It goes on in HTTP mode, in the protocol that the rule names, if it does.
    Switched(Option<Spoken>),
}

/// The place where the evaluation begins: behind the last rule that had its effect by an answer.
#[derive(Clone, Copy, Debug, Default)]
struct Start {
    section: usize,
    cursor: Cursor,
}

/// Evaluates the rules of a proxy once.
fn look(
    tx: &mut Transaction,
    proxy: &Proxy,
    set: fn(&Rules) -> &RuleSet,
    start: &mut Start,
) -> Ruling {
    for (number, section) in proxy.settings.rule_sections().enumerate().skip(start.section) {
        let rules = set(section);
        accounting::prepare(tx, rules);
        let cursor = if number == start.section { start.cursor } else { Cursor::default() };
        match rules.evaluate(cursor, &mut View::of(tx)) {
            Verdict::Allow => return Ruling::Pass,
            Verdict::Suspend { cursor, need: Need::Answer } => {
                *start = Start { section: number, cursor };
                return Ruling::Ask;
            }
            Verdict::Suspend { .. } if tx.notes.partial => return Ruling::Wait,
            Verdict::Close => return Ruling::Close,
            Verdict::Reject | Verdict::OutOfSteps => return Ruling::Reject,
            Verdict::SilentDrop => return Ruling::Drop,
            Verdict::SwitchMode(_) if tx.client.mode == Mode::Http => return Ruling::Pass,
            Verdict::SwitchMode(spoken) => return Ruling::Switch(spoken),
            _ => {}
        }
    }
    Ruling::Pass
}

/// Waits for the answer that a rule has asked for; `None`: the rules go on.
async fn answer(tx: &mut Transaction, phase: Phase) -> Result<Option<Ruling>, Failure> {
    ruling_of(wait::answer(tx, phase).await?)
}

/// The ruling that follows from an answer.
fn ruling_of(answer: OutsideAnswer) -> Result<Option<Ruling>, Failure> {
    match answer {
        OutsideAnswer::Continue => Ok(None),
        OutsideAnswer::Allow => Ok(Some(Ruling::Pass)),
        // There is no message to answer with.
        OutsideAnswer::Deny | OutsideAnswer::Respond => Ok(Some(Ruling::Reject)),
        OutsideAnswer::Fail(failure) => Err(failure),
    }
}

/// The `tcp-request content` rules of one proxy.
///
/// # Errors
/// The rules refuse the client, or it took too long or left.
pub(crate) async fn request(tx: &mut Transaction, proxy: &ProxyRef) -> Result<Passed, Failure> {
    let thread = tx.worker.thread.clone();
    let timeouts = &proxy.settings.timeouts;
    let until = timeouts.request_inspection.map(|span| thread.tick().plus_ms(span));
    let (mut seen, mut start) = ((thread.tick(), tx.client.input.len()), Start::default());
    loop {
        tcp::await_buffer(tx, until).await;
        let complete = gather(tx);
        tx.notes.partial = !complete && until.is_some_and(|until| !until.is_due(thread.tick()));
        let mut ruling = look(tx, proxy, |rules| &rules.tcp_request, &mut start);
        let partial = std::mem::take(&mut tx.notes.partial);
        if ruling == Ruling::Ask {
            match Box::pin(answer(tx, Phase::Request)).await? {
                None => continue,
                Some(decided) => ruling = decided,
            }
        }
        match ruling {
            Ruling::Wait if partial => {}
            Ruling::Reject | Ruling::Drop => {
                http_rules::afford(tx, Phase::Request)?;
                return Err(refuse_request(tx, ruling));
            }
            Ruling::Switch(spoken) => return Ok(Passed::Switched(spoken)),
            _ => return Ok(Passed::On),
        }
        if tx.client.input.len() != seen.1 {
            seen = (thread.tick(), tx.client.input.len());
        }
        let span = tx.client.proxy.settings.timeouts.client;
        let patience = span.filter(|_| is_tcp(tx)).map(|span| seen.0.plus_ms(span));
        if patience.is_some_and(|patience| patience.is_due(thread.tick())) {
            tx.notes.journal.bad_request = true;
            return Err(Failure::close(Cause::ClientTimeout, Phase::Request));
        }
        thread.scheduler().wait(Tick::earlier(until, patience)).await;
    }
}

fn is_tcp(tx: &Transaction) -> bool {
    tx.client.mode == Mode::Tcp
}

/// Reads available bytes, and parses them as HTTP if possible. `true`: no more will come.
fn gather(tx: &mut Transaction) -> bool {
    if !is_tcp(tx) {
        tx.client.socket.want_close();
        return tx.client.socket.is_closed();
    }
    let gathered = tcp::gather(tx);
    if tx.space.request.is_empty() && !tx.client.input.is_empty() {
        let settings = tx.worker.mux_settings(&tx.client.proxy, Side::Client);
        let mut conn = h1::H1Conn::new(Side::Client, settings);
        let head = conn.handle_head(tx.client.input.data(), &mut tx.space.request);
        if !matches!(head, Ok(h1::HeadStep::Complete { .. })) {
            tx.space.request.clear();
        }
    }
    gathered != Gathered::Some
}

fn refuse_request(tx: &mut Transaction, ruling: Ruling) -> Failure {
    tx.client.counted().for_each(|block| block.count(Metric::DeniedRequests));
    tx.reset_client = ruling == Ruling::Drop;
    tx.notes.journal.request = 0;
    if !tx.reset_client {
        tx.client.socket.expel();
    }
    if is_tcp(tx) {
        tx.notes.journal.bytes_in = tx.client.input.len() as u64;
    }
    Failure::close(Cause::Proxy, Phase::Request)
}

fn refuse_response(tx: &mut Transaction, ruling: Ruling) -> Failure {
    accounting::denied_response(tx);
    tx.reset_client = ruling == Ruling::Drop;
    Failure::close(Cause::Proxy, Phase::Data)
}

/// The `tcp-response content` rules of the backend for a response whose head is there, from `at`
/// on. The result is what a rule waits for.
///
/// # Errors
/// The rules refuse it.
pub(crate) fn whole_response(
    tx: &mut Transaction,
    proxy: &Proxy,
    at: &mut Progress,
) -> Result<Option<Need>, Failure> {
    let mut start = Start { section: at.section, cursor: at.cursor };
    let begins = start.section == 0 && start.cursor == Cursor::default();
    if begins && closes_before(tx, proxy) {
        tx.notes.journal.response = 0;
        let failure = Failure::error(502, Cause::ServerAbort, Phase::Headers);
        return Err(retry::instead_of(tx, RetryOn::EMPTY, failure));
    }
    let ruling = look(tx, proxy, |rules| &rules.tcp_response, &mut start);
    if ruling == Ruling::Ask {
        (at.section, at.cursor) = (start.section, start.cursor);
        return Ok(Some(Need::Answer));
    }
    follow(tx, ruling).map(|()| None)
}

/// Does to a whole response what the rules say.
fn follow(tx: &mut Transaction, ruling: Ruling) -> Result<(), Failure> {
    match ruling {
        Ruling::Pass | Ruling::Wait | Ruling::Ask | Ruling::Switch(_) => {}
        Ruling::Close => {
            if let Some(server) = &mut tx.server {
                server.mux.close_after_message();
            }
        }
        refused @ (Ruling::Reject | Ruling::Drop) => {
            tx.notes.journal.response = 0;
            http_rules::afford(tx, Phase::Headers)?;
            return Err(refuse_response(tx, refused));
        }
    }
    Ok(())
}

/// Applies an answer that the rules for a whole response have waited for.
///
/// # Errors
/// The response is refused.
pub(crate) fn heed_whole(
    tx: &mut Transaction,
    at: &mut Progress,
    answer: OutsideAnswer,
) -> Result<(), Failure> {
    let Some(ruling) = ruling_of(answer)? else { return Ok(()) };
    // No rule is left.
    at.section = usize::MAX;
    follow(tx, ruling)
}

/// Whether the rules close the server's connection before its response is seen, as in HAProxy: a
/// `close` without a failing condition leaves no response. Only rules that end the set are
/// evaluated: the others run once, with the response.
fn closes_before(tx: &mut Transaction, proxy: &Proxy) -> bool {
    let response = std::mem::take(&mut tx.space.response);
    tx.notes.partial = proxy.settings.timeouts.response_inspection.is_some();
    let mut sections = proxy.settings.rule_sections();
    let ending = sections.find_map(|section| section.tcp_response.foresee(&View::of(tx)));
    tx.notes.partial = false;
    tx.space.response = response;
    matches!(ending, Some(Action::Control(Control::Close)))
}

/// The next step of a session after its rules have seen bytes of the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decision {
    /// It goes on.
    Pass,
    /// It holds all bytes back.
    Wait {
        /// Bytes have arrived.
        progress: bool,
    },
    /// The same, until [`Inspection::answer`] is over.
    Ask,
    /// It forwards the received bytes, and ends.
    Close,
}

/// The inspection of a server's bytes in TCP mode: they are held back.
#[derive(Debug)]
pub(crate) struct Inspection {
    /// The end of the wait for more bytes.
    pub(crate) until: Option<Tick>,
    start: Start,
    /// The ruling, while `stick` rules wait for an answer.
    ruling: Option<Ruling>,
    /// The next `stick` rule.
    stick: usize,
}

impl Inspection {
    /// Begins an inspection, if the backend has rules.
    pub(crate) fn begin(tx: &Transaction) -> Option<Self> {
        let backend = tx.backend.as_ref();
        let wanted = |it: &&ProxyRef| it.rules.answer || it.rules.sticking_response;
        let backend = backend.filter(wanted)?;
        let span = backend.settings.timeouts.response_inspection;
        let until = span.map(|span| tx.worker.thread.tick().plus_ms(span));
        Some(Self { until, start: Start::default(), ruling: None, stick: 0 })
    }

    /// Reads from the server, and evaluates the rules.
    ///
    /// # Errors
    /// The rules refuse it, or the server's connection is broken.
    pub(crate) fn step(&mut self, tx: &mut Transaction) -> Result<Decision, Failure> {
        let Some(backend) = tx.backend.clone() else { return Ok(Decision::Pass) };
        let ruling = match self.ruling {
            Some(ruling) => ruling,
            None => match self.look(tx, &backend)? {
                Looked::Ruling(ruling) => ruling,
                Looked::Later(decision) => return Ok(decision),
            },
        };
        if matches!(ruling, Ruling::Reject | Ruling::Drop) {
            return Err(refuse_response(tx, ruling));
        }
        if backend.rules.sticking_response && !sticking::store(tx, &backend, &mut self.stick) {
            self.ruling = Some(ruling);
            return Ok(Decision::Ask);
        }
        // Rules about responses switch nothing.
        Ok(if ruling == Ruling::Close { Decision::Close } else { Decision::Pass })
    }

    fn look(&mut self, tx: &mut Transaction, backend: &ProxyRef) -> Result<Looked, Failure> {
        let before = tx.server.as_ref().map_or(0, |server| server.received().len());
        let complete = hear(tx)?;
        let after = tx.server.as_ref().map_or(0, |server| server.received().len());
        let due = self.until.is_none_or(|until| until.is_due(tx.worker.thread.tick()));
        tx.notes.partial = !complete && !due;
        let ruling = look(tx, backend, |rules| &rules.tcp_response, &mut self.start);
        tx.notes.partial = false;
        // A rule that takes keys from the response needs some bytes of it.
        let lacks = backend.rules.sticking_response && after == 0 && !complete;
        Ok(match ruling {
            Ruling::Ask => Looked::Later(Decision::Ask),
            Ruling::Wait => Looked::Later(Decision::Wait { progress: after > before }),
            Ruling::Pass if lacks => Looked::Later(Decision::Wait { progress: after > before }),
            ruling => Looked::Ruling(ruling),
        })
    }

    /// Waits for the answer that a rule has asked for.
    ///
    /// # Errors
    /// The answer does not come, or it refuses the session.
    pub(crate) async fn answer(&mut self, tx: &mut Transaction) -> Result<(), Failure> {
        let decided = answer(tx, Phase::Data).await?;
        self.ruling = self.ruling.or(decided);
        Ok(())
    }
}

/// The result of one evaluation.
enum Looked {
    Ruling(Ruling),
    /// The rules need more.
    Later(Decision),
}

/// Reads from the server; `true` when no more bytes will come, or the buffer is full.
fn hear(tx: &mut Transaction) -> Result<bool, Failure> {
    let Some(server) = &mut tx.server else { return Ok(true) };
    loop {
        if !server.socket().is_readable() || !server.has_buffer(&tx.worker) {
            return Ok(false);
        }
        match server.read(&tx.worker) {
            Ok(0) => return Ok(true),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Err(Failure::close(Cause::ServerAbort, Phase::Data)),
        }
    }
}
