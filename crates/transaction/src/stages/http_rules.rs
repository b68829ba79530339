//! Rules applied to a transaction, and the effects of their verdicts.
//!
//! Order (manual section 4): `http-request` rules, statistics page and `redirect` rules of the
//! frontend, then those of the backend; `http-response` rules of the backend, then of the frontend;
//! `http-after-response` rules of both on every response, local ones included.

use crate::local_response;
use crate::local_response::cached;
use crate::message::header_case;
use crate::stages::rule_sections;
use crate::stages::rule_sections::SetOf;
use crate::stages::stage::{Respond, StageOutcome};
use crate::stages::wait;
use crate::stages::wait::WaitingMessage;
use buf::Buf;
use engine::state::runtime::{BackendRef, ProxyRef, RulesAtHand};
use engine::state::services::Role;
use engine::state::session::pending::OutsideAnswer;
use engine::state::session::transaction::Transaction;
use engine::state::session::transaction::{Persistence, Progress, RulePlace};
use mux::BodyKind;
use observability::logging::log;
use observability::telemetry::accounting;
use observability::telemetry::sample_context::View;
use rules::redirect::Redirect;
use rules::{Need, Reply, RuleSetKind, Rules, Verdict};
use sample::ConditionHits;
use sample::regex::effort;
use settings::Mode;
use table::DataType;
use transport::stats::counters::Metric;
use transport::stats::transaction_log::{Cause, Failure, Phase};

/// The request's rules of one proxy, from `at` on.
///
/// # Errors
/// The request is refused without an answer of the rule's own.
pub(crate) fn request(
    tx: &mut Transaction,
    proxy: &ProxyRef,
    at: &mut Progress,
) -> Result<StageOutcome, Failure> {
    run(tx, proxy, |rules| &rules.http_request, &mut at.place)
}

/// The `redirect` rules of one proxy, from `at` on.
///
/// # Errors
/// As [`request`].
pub(crate) fn redirect(
    tx: &mut Transaction,
    proxy: &ProxyRef,
    at: &mut Progress,
) -> Result<StageOutcome, Failure> {
    run(tx, proxy, |rules| &rules.redirect, &mut at.place)
}

/// The `stats http-request` rules of a proxy, which guard its statistics page.
///
/// # Errors
/// As [`request`].
pub(crate) async fn statistics(
    tx: &mut Transaction,
    proxy: &ProxyRef,
) -> Result<StageOutcome, Failure> {
    let mut at = Progress::at(0, BodyKind::None);
    loop {
        let need = match run(tx, proxy, |rules| &rules.stats, &mut at.place)? {
            StageOutcome::Wait(need) => need,
            step => return Ok(step),
        };
        let answer = wait::satisfy(tx, WaitingMessage::Request, need).await?;
        if let Some(step) = apply_request_answer(tx, proxy, &mut at, answer)? {
            return Ok(step);
        }
    }
}

/// The response's rules of the backend, then of the frontend, from `at` on. A response of a rule is
/// in the workspace afterwards, with its body; the server's one is dropped.
///
/// # Errors
/// The response is refused.
pub(crate) fn response(
    tx: &mut Transaction,
    _: &ProxyRef,
    at: &mut Progress,
) -> Result<StageOutcome, Failure> {
    let proxies = both(tx, |rules| rules.response);
    from_backend(tx, at, proxies, |rules| &rules.http_response)
}

/// The rules that every response passes, local ones included, as [`response`].
///
/// # Errors
/// A rewrite did not fit: 500.
pub(crate) fn after_response(
    tx: &mut Transaction,
    _: &ProxyRef,
    at: &mut Progress,
) -> Result<StageOutcome, Failure> {
    let proxies = both(tx, |rules| rules.after_response);
    from_backend(tx, at, proxies, |rules| &rules.http_after_response)
}

