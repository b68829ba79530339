//! Rules applied to a transaction, and the effects of their verdicts.
//!
//! Order (manual section 4): `http-request` rules, statistics page and `redirect` rules of the
//! frontend, then those of the backend; `http-response` rules of the backend, then of the frontend;
//! `http-after-response` rules of both on every response, local ones included.

use crate::transaction::body_buffer;
use crate::transaction::cached;
use crate::transaction::local_response;
use crate::transaction::password_worker;
use crate::transaction::stages::header_case;
use crate::transaction::tls_wait;
use buf::Buf;
use engine::state::runtime::{ProxyRef, RulesAtHand};
use engine::state::services::{Answer, Body, Service};
use engine::state::session::transaction::LocalBody;
use engine::state::session::transaction::Transaction;
pub(crate) use engine::state::session::transaction::{Pause, Persistence, Progress};
use health::discovery::lookup;
use htx::Version;
use mux::BodyKind;
use observability::logging::log;
use observability::telemetry::accounting;
use observability::telemetry::sample_context::View;
use reactor::Class;
use rules::redirect::Redirect;
use rules::{Cursor, Need, Reply, RuleSet, Rules, Verdict};
use sample::ConditionHits;
use sample::regex::effort;
use settings::Mode;
use table::DataType;
use transport::stats::counters::Metric;
use transport::stats::transaction_log::{Cause, Failure, Phase};

/// The result of a rule set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ruling {
    /// The message goes on.
    Pass,
    /// The message goes on, and no further rule of the set is evaluated.
    Allow,
    /// The answer is in the workspace.
    Answer,
    /// A service has answered in place of a server: the rules about responses come next.
    Service,
    /// The answer is in the workspace, and is delayed by `timeout tarpit`.
    Tarpit,
    /// The rules resume at the cursor once their need is met.
    Wait(Cursor, Need),
}

/// Whether a proxy has rules for requests, or buffers them, before they are routed.
pub(crate) fn looks_at_requests(proxy: &ProxyRef) -> bool {
    proxy.rules.request || proxy.settings.buffer_request
}

/// The request's rules of one proxy.
///
/// # Errors
/// The request is refused without an answer of the rule's own.
pub(crate) async fn request(tx: &mut Transaction, proxy: &ProxyRef) -> Result<Ruling, Failure> {
    if proxy.settings.buffer_request && tx.notes.bodies[0].is_none() {
        Box::pin(body_buffer::wait_for_all(tx, proxy)).await?;
    }
    if !proxy.rules.request {
        return Ok(Ruling::Pass);
    }
    for section in proxy.settings.rule_sections() {
        match patiently(tx, proxy, &section.http_request).await? {
            Ruling::Pass => {}
            Ruling::Allow => break,
            decided => return Ok(decided),
        }
    }
    Ok(Ruling::Pass)
}

/// The `redirect` rules of one proxy.
///
/// # Errors
/// As [`request`].
pub(crate) async fn redirect(tx: &mut Transaction, proxy: &ProxyRef) -> Result<Ruling, Failure> {
    for section in proxy.settings.rule_sections() {
        match patiently(tx, proxy, &section.redirect).await? {
            Ruling::Pass => {}
            decided => return Ok(decided),
        }
    }
    Ok(Ruling::Pass)
}

/// The `stats http-request` rules of a proxy, which guard its statistics page.
///
/// # Errors
/// As [`request`].
pub(crate) async fn statistics(tx: &mut Transaction, proxy: &ProxyRef) -> Result<Ruling, Failure> {
    for section in proxy.settings.rule_sections() {
        match patiently(tx, proxy, &section.stats).await? {
            Ruling::Pass => {}
            decided => return Ok(decided),
        }
    }
    Ok(Ruling::Pass)
}

