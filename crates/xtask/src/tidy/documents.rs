//! The documents that every clone must hold.

use super::tree::Tree;
use super::{Finding, Rule, finding};

pub(super) const RULE: Rule =
    Rule { name: "documents", summary: "the documents of the root exist", check };

/// Files, and text that each must hold.
const DOCUMENTS: &[(&str, &str)] = &[
    ("README.md", "cargo xtask test"),
    ("ARCHITECTURE.md", "crates/"),
    ("CONTRIBUTING.md", "cargo xtask tidy"),
    ("CHANGELOG.md", "## [Unreleased]"),
    ("LICENSE-APACHE", "Apache License"),
    ("LICENSE-MIT", "Permission is hereby granted"),
];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in DOCUMENTS {
        match tree.file(path) {
            None => findings.push(finding(path, 0, "is missing")),
            Some(file) if !file.text.contains(text) => {
                findings.push(finding(path, 0, format!("lacks `{text}`")));
            }
            Some(_) => {}
        }
    }
    findings
}
