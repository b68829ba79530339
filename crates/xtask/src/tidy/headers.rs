//! Every Rust file begins with a sentence on what it holds. The rule does not check whether the
//! sentence is true.

use super::tree::Tree;
use super::{Finding, Rule, finding};

pub(super) const RULE: Rule =
    Rule { name: "headers", summary: "every .rs file begins with a `//!` sentence", check };

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let message = match first_paragraph(&file.text).as_str() {
            "" => "the first line must be `//!`: one true sentence on what the file holds",
            text if !text.ends_with(['.', ':']) => "the first paragraph must end as a sentence",
            _ => continue,
        };
        findings.push(finding(&file.path, 1, message));
    }
    findings
}

/// The `//!` lines at the beginning, up to an empty one, as one line.
fn first_paragraph(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}