/// The response's rules of the backend, then of the frontend, resumed at `from`. A response of a
/// rule is in the workspace afterwards, with its body; the server's one is dropped.
///
/// # Errors
/// The response is refused, or replaced.
pub(crate) fn response(tx: &mut Transaction, from: Progress) -> Result<Option<Pause>, Failure> {
    let mut cursor = from.cursor;
    let proxies = both(tx, |rules| rules.response);
    for (number, proxy) in proxies.into_iter().enumerate().skip(from.proxy) {
        let Some(proxy) = proxy else { continue };
        let first = if number == from.proxy { from.section } else { 0 };
        for (section, rules) in proxy.settings.rule_sections().enumerate().skip(first) {
            match impatiently(tx, &proxy, &rules.http_response, std::mem::take(&mut cursor))? {
                Ruling::Pass => {}
                Ruling::Allow => break,
                Ruling::Wait(cursor, Need::Body { span, at_least }) => {
                    let then = Progress { proxy: number, section, cursor };
                    return Ok(Some(Pause { then, span, at_least }));
                }
                _ => return Err(Failure::new(REPLACED, Cause::Proxy, Phase::Headers)),
            }
        }
    }
    Ok(None)
}

/// The status of a [`Failure`] whose answer is in the workspace already.
pub(crate) const REPLACED: u16 = 1;

/// The rules that every response passes, local ones included.
///
/// # Errors
/// A rewrite did not fit: 500.
pub(crate) fn after_response(tx: &mut Transaction) -> Result<(), Failure> {
    for proxy in both(tx, |rules| rules.after_response).into_iter().flatten() {
        for section in proxy.settings.rule_sections() {
            let rules = &section.http_after_response;
            accounting::prepare(tx, rules);
            match rules.evaluate(Cursor::default(), &mut View::of(tx)) {
                Verdict::RewriteFailed => {
                    return Err(Failure::new(500, Cause::Proxy, Phase::Headers));
                }
                Verdict::OutOfSteps => return Err(out_of_steps(tx, Phase::Headers)),
                Verdict::Allow => break,
                _ => {}
            }
        }
    }
    Ok(())
}

/// The backend, then the frontend, as far as they have rules of a kind and differ.
#[inline]
fn both(tx: &Transaction, has: impl Fn(&RulesAtHand) -> bool) -> [Option<ProxyRef>; 2] {
    let front = &tx.client.proxy;
    if !has(&front.rules) && !tx.backend.as_ref().is_some_and(|back| has(&back.rules)) {
        return [None, None];
    }
    let back = tx.backend.as_ref().filter(|back| back.index != front.index && has(&back.rules));
    [back.cloned(), Some(front).filter(|front| has(&front.rules)).cloned()]
}

/// Runs one set; waits when a rule needs more data.
async fn patiently(
    tx: &mut Transaction,
    proxy: &ProxyRef,
    rules: &RuleSet,
) -> Result<Ruling, Failure> {
    let mut cursor = Cursor::default();
    loop {
        let ruling = run(tx, proxy, rules, cursor.yielding())?;
        let Ruling::Wait(next, need) = ruling else { return Ok(ruling) };
        match need {
            Need::Body { span, at_least } => {
                Box::pin(body_buffer::wait(tx, Some(span), at_least)).await?;
            }
            Need::Handshake => Box::pin(tls_wait::end(tx)).await?,
            Need::Turn => Box::pin(take_turns(tx)).await,
            Need::Bytes => {
                Box::pin(password_worker::run(tx)).await;
                Box::pin(lookup::run(tx)).await;
            }
        }
        cursor = next;
    }
}

/// Yields to other tasks after regular expressions took long.
async fn take_turns(tx: &Transaction) {
    tx.worker.thread.next_turn(Class::Bulk).await;
}

/// Whether all verdicts so far are reliable: regular expressions have not exceeded the steps of a
/// message.
///
/// # Errors
/// They have exceeded them: 500.
pub(crate) fn afford(tx: &mut Transaction, phase: Phase) -> Result<(), Failure> {
    effort::open(tx.notes.account());
    match effort::is_exhausted() {
        true => Err(out_of_steps(tx, phase)),
        false => Ok(()),
    }
}

