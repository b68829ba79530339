//! Rules applied to a transaction, and the effects of their verdicts.
//!
//! Order (manual section 4): `http-request` rules, statistics page and `redirect` rules of the
//! frontend, then those of the backend; `http-response` rules of the backend, then of the frontend;
//! `http-after-response` rules of both on every response, local ones included.

use crate::transaction::body_buffer;
use crate::transaction::cached;
use crate::transaction::local_response;
use crate::transaction::stages::header_case;
use crate::transaction::wait;
use crate::transaction::wait::WaitingMessage;
use buf::Buf;
use engine::state::runtime::{ProxyRef, RulesAtHand};
use engine::state::services::{Answer, Body, Service};
use engine::state::session::pending::OutsideAnswer;
use engine::state::session::transaction::LocalBody;
use engine::state::session::transaction::Transaction;
pub(crate) use engine::state::session::transaction::{Persistence, Progress};
use htx::Version;
use mux::BodyKind;
use observability::logging::log;
use observability::telemetry::accounting;
use observability::telemetry::sample_context::View;
use rules::redirect::Redirect;
use rules::{Cursor, Need, Reply, RuleSet, RuleSetKind, Rules, Verdict};
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
    /// A cache has answered in place of a server: the rules about responses come next.
    Stored,
    /// A service answers in place of a server.
    Service(Service),
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

/// The response's rules of the backend, then of the frontend, from `at` on. A response of a rule is
/// in the workspace afterwards, with its body; the server's one is dropped. The result is what a
/// rule waits for.
///
/// # Errors
/// The response is refused, or replaced.
pub(crate) fn response(tx: &mut Transaction, at: &mut Progress) -> Result<Option<Need>, Failure> {
    let proxies = both(tx, |rules| rules.response);
    from_backend(tx, at, proxies, |rules| &rules.http_response)
}

/// The rules that every response passes, local ones included, as [`response`].
///
/// # Errors
/// A rewrite did not fit: 500.
pub(crate) fn after_response(
    tx: &mut Transaction,
    at: &mut Progress,
) -> Result<Option<Need>, Failure> {
    let proxies = both(tx, |rules| rules.after_response);
    from_backend(tx, at, proxies, |rules| &rules.http_after_response)
}

/// Runs one set of the backend, then of the frontend, from `at` on.
fn from_backend(
    tx: &mut Transaction,
    at: &mut Progress,
    proxies: [Option<ProxyRef>; 2],
    set: fn(&Rules) -> &RuleSet,
) -> Result<Option<Need>, Failure> {
    for (number, proxy) in proxies.into_iter().enumerate().skip(at.proxy) {
        let Some(proxy) = proxy else { continue };
        let first = if number == at.proxy { at.section } else { 0 };
        for (section, rules) in proxy.settings.rule_sections().enumerate().skip(first) {
            let cursor = std::mem::take(&mut at.cursor);
            match run(tx, &proxy, set(rules), cursor.yielding())? {
                Ruling::Pass => {}
                Ruling::Allow => break,
                Ruling::Wait(cursor, need) => {
                    (at.proxy, at.section, at.cursor) = (number, section, cursor);
                    return Ok(Some(need));
                }
                _ => return Err(Failure::prepared(Cause::Proxy, Phase::Headers)),
            }
        }
    }
    Ok(None)
}

/// Applies an answer that the rules of a response have waited for.
///
/// # Errors
/// The response is refused, or replaced.
pub(crate) fn heed_response(
    tx: &mut Transaction,
    at: &mut Progress,
    answer: OutsideAnswer,
) -> Result<(), Failure> {
    let proxy = tx.side().clone();
    match heed(tx, &proxy, RuleSetKind::HttpResponse, answer)? {
        None => Ok(()),
        Some(Ruling::Allow) => {
            (at.proxy, at.section, at.cursor) = (at.proxy + 1, 0, Cursor::default());
            Ok(())
        }
        Some(_) => Err(Failure::prepared(Cause::Proxy, Phase::Headers)),
    }
}

