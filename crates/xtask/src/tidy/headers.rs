//! Every Rust file begins by saying what it is. Does not judge what it says.

use super::tree::Tree;
use super::{Finding, Rule, finding};

pub(super) const RULE: Rule =
    Rule { name: "headers", summary: "the first line of every .rs file is `//!`", check };

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let text = file.text.lines().next().and_then(|line| line.strip_prefix("//!"));
        if text.is_none_or(|text| text.trim().is_empty()) {
            let message = "the first line must be `//!`, what the file is and what it never does";
            findings.push(finding(&file.path, 1, message));
        }
    }
    findings
}