/// Counts and logs a message whose regular expressions take too many steps.
#[cold]
pub(crate) fn out_of_steps(tx: &mut Transaction, phase: Phase) -> Failure {
    accounting::count_both(tx, Metric::InternalErrors);
    let rule = match &tx.notes.journal.last_rule {
        Some((file, line)) => format!(" up to the rule at [{file}:{line}]"),
        None => String::new(),
    };
    let client = tx.client.peer.map_or_else(|| "unix".to_owned(), |peer| peer.to_string());
    let (name, steps) = (tx.client.proxy.name(), effort::STEPS);
    let text = format!(
        "Proxy {name}: regular expressions{rule} have used all {steps} steps of a message of \
         {client}, which is refused."
    );
    log::send(&tx.worker, &tx.side().settings.logs, log::level::ERR, text.as_bytes());
    let status = if tx.client.mode == Mode::Http { 500 } else { 0 };
    Failure::new(status, Cause::Proxy, phase)
}

/// Runs one set whose rules can wait for nothing but a body.
fn impatiently(
    tx: &mut Transaction,
    proxy: &ProxyRef,
    rules: &RuleSet,
    mut cursor: Cursor,
) -> Result<Ruling, Failure> {
    loop {
        match run(tx, proxy, rules, cursor)? {
            Ruling::Wait(next, Need::Bytes) => cursor = next,
            ruling => return Ok(ruling),
        }
        tx.notes.credentials.settle();
    }
}

/// The early hints of a rule set are sent at once and as one response; bytes that cannot be written
/// now are sent in front of the answer.
fn send_hints(tx: &mut Transaction) {
    if tx.space.hints.is_empty() {
        return;
    }
    let space = &mut *tx.space;
    let out = &mut space.down.outbox.bytes;
    let (proxy, mux) = (&tx.client.proxy, &mut tx.client.mux);
    header_case::response(&tx.worker, proxy, mux, (&mut space.hints, BodyKind::None), out);
    space.hints.clear();
    let _ = space.down.flush(&mut Buf::empty(), &tx.client.socket);
}

/// Runs one set and carries its verdict out.
fn run(
    tx: &mut Transaction,
    proxy: &ProxyRef,
    rules: &RuleSet,
    cursor: Cursor,
) -> Result<Ruling, Failure> {
    if rules.is_empty() {
        return Ok(Ruling::Pass);
    }
    accounting::prepare(tx, rules);
    let verdict = rules.evaluate(cursor, &mut View::of(tx));
    send_hints(tx);
    match verdict {
        Verdict::Suspend { cursor, need: Need::Bytes } if awaits_answer(tx) => {
            Ok(Ruling::Wait(cursor, Need::Bytes))
        }
        Verdict::Suspend {
            cursor,
            need: need @ (Need::Body { .. } | Need::Handshake | Need::Turn),
        } => Ok(Ruling::Wait(cursor, need)),
        // No more data can arrive, so a suspended rule counts as not matching. A message of HTTP
        // has no other mode to switch to.
        Verdict::Continue | Verdict::Close | Verdict::SwitchMode(_) | Verdict::Suspend { .. } => {
            Ok(Ruling::Pass)
        }
        Verdict::BadRequest => {
            deny(tx, proxy, rules);
            Err(Failure::new(400, Cause::Proxy, phase(rules)))
        }
        Verdict::Allow => Ok(Ruling::Allow),
        Verdict::Deny(answer) | Verdict::Tarpit(answer) => {
            let held = matches!(verdict, Verdict::Tarpit(_));
            deny(tx, proxy, rules);
            if rules.ruleset() == rules::RuleSetKind::HttpRequest {
                accounting::count_tracked(tx, DataType::ERROR, 1);
            }
            let phase = if held { Phase::Tarpit } else { phase(rules) };
            tx.notes.journal.end(Cause::Proxy, phase);
            replied(tx, answer);
            Ok(if held { Ruling::Tarpit } else { Ruling::Answer })
        }
        Verdict::Return(answer) => {
            answered(tx, phase(rules));
            replied(tx, answer);
            Ok(Ruling::Answer)
        }
        Verdict::Service(service) => Ok(serve(tx, service, phase(rules))),
        Verdict::Cached => {
            cached::prepare(tx);
            Ok(Ruling::Service)
        }
        Verdict::Redirect(redirect) => {
            answered(tx, phase(rules));
            redirected(tx, redirect);
            Ok(Ruling::Answer)
        }
        Verdict::Reject => Err(reject(tx, proxy, rules)),
        Verdict::SilentDrop => {
            tx.reset_client = true;
            Err(reject(tx, proxy, rules))
        }
        Verdict::RewriteFailed => Err(Failure::new(500, Cause::Proxy, phase(rules))),
        Verdict::OutOfSteps => Err(out_of_steps(tx, phase(rules))),
    }
}