/// The ruling that follows from an answer; `None`: the rules go on.
fn heed(
    tx: &mut Transaction,
    proxy: &ProxyRef,
    kind: RuleSetKind,
    answer: OutsideAnswer,
) -> Result<Option<Ruling>, Failure> {
    match answer {
        OutsideAnswer::Continue => Ok(None),
        OutsideAnswer::Allow => Ok(Some(Ruling::Allow)),
        OutsideAnswer::Deny => {
            deny(tx, proxy, kind);
            tx.notes.journal.end(Cause::Proxy, phase(kind));
            local_response::prepare_error(tx, if is_about_response(kind) { 502 } else { 403 });
            Ok(Some(Ruling::Answer))
        }
        OutsideAnswer::Respond => {
            answered(tx, phase(kind));
            Ok(Some(Ruling::Answer))
        }
        OutsideAnswer::Fail(failure) => Err(failure),
    }
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

/// Runs one set; waits when a rule needs something.
async fn patiently(
    tx: &mut Transaction,
    proxy: &ProxyRef,
    rules: &RuleSet,
) -> Result<Ruling, Failure> {
    let mut cursor = Cursor::default();
    loop {
        let ruling = run(tx, proxy, rules, cursor.yielding())?;
        let Ruling::Wait(next, need) = ruling else { return Ok(ruling) };
        let answer = Box::pin(wait::satisfy(tx, WaitingMessage::Request, need)).await?;
        if let Some(ruling) = heed(tx, proxy, rules.ruleset(), answer)? {
            return Ok(ruling);
        }
        cursor = next;
    }
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
    match tx.client.mode {
        Mode::Http => Failure::error(500, Cause::Proxy, phase),
        Mode::Tcp => Failure::close(Cause::Proxy, phase),
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
    let phase = phase(rules.ruleset());
    match verdict {
        // No more data can arrive, so a rule that lacks some counts as not matching. A message of
        // HTTP has no other mode to switch to.
        Verdict::Continue
        | Verdict::Close
        | Verdict::SwitchMode(_)
        | Verdict::Suspend { need: Need::Bytes, .. } => Ok(Ruling::Pass),
        Verdict::Suspend { cursor, need } => Ok(Ruling::Wait(cursor, need)),
        Verdict::BadRequest => {
            deny(tx, proxy, rules.ruleset());
            Err(Failure::error(400, Cause::Proxy, phase))
        }
        Verdict::Allow => Ok(Ruling::Allow),
        Verdict::Deny(answer) | Verdict::Tarpit(answer) => {
            let held = matches!(verdict, Verdict::Tarpit(_));
            deny(tx, proxy, rules.ruleset());
            if rules.ruleset() == RuleSetKind::HttpRequest {
                accounting::count_tracked(tx, DataType::ERROR, 1);
            }
            let phase = if held { Phase::Tarpit } else { phase };
            tx.notes.journal.end(Cause::Proxy, phase);
            replied(tx, answer);
            Ok(if held { Ruling::Tarpit } else { Ruling::Answer })
        }
        Verdict::Return(answer) => {
            answered(tx, phase);
            replied(tx, answer);
            Ok(Ruling::Answer)
        }
        Verdict::Service(service) => {
            answered(tx, phase);
            Ok(Ruling::Service(service))
        }
        Verdict::Cached => {
            cached::prepare(tx);
            Ok(Ruling::Stored)
        }
        Verdict::Redirect(redirect) => {
            answered(tx, phase);
            redirected(tx, redirect);
            Ok(Ruling::Answer)
        }
        Verdict::Reject => Err(reject(tx, proxy, rules)),
        Verdict::SilentDrop => {
            tx.reset_client = true;
            Err(reject(tx, proxy, rules))
        }
        Verdict::RewriteFailed => Err(Failure::error(500, Cause::Proxy, phase)),
        Verdict::OutOfSteps => Err(out_of_steps(tx, phase)),
    }
}

/// Ends a message without an answer. As in HAProxy, a rejected request does not count as a request.
fn reject(tx: &mut Transaction, proxy: &ProxyRef, rules: &RuleSet) -> Failure {
    deny(tx, proxy, rules.ruleset());
    if rules.ruleset() == RuleSetKind::HttpRequest {
        tx.notes.journal.request = 0;
        if !tx.reset_client {
            tx.client.socket.expel();
        }
    }
    Failure::close(Cause::Proxy, phase(rules.ruleset()))
}

/// Counts a message that rules of this kind refuse.
fn deny(tx: &mut Transaction, proxy: &ProxyRef, kind: RuleSetKind) {
    match is_about_response(kind) {
        true => accounting::denied_response(tx),
        false => accounting::denied(tx, proxy),
    }
}

fn is_about_response(kind: RuleSetKind) -> bool {
    matches!(kind, RuleSetKind::HttpResponse | RuleSetKind::HttpAfterResponse)
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

fn phase(kind: RuleSetKind) -> Phase {
    if is_about_response(kind) { Phase::Headers } else { Phase::Request }
}

/// How far rules that choose have come: the number of the section, and of the next line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Line {
    section: usize,
    number: usize,
}

/// The result of `use_backend` rules.
pub(crate) enum SwitchingResult {
    /// No rule matches: the default counts.
    Default,
    /// A rule matches; its backend may not exist.
    Chosen(Option<ProxyRef>),
    /// The rule at the line waits for an answer.
    Waits,
}

/// The backend that the `use_backend` rules of the frontend choose, from `at` on.
pub(crate) fn switch(tx: &mut Transaction, sections: &ProxyRef, at: &mut Line) -> SwitchingResult {
    if !sections.rules.switching {
        return SwitchingResult::Default;
    }
    for (number, section) in sections.settings.rule_sections().enumerate().skip(at.section) {
        if number != at.section {
            *at = Line { section: number, number: 0 };
        }
        match switch_in(tx, section, at) {
            SwitchingResult::Default => {}
            decided => return decided,
        }
    }
    SwitchingResult::Default
}

fn switch_in(tx: &mut Transaction, section: &Rules, at: &mut Line) -> SwitchingResult {
    let (guards, mut lookout) = (section.switching_guards(), ConditionHits::default());
    for (index, line) in section.switching.iter().enumerate().skip(at.number) {
        at.number = index;
        if guards.rule_out(index, &View::of(tx), &mut lookout) {
            continue;
        }
        match wait::decide(tx, |view| line.rule.applies(view) == sample::Answer::Yes) {
            None => return SwitchingResult::Waits,
            Some(false) => continue,
            Some(true) => {}
        }
        if let Some(index) = line.backend {
            return SwitchingResult::Chosen(tx.worker.proxies.get(index).cloned());
        }
        let name = built_name(tx, &line.rule);
        if tx.notes.asked.is_asked() {
            return SwitchingResult::Waits;
        }
        let name = std::str::from_utf8(&name).ok();
        return SwitchingResult::Chosen(name.and_then(|name| tx.worker.backend(name).cloned()));
    }
    SwitchingResult::Default
}

/// The name that a rule builds for this request.
fn built_name(tx: &mut Transaction, rule: &rules::UseBackend) -> Vec<u8> {
    let mut scratch = tx.worker.take_scratch();
    let name = rule.resolve(&View::of(tx), &mut scratch).to_vec();
    tx.worker.give_scratch(scratch);
    name
}

/// The rules of a backend that choose a server, from `at` on: `use-server` goes before cookies, for
/// which `ignore-persist` and `force-persist` hold. `false`: the rule at the line waits for an
/// answer.
pub(crate) fn select(tx: &mut Transaction, proxy: &ProxyRef, at: &mut Line) -> bool {
    accounting::fill_record(tx, false);
    for (number, section) in proxy.settings.rule_sections().enumerate().skip(at.section) {
        if number != at.section {
            *at = Line { section: number, number: 0 };
        }
        if !persist(tx, section, at) || !select_in(tx, proxy, section, at) {
            return false;
        }
    }
    true
}

/// Continues [`select`] after a wait.
///
/// # Errors
/// The answer does not come.
pub(crate) async fn select_later(
    tx: &mut Transaction,
    proxy: &ProxyRef,
    mut at: Line,
) -> Result<(), Failure> {
    loop {
        wait::for_condition(tx).await?;
        if select(tx, proxy, &mut at) {
            return Ok(());
        }
    }
}

fn persist(tx: &mut Transaction, section: &Rules, at: &mut Line) -> bool {
    for (index, line) in section.persistence.iter().enumerate().skip(at.number) {
        at.number = index;
        if tx.persistence != Persistence::Usual {
            continue;
        }
        match wait::decide(tx, |view| is_met(&line.condition, view)) {
            None => return false,
            Some(false) => {}
            Some(true) if line.force => tx.persistence = Persistence::Forced,
            Some(true) => tx.persistence = Persistence::Ignored,
        }
    }
    true
}

/// The `use-server` lines are numbered behind those about persistence.
fn select_in(tx: &mut Transaction, proxy: &ProxyRef, section: &Rules, at: &mut Line) -> bool {
    let before = section.persistence.len();
    let first = at.number.saturating_sub(before);
    for (index, line) in section.selection.iter().enumerate().skip(first) {
        at.number = before + index;
        if tx.selected {
            return true;
        }
        match wait::decide(tx, |view| line.rule.applies(view) == sample::Answer::Yes) {
            None => return false,
            Some(false) => continue,
            Some(true) => {}
        }
        let slot = line.server.or_else(|| named_server(tx, proxy, line));
        let back = proxy.back.as_ref();
        let server = slot.and_then(|slot| back?.servers.get(slot));
        let forced = tx.persistence == Persistence::Forced;
        if server.is_some_and(|server| forced || server.state.accepts_persistent()) {
            (tx.wanted, tx.selected) = (slot, true);
        }
    }
    true
}

/// The server that a rule names for this request.
fn named_server(tx: &mut Transaction, proxy: &ProxyRef, line: &rules::Selection) -> Option<usize> {
    let name = built_name(tx, &line.rule);
    let servers = &proxy.back.as_ref()?.servers;
    servers.slot_of(|server| server.state.name().as_bytes() == name)
}

fn is_met(condition: &sample::Condition, view: &View<'_>) -> bool {
    condition.eval(view) == sample::Answer::Yes
}

/// Whether one of these conditions holds, from the one of number `at` on; `None`: that one waits
/// for an answer.
fn any_holds<'c>(
    tx: &mut Transaction,
    conditions: impl Iterator<Item = &'c sample::Condition>,
    at: &mut usize,
) -> Option<bool> {
    for (number, condition) in conditions.enumerate().skip(*at) {
        *at = number;
        if wait::decide(tx, |view| is_met(condition, view))? {
            return Some(true);
        }
    }
    Some(false)
}

/// Whether a `monitor fail` condition of the frontend holds.
///
/// # Errors
/// A condition waits for an answer that does not come.
pub(crate) async fn monitor_fails(tx: &mut Transaction, proxy: &ProxyRef) -> Result<bool, Failure> {
    let mut at = 0;
    loop {
        let conditions = proxy.settings.rule_sections().flat_map(|rules| &rules.monitor_fail);
        match any_holds(tx, conditions, &mut at) {
            // A condition that exceeded its steps may hold: it counts as failed.
            Some(holds) => return Ok(holds || effort::is_exhausted()),
            None => Box::pin(wait::for_condition(tx)).await?,
        }
    }
}

/// Whether a `stats admin` condition of the proxy holds.
///
/// # Errors
/// A condition waits for an answer that does not come.
pub(crate) async fn administers(tx: &mut Transaction, proxy: &ProxyRef) -> Result<bool, Failure> {
    let mut at = 0;
    loop {
        let conditions = proxy.settings.rule_sections().flat_map(|rules| &rules.stats_admin);
        match any_holds(tx, conditions, &mut at) {
            Some(holds) => return Ok(holds && !effort::is_exhausted()),
            None => Box::pin(wait::for_condition(tx)).await?,
        }
    }
}
