//! Warnings about lines that are legal and have no effect: rules that never match, backends and ACLs without users.

use crate::context::Cx;
use crate::diag::{Diagnostic, Place, Severity};
use crate::draft::DraftProxy;
use crate::model::{Balance, Mode};
use rules::{BackendName, Rule};
use sample::Condition;
use sample::acl::OddAcl;
use std::collections::HashSet;

/// All warnings about the lines of one proxy.
pub(super) fn proxy(draft: &DraftProxy, cx: &mut Cx<'_>) {
    unparsed(draft, cx);
    rules(draft, cx);
    acls(draft, cx);
}

/// In HTTP mode, conditions about the raw bytes of a stream find nothing. Warnings have HAProxy's
/// words and order. HAProxy also warns of `req.len` and `res.len`, which do find something in both.
fn unparsed(draft: &DraftProxy, cx: &mut Cx<'_>) {
    if draft.settings.mode != Mode::Http {
        return;
    }
    if let Balance::Hash(expr) = &draft.settings.back.balance
        && draft.has_backend()
        && expr.wants_unparsed()
    {
        let message = format!(
            "{} '{}': L6 sample fetch <{}> will be ignored in 'balance hash' expression in HTTP mode.",
            draft.word(),
            draft.name,
            expr.keyword()
        );
        cx.about(Severity::Warning, &draft.place, message);
    }
    let rules = &draft.rules;
    let chosen = rules.switching.iter().map(|it| (it.rule.condition(), it.rule.place()));
    let selected = rules.selection.iter().map(|it| (it.rule.condition(), it.rule.place()));
    let matched = rules.sticking.iter().filter(|it| it.matches);
    let matched = matched.map(|it| (it.condition(), it.place()));
    let sets = [
        &rules.tcp_request,
        &rules.tcp_response,
        &rules.http_request,
        &rules.http_response,
        &rules.http_after_response,
    ];
    let ruled = sets.into_iter().flat_map(|set| set.rules());
    let ruled = ruled.map(|it| (it.condition(), it.place()));
    for (condition, (file, line)) in chosen.chain(selected).chain(matched).chain(ruled) {
        if condition.is_some_and(Condition::wants_unparsed) {
            let message = format!(
                "Proxy '{}': L6 sample fetches ignored on HTTP proxies (declared at {file}:{line}).",
                draft.name
            );
            cx.about(Severity::Warning, &Place { file: file.into(), line }, message);
        }
    }
}

/// Warns of rules that never run because a rule before them always ends the set, unless a warning
/// has named them already. HAProxy does not warn of them, so the advice is for diagnostic mode only
/// (`-dD`), and `-dW` does not count it.
fn rules(draft: &DraftProxy, cx: &mut Cx<'_>) {
    for set in draft.rules.sets() {
        let mut rules = set.rules().iter();
        let Some(last) = rules.find(|rule| rule.is_final()) else { continue };
        let silent = set.ruleset().keyword().starts_with("tcp-")
            || std::ptr::eq(set, &raw const draft.rules.redirect);
        let told = usize::from(!silent && last.is_known_as_final());
        for rule in rules.skip(told) {
            let message = format!(
                "this '{}' rule never runs: the one at line {} always ends the rules.",
                set.ruleset().keyword(),
                last.place().1
            );
            warn(cx, rule, message);
        }
    }
    let mut switching = draft.rules.switching.iter();
    let Some(last) = switching.find(|line| line.rule.is_unconditional()) else { return };
    for line in switching {
        let message = format!(
            "this 'use_backend' rule never runs: the one at line {} has no condition.",
            last.rule.place().1
        );
        let (file, line) = line.rule.place();
        about(cx, &Place { file: file.into(), line }, message);
    }
}

/// Reports ACLs that no rule uses, and those that hide predefined ones.
fn acls(draft: &DraftProxy, cx: &mut Cx<'_>) {
    for OddAcl { name, file, line, hides } in draft.acls.odd() {
        let what =
            if hides { "hides the predefined one of that name" } else { "is used by nobody" };
        about(cx, &Place { file, line }, format!("acl '{name}' {what}."));
    }
}

/// Backends that no rule can choose.
pub(super) fn backends(proxies: &[DraftProxy], cx: &mut Cx<'_>) {
    if cx.diagnostics.failed() {
        // A line that could not be read may name any of them.
        return;
    }
    let mut used: HashSet<&str> = HashSet::new();
    for proxy in proxies {
        if let Some(name) = &proxy.settings.default_backend {
            used.insert(&name.value);
        }
        for line in &proxy.rules.switching {
            match line.rule.name() {
                BackendName::Fixed(name) => drop(used.insert(name)),
                // The rule may name any of them.
                BackendName::Dynamic(_) => return,
            }
        }
    }
    let lonely: Vec<(Place, String)> = proxies
        .iter()
        .filter(|p| p.has_backend() && !p.has_frontend() && !p.settings.disabled)
        .filter(|proxy| !used.contains(&*proxy.name))
        .map(|proxy| (proxy.place.clone(), format!("backend '{}' is used by nobody.", proxy.name)))
        .collect();
    for (place, message) in lonely {
        about(cx, &place, message);
    }
}

fn warn(cx: &mut Cx<'_>, rule: &Rule, message: String) {
    let (file, line) = rule.place();
    about(cx, &Place { file: file.into(), line }, message);
}

fn about(cx: &mut Cx<'_>, place: &Place, message: String) {
    cx.diagnostics.push(Diagnostic::about(Severity::Diag, place, message));
}
