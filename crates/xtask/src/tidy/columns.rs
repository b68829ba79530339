//! Lines of at most 100 columns. Literals do not count, nor code in tests, where rustfmt does not
//! reach into macros; a URL may be long, and so may the first line of a file, one sentence.

use super::tree::Tree;
use super::{Finding, Rule, finding};

pub(super) const RULE: Rule =
    Rule { name: "columns", summary: "lines of at most 100 columns", check };

/// Columns of a line.
pub(super) const COLUMNS: usize = 100;

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        for (index, (line, parts)) in file.text.lines().zip(&file.lines).enumerate() {
            let width = line.chars().count();
            let test = file.test || parts.test;
            let short = test || parts.code.chars().count() <= COLUMNS;
            let literal = parts.comment.is_empty() && short;
            let header = index == 0 && line.starts_with("//!");
            if width > COLUMNS && !literal && !header && !line.contains("://") {
                let message = format!(
                    "{width} columns, {COLUMNS} are allowed: break the line (comments: cargo xtask tidy --wrap)"
                );
                findings.push(finding(&file.path, index + 1, message));
            }
        }
    }
    findings
}
