//! One version of each package, because two cost build time and hide which one runs.

use std::collections::BTreeMap;

use super::exceptions;
use super::tree::Tree;
use super::{Finding, Rule, finding};

pub(super) const RULE: Rule =
    Rule { name: "versions", summary: "one version of each package in Cargo.lock", check };

fn check(tree: &Tree) -> Vec<Finding> {
    let Some(lock) = tree.file("Cargo.lock") else {
        return vec![finding("Cargo.lock", 0, "is missing: the product's build is reproducible")];
    };
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for line in lock.text.lines() {
        if let Some(name) = line.strip_prefix("name = ") {
            *counts.entry(name.trim_matches('"')).or_default() += 1;
        }
    }
    let mut findings = Vec::new();
    for (name, count) in counts.iter().filter(|(_, count)| **count > 1) {
        if tree.exceptions.size("crate", name) != Some(*count) {
            let message = format!("{count} versions of `{name}`: let cargo update choose one");
            findings.push(finding("Cargo.lock", 0, message));
        }
    }
    for entry in tree.exceptions.of("crate") {
        if counts.get(entry.name.as_str()).is_none_or(|count| *count < entry.size) {
            let message = format!("fewer versions of `{}` now: lower its entry", entry.name);
            findings.push(finding(exceptions::PATH, entry.line, message));
        }
    }
    findings
}
