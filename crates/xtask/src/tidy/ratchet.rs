//! Counts per crate that may only shrink, and the entries of the list of exceptions that hold them.

use std::path::Path;

use super::exceptions::{self, Entry};
use super::tree::Tree;
use super::{Finding, finding, prose, rooms, type_names};
use crate::failure::{self, Outcome};

/// A count that each crate has.
pub(super) struct Ratchet {
    /// The kind of its entries in the list.
    pub(super) kind: &'static str,
    /// The count of a crate.
    pub(super) count: fn(&Tree, &str) -> usize,
    /// The count that a crate without an entry may have.
    pub(super) free: fn(&Tree, &str) -> usize,
}

/// Every count of the list.
const RATCHETS: &[Ratchet] = &[rooms::RATCHET, prose::RATCHET, type_names::RATCHET];

impl Ratchet {
    /// Reports crates whose count is too large, with a `message`, and entries larger than their
    /// crate's count.
    pub(super) fn check(
        &self,
        tree: &Tree,
        message: impl Fn(&str, usize, usize) -> String,
    ) -> Vec<Finding> {
        let mut findings = Vec::new();
        for name in tree.crates() {
            let count = (self.count)(tree, name);
            let entry = tree.exceptions.size(self.kind, name).unwrap_or(0);
            let tolerated = entry.max((self.free)(tree, name));
            if count > tolerated {
                let path = format!("crates/{name}/src");
                findings.push(finding(&path, 0, message(name, count, tolerated)));
            }
        }
        let entries = tree.exceptions.of(self.kind);
        let stale = entries.filter(|entry| self.lowered(tree, entry) != Some(entry.size));
        findings.extend(stale.map(|entry| {
            let text = format!(
                "the count `{} {}` is smaller now: lower or remove its entry (cargo xtask tidy --ratchet)",
                entry.kind, entry.name
            );
            finding(exceptions::PATH, entry.line, text)
        }));
        findings
    }

    /// The size that an entry should have; nothing if it should go.
    fn lowered(&self, tree: &Tree, entry: &Entry) -> Option<usize> {
        if !tree.crates().contains(entry.name.as_str()) {
            return None;
        }
        let count = (self.count)(tree, &entry.name);
        (count > (self.free)(tree, &entry.name)).then_some(count.min(entry.size))
    }
}

/// Lowers the entries whose counts have shrunk, and removes needless ones.
pub(super) fn lower(tree: &Tree, root: &Path) -> Outcome {
    let text = tree.file(exceptions::PATH).map_or("", |file| &file.text);
    let path = root.join(exceptions::PATH);
    std::fs::write(&path, lowered_list(tree, text))
        .map_err(|error| failure::machine(format!("{}: {error}", path.display())))
}

/// The list with its counts lowered to the present ones.
pub(super) fn lowered_list(tree: &Tree, text: &str) -> String {
    let mut lines: Vec<Option<String>> = text.lines().map(|line| Some(line.to_owned())).collect();
    for ratchet in RATCHETS {
        for entry in tree.exceptions.of(ratchet.kind) {
            let Some(line) = lines.get_mut(entry.line - 1) else { continue };
            *line = ratchet.lowered(tree, entry).and_then(|size| {
                let (old, new) = (format!(" {}", entry.size), format!(" {size}"));
                line.as_ref().map(|line| line.replacen(&old, &new, 1))
            });
        }
    }
    lines.into_iter().flatten().map(|line| line + "\n").collect()
}
