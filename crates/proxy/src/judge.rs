//! Rules applied to a transaction, and what follows from their verdicts. Never evaluates one by itself.
//!
//! Order (manual section 4): `http-request` and `redirect` rules of the frontend, then of the
//! backend; `http-response` rules of the backend, then of the frontend; `http-after-response` rules
//! of both on every response, local ones included.

use crate::counters::Metric;
use crate::journal::{Cause, Failure, Phase};
use crate::reply;
use crate::report;
use crate::runtime::{ProxyRef, RulesAtHand};
use crate::transaction::Transaction;
use rules::{Cursor, RuleSet, Rules, Verdict};
use table::DataType;

/// What the rules leave to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ruling {
    /// The message goes on.
    Pass,
    /// The message goes on, and no further rule of the set is looked at.
    Allow,
    /// The answer stands in the workspace.
    Answer,
    /// The answer stands in the workspace, and is held back for `timeout tarpit`.
    Tarpit,
}

/// The request's rules of one proxy.
///
/// # Errors
/// The request is refused without an answer of the rule's own.
pub(crate) fn request(tx: &mut Transaction, proxy: &ProxyRef) -> Result<Ruling, Failure> {
    if !proxy.rules.request {
        return Ok(Ruling::Pass);
    }
    for section in proxy.settings.rule_sections() {
        match run(tx, proxy, &section.http_request)? {
            Ruling::Pass => {}
            Ruling::Allow => break,
            decided => return Ok(decided),
        }
    }
    for section in proxy.settings.rule_sections() {
        match run(tx, proxy, &section.redirect)? {
            Ruling::Pass => {}
            decided => return Ok(decided),
        }
    }
    Ok(Ruling::Pass)
}

/// The response's rules of the backend, then of the frontend. A response that a rule replaces
/// stands in the workspace afterwards, with its body; the server's is not wanted any more.
///
/// # Errors
/// The response is refused, or replaced.
pub(crate) fn response(tx: &mut Transaction) -> Result<(), Failure> {
    for proxy in both(tx, |rules| rules.response).into_iter().flatten() {
        for section in proxy.settings.rule_sections() {
            match run(tx, &proxy, &section.http_response)? {
                Ruling::Pass => {}
                Ruling::Allow => break,
                _ => return Err(Failure::new(REPLACED, Cause::Proxy, Phase::Headers)),
            }
        }
    }
    Ok(())
}

/// The status of a [`Failure`] whose answer stands in the workspace already.
pub(crate) const REPLACED: u16 = 1;

/// The rules that every response passes, also local ones.
///
/// # Errors
/// A rewrite did not fit: 500.
pub(crate) fn after_response(tx: &mut Transaction) -> Result<(), Failure> {
    for proxy in both(tx, |rules| rules.after_response).into_iter().flatten() {
        for section in proxy.settings.rule_sections() {
            let rules = &section.http_after_response;
            match rules.evaluate(Cursor::default(), &mut tx.view()) {
                Verdict::RewriteFailed => {
                    return Err(Failure::new(500, Cause::Proxy, Phase::Headers));
                }
                Verdict::Allow => break,
                _ => {}
            }
        }
    }
    Ok(())
}

/// The backend, then the frontend, as far as they have rules of a kind and are not the same.
fn both(tx: &Transaction, has: impl Fn(&RulesAtHand) -> bool) -> [Option<ProxyRef>; 2] {
    let front = &tx.client.proxy;
    let back = tx.backend.as_ref().filter(|back| back.index != front.index && has(&back.rules));
    [back.cloned(), Some(front).filter(|front| has(&front.rules)).cloned()]
}

/// Runs one set and turns its verdict into deeds.
fn run(tx: &mut Transaction, proxy: &ProxyRef, rules: &RuleSet) -> Result<Ruling, Failure> {
    if rules.is_empty() {
        return Ok(Ruling::Pass);
    }
    report::fill_record(tx, false);
    let verdict = rules.evaluate(Cursor::default(), &mut tx.view());
    let metric = match rules.ruleset() {
        rules::Ruleset::HttpResponse => Metric::DeniedResponses,
        _ => Metric::DeniedRequests,
    };
    match verdict {
        // Nothing more will come than what is there: a suspended rule does not apply.
        Verdict::Continue | Verdict::Close | Verdict::Suspend { .. } => Ok(Ruling::Pass),
        Verdict::Allow => Ok(Ruling::Allow),
        Verdict::Deny(answer) | Verdict::Tarpit(answer) => {
            let held = matches!(verdict, Verdict::Tarpit(_));
            report::denied(tx, proxy, metric);
            if rules.ruleset() == rules::Ruleset::HttpRequest {
                report::count_tracked(tx, DataType::ERROR, 1);
            }
            let phase = if held { Phase::Tarpit } else { phase(rules) };
            tx.notes.journal.end(Cause::Proxy, phase);
            reply::prepare_rendered(tx, |view, files, head, body| {
                answer.render(view, files, head, body)
            });
            Ok(if held { Ruling::Tarpit } else { Ruling::Answer })
        }
        Verdict::Return(answer) => {
            answered(tx);
            reply::prepare_rendered(tx, |view, files, head, body| {
                answer.render(view, files, head, body)
            });
            Ok(Ruling::Answer)
        }
        Verdict::Redirect(redirect) => {
            answered(tx);
            let mut scratch = tx.worker.take_scratch();
            reply::prepare_rendered(tx, |view, _, head, _| {
                redirect.render(view, head, &mut scratch);
                rules::Rendered::Send
            });
            tx.worker.give_scratch(scratch);
            Ok(Ruling::Answer)
        }
        Verdict::Reject => {
            report::denied(tx, proxy, metric);
            Err(Failure::new(0, Cause::Proxy, phase(rules)))
        }
        Verdict::SilentDrop => {
            report::denied(tx, proxy, metric);
            tx.reset_client = true;
            Err(Failure::new(0, Cause::Proxy, phase(rules)))
        }
        Verdict::RewriteFailed => Err(Failure::new(500, Cause::Proxy, phase(rules))),
    }
}

/// A rule has answered in the proxy's own name.
fn answered(tx: &mut Transaction) {
    tx.notes.journal.end(Cause::Local, Phase::Request);
    report::count_both(tx, Metric::Intercepted);
}

fn phase(rules: &RuleSet) -> Phase {
    match rules.ruleset() {
        rules::Ruleset::HttpResponse => Phase::Headers,
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

/// The outer option: a rule applied. The inner one: its backend exists.
fn switch_in(tx: &mut Transaction, section: &Rules) -> Option<Option<ProxyRef>> {
    for line in &section.switching {
        if line.rule.applies(&tx.view()) != sample::Answer::Yes {
            continue;
        }
        if let Some(index) = line.backend {
            return Some(tx.worker.proxies.get(index).cloned());
        }
        let mut scratch = tx.worker.take_scratch();
        let name = line.rule.resolve(&tx.view(), &mut scratch).to_vec();
        tx.worker.give_scratch(scratch);
        return Some(
            std::str::from_utf8(&name).ok().and_then(|name| tx.worker.backend(name).cloned()),
        );
    }
    None
}
