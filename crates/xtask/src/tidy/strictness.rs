//! Every decision on HTTP/1 strictness names its section, and tests that exist.

use super::tree::Tree;
use super::{Finding, Rule, finding};

pub(super) const RULE: Rule = Rule {
    name: "strictness",
    summary: "each row of docs/http1-strictness.md names a section, and tests that exist",
    check,
};

const DOCUMENT: &str = "docs/http1-strictness.md";

/// The table of decisions begins with this line.
const TABLE: &str = "| class | section | Weir |";

fn check(tree: &Tree) -> Vec<Finding> {
    let Some(document) = tree.file(DOCUMENT) else {
        return vec![finding(DOCUMENT, 0, "is missing")];
    };
    let mut findings = Vec::new();
    let lines = document.text.lines().enumerate();
    let rows = lines.skip_while(|(_, line)| !line.starts_with(TABLE)).skip(2);
    let mut count = 0;
    for (index, row) in rows.take_while(|(_, line)| line.starts_with('|')) {
        count += 1;
        findings.extend(faults(tree, row).map(|fault| finding(DOCUMENT, index + 1, fault)));
    }
    if count == 0 {
        findings.push(finding(DOCUMENT, 0, format!("has no table that begins with `{TABLE}`")));
    }
    findings
}

/// The faults of a row.
fn faults(tree: &Tree, row: &str) -> impl Iterator<Item = String> {
    let cells: Vec<&str> = row.trim_matches('|').split(" |").map(str::trim).collect();
    let mut faults = Vec::new();
    if !cells.get(1).is_some_and(|section| section.contains("RFC ")) {
        faults.push("names no section of an RFC".to_owned());
    }
    let tests = cells.last().copied().unwrap_or_default();
    let mut names = tests.split('`').filter(|name| name.contains("::")).peekable();
    if names.peek().is_none() {
        faults.push("names no test".to_owned());
    }
    faults.extend(names.filter(|name| !exists(tree, name)).map(|name| format!("no test {name}")));
    faults.into_iter()
}

/// Whether a file has a test function: `file::function`.
fn exists(tree: &Tree, name: &str) -> bool {
    let Some((path, function)) = name.rsplit_once("::") else { return false };
    let Some(file) = tree.file(path) else { return false };
    let header = format!("fn {function}()");
    let mut before = "";
    for line in file.text.lines() {
        if line.trim_start().starts_with(&header) {
            return before.trim_start().starts_with("#[test]");
        }
        before = line;
    }
    false
}