/// Runs one set of the backend, then of the frontend, from `at` on.
fn from_backend(
    tx: &mut Transaction,
    at: &mut Progress,
    proxies: [Option<ProxyRef>; 2],
    set: SetOf,
) -> Result<StageOutcome, Failure> {
    for (number, proxy) in proxies.into_iter().enumerate().skip(at.proxy) {
        let Some(proxy) = proxy else { continue };
        if number != at.proxy {
            (at.proxy, at.place) = (number, RulePlace::default());
        }
        match run(tx, &proxy, set, &mut at.place)? {
            StageOutcome::Next | StageOutcome::Allow => {}
            decided => return Ok(decided),
        }
    }
    Ok(StageOutcome::Next)
}

/// Applies an answer that the rules of a request have waited for.
///
/// # Errors
/// The asker fails the transaction.
pub(crate) fn apply_request_answer(
    tx: &mut Transaction,
    proxy: &ProxyRef,
    _: &mut Progress,
    answer: OutsideAnswer,
) -> Result<Option<StageOutcome>, Failure> {
    apply_answer(tx, proxy, RuleSetKind::HttpRequest, answer)
}

/// Applies an answer that the rules of a response have waited for.
///
/// # Errors
/// The asker fails the transaction.
pub(crate) fn apply_response_answer(
    tx: &mut Transaction,
    _: &ProxyRef,
    at: &mut Progress,
    answer: OutsideAnswer,
) -> Result<Option<StageOutcome>, Failure> {
    let proxy = tx.side_ref().clone();
    match apply_answer(tx, &proxy, RuleSetKind::HttpResponse, answer)? {
        Some(StageOutcome::Allow) => {
            (at.proxy, at.place) = (at.proxy + 1, RulePlace::default());
            Ok(None)
        }
        decided => Ok(decided),
    }
}

/// The outcome that follows from an answer; `None`: the rules continue.
fn apply_answer(
    tx: &mut Transaction,
    proxy: &ProxyRef,
    kind: RuleSetKind,
    answer: OutsideAnswer,
) -> Result<Option<StageOutcome>, Failure> {
    match answer {
        OutsideAnswer::Continue => Ok(None),
        OutsideAnswer::Allow => Ok(Some(StageOutcome::Allow)),
        OutsideAnswer::Deny => {
            deny(tx, proxy, kind);
            tx.notes.journal.end(Cause::Proxy, phase(kind));
            local_response::prepare_error(tx, if is_about_response(kind) { 502 } else { 403 });
            Ok(Some(StageOutcome::Respond(Respond::Now)))
        }
        OutsideAnswer::Respond => {
            local_response::answered(tx, phase(kind));
            Ok(Some(StageOutcome::Respond(Respond::Now)))
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
    let front = has(&front.rules).then(|| front.common.clone());
    [back.map(|back| back.common.clone()), front]
}

/// Whether all verdicts so far are reliable: regular expressions have not exceeded the steps of a
/// message.
///
/// # Errors
/// The counters exceed their limits: 500.
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

/// Evaluates one set of a proxy, from `at` on.
fn evaluate<'a>(
    tx: &mut Transaction,
    proxy: &'a ProxyRef,
    set: SetOf,
    at: &mut RulePlace,
) -> Verdict<'a> {
    rule_sections::evaluate(&proxy.settings, set, at, |rules, cursor| {
        accounting::prepare(tx, rules);
        let verdict = rules.evaluate(cursor.yielding(), &mut View::of(tx));
        send_hints(tx);
        match verdict {
            // No more data can arrive, so a rule that lacks some counts as not matching. A message
            // of HTTP has no other mode to switch to.
            Verdict::Close
            | Verdict::SwitchMode(_)
            | Verdict::Suspend { need: Need::Bytes, .. } => Verdict::Continue,
            verdict => verdict,
        }
    })
}

