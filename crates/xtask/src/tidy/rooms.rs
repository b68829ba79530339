//! The rooms of a crate: its top-level modules. Imports between rooms run in no circle.
//!
//! A crate whose rooms still name each other in a circle has an entry `cycle NAME ROOMS` in the
//! list of exceptions, which may only shrink.

use std::collections::BTreeSet;

use super::imports::Imports;
use super::ratchet::Ratchet;
use super::tree::Tree;
use super::{Finding, Rule};

pub(super) const RULE: Rule =
    Rule { name: "rooms", summary: "imports between rooms of a crate run in no circle", check };

pub(super) const RATCHET: Ratchet = Ratchet {
    kind: "cycle",
    count: |tree, name| rooms_of(&largest_cycle(tree, name)),
    free: |_, _| 0,
};

fn check(tree: &Tree) -> Vec<Finding> {
    RATCHET.check(tree, |name, rooms, tolerated| {
        format!(
            "{rooms} rooms name each other in a circle, {tolerated} are tolerated: move types down or calls up ({})",
            largest_cycle(tree, name).join(" ")
        )
    })
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
