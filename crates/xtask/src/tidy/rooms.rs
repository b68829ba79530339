//! The rooms of a crate: its top-level modules. Imports between rooms run in no circle.
//!
//! A crate whose rooms still name each other in a circle has an entry `cycle NAME ROOMS` in the
//! list of exceptions, which may only shrink.

use std::collections::BTreeSet;

use super::exceptions::{self, Entry};
use super::imports::Imports;
use super::tree::Tree;
use super::{Finding, Rule, finding};

pub(super) const RULE: Rule =
    Rule { name: "rooms", summary: "imports between rooms of a crate run in no circle", check };

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut sizes = Vec::new();
    for name in tree.crates() {
        let cycle = largest_cycle(tree, name);
        let rooms = rooms_of(&cycle);
        sizes.push((name.to_owned(), rooms));
        let tolerated = tree.exceptions.size("cycle", name).unwrap_or(0);
        if rooms > tolerated {
            let message = format!(
                "{rooms} rooms name each other in a circle, {tolerated} are tolerated: move types down or calls up ({})",
                cycle.join(" ")
            );
            findings.push(finding(&format!("crates/{name}/src"), 0, message));
        }
    }
    findings.extend(outgrown(tree, &sizes));
    findings
}

/// The files of the largest circle that passes through more than one room of a crate.
pub(super) fn largest_cycle(tree: &Tree, name: &str) -> Vec<String> {
    let imports = Imports::of(tree, name);
    let cycle = imports.largest_cycle(room);
    cycle.iter().map(|module| module.join("::")).collect()
}

/// How many rooms some files belong to.
pub(super) fn rooms_of(files: &[String]) -> usize {
    let rooms: BTreeSet<_> = files.iter().filter_map(|file| file.split("::").next()).collect();
    rooms.len()
}

/// The room of a module: the first part of its path.
fn room(module: &[String]) -> String {
    module.first().cloned().unwrap_or_default()
}

/// The list must follow what shrinks.
fn outgrown(tree: &Tree, sizes: &[(String, usize)]) -> Vec<Finding> {
    let is_stale = |entry: &&Entry| {
        let size = sizes.iter().find(|(name, _)| *name == entry.name).map(|(_, size)| *size);
        size.is_none_or(|size| size < entry.size)
    };
    let message = |entry: &Entry| {
        let text =
            format!("the circle of `{}` is smaller now: lower or remove its entry", entry.name);
        finding(exceptions::PATH, entry.line, text)
    };
    tree.exceptions.of("cycle").filter(is_stale).map(message).collect()
}