/// Runs one set of a proxy, from `at` on, and carries its verdict out.
fn run(
    tx: &mut Transaction,
    proxy: &ProxyRef,
    set: SetOf,
    at: &mut RulePlace,
) -> Result<StageOutcome, Failure> {
    let kind = set(&proxy.settings.rules).ruleset();
    let phase = phase(kind);
    let verdict = evaluate(tx, proxy, set, at);
    match verdict {
        Verdict::Continue | Verdict::Close | Verdict::SwitchMode(_) | Verdict::SendRetry => {
            Ok(StageOutcome::Next)
        }
        Verdict::Suspend { need, .. } => Ok(StageOutcome::Wait(need)),
        Verdict::BadRequest => {
            deny(tx, proxy, kind);
            Err(Failure::error(400, Cause::Proxy, phase))
        }
        Verdict::Allow => Ok(StageOutcome::Allow),
        Verdict::Deny(answer) | Verdict::Tarpit(answer) => {
            let held = matches!(verdict, Verdict::Tarpit(_));
            deny(tx, proxy, kind);
            if kind == RuleSetKind::HttpRequest {
                accounting::count_tracked(tx, DataType::ERROR, 1);
            }
            let phase = if held { Phase::Tarpit } else { phase };
            tx.notes.journal.end(Cause::Proxy, phase);
            replied(tx, answer);
            Ok(StageOutcome::Respond(if held { Respond::Delayed } else { Respond::Now }))
        }
        Verdict::Return(answer) => {
            local_response::answered(tx, phase);
            replied(tx, answer);
            Ok(StageOutcome::Respond(Respond::Now))
        }
        Verdict::Service(service) => {
            local_response::answered(tx, phase);
            Ok(StageOutcome::Respond(Respond::Service(service)))
        }
        Verdict::Cached { .. } => {
            cached::prepare(tx);
            if let Some(validation) = cached::validation(tx) {
                validation.place = *at;
            }
            Ok(StageOutcome::Respond(Respond::Stored))
        }
        Verdict::Redirect(redirect) => {
            local_response::answered(tx, phase);
            redirected(tx, redirect);
            Ok(StageOutcome::Respond(Respond::Now))
        }
        Verdict::Reject => Err(reject(tx, proxy, kind)),
        Verdict::SilentDrop => {
            tx.reset_client = true;
            Err(reject(tx, proxy, kind))
        }
        Verdict::RewriteFailed => Err(Failure::error(500, Cause::Proxy, phase)),
        Verdict::OutOfSteps => Err(out_of_steps(tx, phase)),
    }
}