/// Lets a service answer in place of a server.
fn serve(tx: &mut Transaction, service: Service, phase: Phase) -> Ruling {
    answered(tx, phase);
    let answer = tx.worker.services.serve(service, &tx.space.request);
    prepare(tx, answer);
    accounting::by_applet(tx, service.log_name(), true);
    Ruling::Service
}

/// Ends a message without an answer. As in HAProxy, a rejected request does not count as a request.
fn reject(tx: &mut Transaction, proxy: &ProxyRef, rules: &RuleSet) -> Failure {
    deny(tx, proxy, rules);
    if rules.ruleset() == rules::RuleSetKind::HttpRequest {
        tx.notes.journal.request = 0;
        if !tx.reset_client {
            tx.client.socket.expel();
        }
    }
    Failure::new(0, Cause::Proxy, phase(rules))
}

/// Whether a rule waits for a password's verification or a name's resolution.
fn awaits_answer(tx: &Transaction) -> bool {
    tx.notes.credentials.is_asked() || tx.notes.lookups.is_asked()
}

/// Counts a message that these rules refuse.
fn deny(tx: &mut Transaction, proxy: &ProxyRef, rules: &RuleSet) {
    match rules.ruleset() {
        rules::RuleSetKind::HttpResponse => accounting::denied_response(tx),
        _ => accounting::denied(tx, proxy),
    }
}

/// Makes the answer of a service the response.
pub(crate) fn prepare(tx: &mut Transaction, answer: Answer) {
    debug_assert!(answer.head.version() == Version::Http11, "services speak HTTP/1.1");
    tx.space.response = answer.head;
    match answer.body {
        Body::Whole(bytes) => tx.space.body = bytes,
        Body::Pieces(pieces) => {
            tx.space.body.clear();
            tx.local_body = Some(LocalBody::Pieces(pieces));
        }
    }
}

fn replied(tx: &mut Transaction, answer: &Reply) {
    tx.notes.journal.status = answer.status_for(&View::of(tx));
    local_response::prepare_rendered(tx, |view, files, head, body| {
        answer.render(view, files, head, body)
    });
}

fn redirected(tx: &mut Transaction, redirect: &Redirect) {
    if !tx.request_body.is_empty() {
        // As in HAProxy: a redirected client may still be sending its body, so the connection is
        // closed.
        tx.client.mux.close_after_message();
    }
    let mut scratch = tx.worker.take_scratch();
    local_response::prepare_rendered(tx, |view, _, head, _| {
        redirect.render(view, head, &mut scratch);
        rules::Rendered::Send
    });
    tx.worker.give_scratch(scratch);
}

/// Counts an answer that a rule gave in place of the server's.
pub(crate) fn answered(tx: &mut Transaction, phase: Phase) {
    tx.notes.journal.end(Cause::Local, phase);
    accounting::count_both(tx, Metric::Intercepted);
}

fn phase(rules: &RuleSet) -> Phase {
    match rules.ruleset() {
        rules::RuleSetKind::HttpResponse => Phase::Headers,
        _ => Phase::Request,
    }
}

