//! `unsafe` lives in a few named crates; every other root forbids it. Integration tests may use
//! it, for a counting allocator.

use super::scan;
use super::tree::Tree;
use super::{Finding, Rule, finding};

pub(super) const RULE: Rule =
    Rule { name: "unsafe", summary: "unsafe only in stdx, sys, ffi, buf and sched", check };

/// The crates that may contain `unsafe`.
const ALLOWED: &[&str] = &["buf", "ffi", "sched", "stdx", "sys"];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let Some(owner) = file.crate_of_source() else { continue };
        if ALLOWED.contains(&owner) {
            continue;
        }
        for token in scan::tokens(&file.lines).iter().filter(|token| token.text == "unsafe") {
            let message = format!(
                "`unsafe` in `{owner}`: put it behind a safe call of sys, ffi, buf, stdx or sched"
            );
            findings.push(finding(&file.path, token.line, message));
        }
        if is_root(&file.path) && !file.lines.iter().any(|line| line.code.trim() == FORBID) {
            findings.push(finding(
                &file.path,
                0,
                format!("the root of `{owner}` lacks `{FORBID}`"),
            ));
        }
    }
    findings
}

const FORBID: &str = "#![forbid(unsafe_code)]";

fn is_root(path: &str) -> bool {
    path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs") || path.contains("/src/bin/")
}
