//! The size of the crates that were cut out of `proxy`, and of the machines below them.

use std::collections::BTreeMap;

use super::tree::{File, Tree};
use super::{Finding, Rule, finding};

pub(super) const RULE: Rule = Rule {
    name: "crate-size",
    summary: "crates of the data plane of at most 12000 lines, folders of at most 20 files",
    check,
};

/// The crates whose size is limited.
const CRATES: &[&str] = &[
    "engine",
    "health",
    "mux",
    "observability",
    "proxy",
    "quic",
    "reactor",
    "settings",
    "transaction",
    "transport",
    "upstream",
];

/// Lines of a crate, comments included; test files are not counted.
const CRATE_LINES: usize = 12_000;
/// Rust files beside each other in a folder; test files are not counted.
const FOLDER_FILES: usize = 20;

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in CRATES {
        let path = format!("crates/{name}/src");
        let lines = lines_of(tree, name);
        if lines > CRATE_LINES {
            let message = format!(
                "{lines} lines, {CRATE_LINES} are allowed: cut out a crate, below its callers"
            );
            findings.push(finding(&path, 0, message));
        }
        for (folder, files) in folders(tree, name) {
            if files > FOLDER_FILES {
                let message = format!(
                    "{files} files beside each other, {FOLDER_FILES} are allowed: make a room of those that belong together"
                );
                findings.push(finding(folder, 0, message));
            }
        }
    }
    findings
}

/// The lines of the files of a crate that are not tests.
pub(super) fn lines_of(tree: &Tree, name: &str) -> usize {
    product(tree, name).map(|file| file.text.lines().count()).sum()
}

/// The folders of a crate, and how many files that are not tests are directly in each.
fn folders<'a>(tree: &'a Tree, name: &str) -> BTreeMap<&'a str, usize> {
    let mut folders = BTreeMap::new();
    for file in product(tree, name) {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        *folders.entry(folder).or_default() += 1;
    }
    folders
}

fn product<'a>(tree: &'a Tree, name: &str) -> impl Iterator<Item = &'a File> {
    tree.rust().filter(move |file| !file.test && file.crate_of_source() == Some(name))
}