/// Ends a message without an answer. As in HAProxy, a rejected request does not count as a request.
fn reject(tx: &mut Transaction, proxy: &ProxyRef, kind: RuleSetKind) -> Failure {
    deny(tx, proxy, kind);
    if kind == RuleSetKind::HttpRequest {
        tx.notes.journal.request = 0;
        if !tx.reset_client {
            tx.client.socket.reject_connection();
        }
    }
    Failure::close(Cause::Proxy, phase(kind))
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

fn phase(kind: RuleSetKind) -> Phase {
    if is_about_response(kind) { Phase::Headers } else { Phase::Request }
}

/// The result of `use_backend` rules.
pub(crate) enum SwitchingResult {
    /// No rule matches: the default counts.
    Default,
    /// A rule matches; its backend may not exist.
    Chosen(Option<BackendRef>),
    /// The rule at the place waits for an answer.
    Waits,
}

/// A place among lines that are no rule set: the numbers of the section and of the line in it.
type Lines = (usize, usize);

/// The backend that the `use_backend` rules of the frontend choose, from `at` on.
pub(crate) fn switch(
    tx: &mut Transaction,
    sections: &ProxyRef,
    at: &mut Progress,
) -> SwitchingResult {
    if !sections.rules.switching {
        return SwitchingResult::Default;
    }
    let mut lines: Lines = (at.place.section, at.proxy);
    for (number, section) in sections.settings.rule_sections().enumerate().skip(lines.0) {
        if number != lines.0 {
            lines = (number, 0);
        }
        match switch_in(tx, section, &mut lines) {
            SwitchingResult::Default => {}
            decided => {
                (at.place.section, at.proxy) = lines;
                return decided;
            }
        }
    }
    SwitchingResult::Default
}

fn switch_in(tx: &mut Transaction, section: &Rules, at: &mut Lines) -> SwitchingResult {
    let (guards, mut lookout) = (section.switching_guards(), ConditionHits::default());
    for (index, line) in section.switching.iter().enumerate().skip(at.1) {
        at.1 = index;
        if guards.rule_out(index, &View::of(tx), &mut lookout) {
            continue;
        }
        match wait::decide(tx, |view| line.rule.applies(view) == sample::Answer::Yes) {
            None => return SwitchingResult::Waits,
            Some(false) => continue,
            Some(true) => {}
        }
        if let Some(index) = line.backend {
            return SwitchingResult::Chosen(tx.worker.backend_at(index).cloned());
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
/// which `ignore-persist` and `force-persist` hold.
///
/// # Errors
/// None: the table wants a result.
pub(crate) fn select(
    tx: &mut Transaction,
    proxy: &BackendRef,
    at: &mut Progress,
) -> Result<StageOutcome, Failure> {
    accounting::fill_record(tx, false);
    let mut lines: Lines = (at.place.section, at.proxy);
    for (number, section) in proxy.settings.rule_sections().enumerate().skip(lines.0) {
        if number != lines.0 {
            lines = (number, 0);
        }
        if !persist(tx, section, &mut lines) || !select_in(tx, proxy, section, &mut lines) {
            (at.place.section, at.proxy) = lines;
            return Ok(StageOutcome::Wait(Need::Answer));
        }
    }
    Ok(StageOutcome::Next)
}

fn persist(tx: &mut Transaction, section: &Rules, at: &mut Lines) -> bool {
    for (index, line) in section.persistence.iter().enumerate().skip(at.1) {
        at.1 = index;
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
fn select_in(tx: &mut Transaction, proxy: &BackendRef, section: &Rules, at: &mut Lines) -> bool {
    let before = section.persistence.len();
    let first = at.1.saturating_sub(before);
    for (index, line) in section.selection.iter().enumerate().skip(first) {
        at.1 = before + index;
        if tx.selected_by_rule {
            return true;
        }
        match wait::decide(tx, |view| line.rule.applies(view) == sample::Answer::Yes) {
            None => return false,
            Some(false) => continue,
            Some(true) => {}
        }
        let slot = line.server.or_else(|| named_server(tx, proxy, line));
        let server = slot.and_then(|slot| proxy.back.servers.get(slot));
        let forced = tx.persistence == Persistence::Forced;
        if server.is_some_and(|server| forced || server.state.accepts_persistent()) {
            (tx.persistent_server, tx.selected_by_rule) = (slot, true);
        }
    }
    true
}

/// The server that a rule names for this request.
fn named_server(
    tx: &mut Transaction,
    proxy: &BackendRef,
    line: &rules::Selection,
) -> Option<usize> {
    let name = built_name(tx, &line.rule);
    proxy.back.servers.slot_of(|server| server.state.name().as_bytes() == name)
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

/// Whether a `monitor fail` condition of the frontend holds; `None`: the one of number `at` waits
/// for an answer.
pub(crate) fn monitor_fails(
    tx: &mut Transaction,
    proxy: &ProxyRef,
    at: &mut usize,
) -> Option<bool> {
    let conditions = proxy.settings.rule_sections().flat_map(|rules| &rules.monitor_fail);
    let holds = any_holds(tx, conditions, at)?;
    // A condition that exceeded its steps may hold: it counts as failed.
    Some(holds || effort::is_exhausted())
}

/// The rights of a request on the statistics page of a proxy (`stats admin`, `stats drain`).
///
/// # Errors
/// A condition waits for an answer that does not come.
pub(crate) async fn role(tx: &mut Transaction, proxy: &ProxyRef) -> Result<Role, Failure> {
    if has_right(tx, proxy, |rules| &rules.stats_admin).await? {
        return Ok(Role::All);
    }
    let drains = has_right(tx, proxy, |rules| &rules.stats_drain).await?;
    Ok(if drains { Role::Drain } else { Role::Look })
}

/// Whether a condition of a list of the proxy's sections holds.
async fn has_right(
    tx: &mut Transaction,
    proxy: &ProxyRef,
    list: fn(&Rules) -> &Vec<sample::Condition>,
) -> Result<bool, Failure> {
    let mut at = 0;
    loop {
        let conditions = proxy.settings.rule_sections().flat_map(list);
        match any_holds(tx, conditions, &mut at) {
            Some(holds) => return Ok(holds && !effort::is_exhausted()),
            None => Box::pin(wait::for_condition(tx)).await?,
        }
    }
}