/// The backend that the `use_backend` rules of the frontend choose; `None` leaves it to the
/// default.
pub(crate) fn switch(tx: &mut Transaction, sections: &ProxyRef) -> Option<ProxyRef> {
    if !sections.rules.switching {
        return None;
    }
    for section in sections.settings.rule_sections() {
        if let Some(chosen) = switch_in(tx, section) {
            return chosen;
        }
    }
    None
}

/// The outer option: a rule matched. The inner one: its backend exists.
fn switch_in(tx: &mut Transaction, section: &Rules) -> Option<Option<ProxyRef>> {
    let (guards, mut lookout) = (section.switching_guards(), ConditionHits::default());
    for (index, line) in section.switching.iter().enumerate() {
        if guards.rule_out(index, &View::of(tx), &mut lookout) {
            continue;
        }
        if line.rule.applies(&View::of(tx)) != sample::Answer::Yes {
            continue;
        }
        if let Some(index) = line.backend {
            return Some(tx.worker.proxies.get(index).cloned());
        }
        let mut scratch = tx.worker.take_scratch();
        let name = line.rule.resolve(&View::of(tx), &mut scratch).to_vec();
        tx.worker.give_scratch(scratch);
        return Some(
            std::str::from_utf8(&name).ok().and_then(|name| tx.worker.backend(name).cloned()),
        );
    }
    None
}

/// The rules of a backend that choose a server: `use-server` goes before cookies, for which
/// `ignore-persist` and `force-persist` hold.
pub(crate) fn select(tx: &mut Transaction, proxy: &ProxyRef) {
    if !proxy.rules.selection {
        return;
    }
    accounting::fill_record(tx, false);
    for section in proxy.settings.rule_sections() {
        for line in &section.persistence {
            let ruled = tx.persistence != Persistence::Usual;
            if !ruled && holds(tx, &line.condition) {
                tx.persistence =
                    if line.force { Persistence::Forced } else { Persistence::Ignored };
            }
        }
        for line in &section.selection {
            let applies =
                |tx: &mut Transaction| line.rule.applies(&View::of(tx)) == sample::Answer::Yes;
            if tx.selected || !password_worker::settled(tx, applies) {
                continue;
            }
            let slot = line.server.or_else(|| named_server(tx, proxy, line));
            let back = proxy.back.as_ref();
            let server = slot.and_then(|slot| back?.servers.get(slot));
            let forced = tx.persistence == Persistence::Forced;
            if server.is_some_and(|server| forced || server.state.accepts_persistent()) {
                (tx.wanted, tx.selected) = (slot, true);
            }
        }
    }
}

/// The server that a rule names for this request.
fn named_server(tx: &mut Transaction, proxy: &ProxyRef, line: &rules::Selection) -> Option<usize> {
    let mut scratch = tx.worker.take_scratch();
    let name = line.rule.resolve(&View::of(tx), &mut scratch).to_vec();
    tx.worker.give_scratch(scratch);
    let servers = &proxy.back.as_ref()?.servers;
    servers.slot_of(|server| server.state.name().as_bytes() == name)
}

/// Whether a `monitor fail` condition of the frontend holds.
pub(crate) fn monitor_fails(tx: &mut Transaction, proxy: &ProxyRef) -> bool {
    let mut conditions = proxy.settings.rule_sections().flat_map(|rules| &rules.monitor_fail);
    // A condition that exceeded its steps may hold: it counts as failed.
    conditions.any(|condition| holds(tx, condition)) || effort::is_exhausted()
}

/// Whether a condition holds; a password that it needs is verified in place.
fn holds(tx: &mut Transaction, condition: &sample::Condition) -> bool {
    password_worker::settled(tx, |tx| condition.eval(&View::of(tx)) == sample::Answer::Yes)
}

/// Whether a `stats admin` condition of the proxy holds, as far as it can be evaluated now.
pub(crate) fn administers(tx: &mut Transaction, proxy: &ProxyRef) -> bool {
    let mut conditions = proxy.settings.rule_sections().flat_map(|rules| &rules.stats_admin);
    let holds = conditions.any(|condition| condition.eval(&View::of(tx)) == sample::Answer::Yes);
    holds && !effort::is_exhausted()
}
