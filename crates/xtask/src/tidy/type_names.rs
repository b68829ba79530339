//! A type name is unique in its crate, so that a search finds one type.
//!
//! A crate in which names still repeat has an entry `names NAME COUNT` in the list of exceptions;
//! the count is how many types would have to be renamed.

use std::collections::BTreeMap;

use super::ratchet::Ratchet;
use super::tree::{File, Tree};
use super::{Finding, Rule};

pub(super) const RULE: Rule =
    Rule { name: "type-names", summary: "type names are unique in their crate", check };

pub(super) const RATCHET: Ratchet = Ratchet { kind: "names", count, free: |_, _| 0 };

/// Keywords that begin the declaration of a type; `type` counts outside of traits and impls only.
const KEYWORDS: &[&str] = &["struct", "enum", "union", "trait", "type"];

fn check(tree: &Tree) -> Vec<Finding> {
    RATCHET.check(tree, |name, count, tolerated| {
        let repeated = repeated(tree, name);
        let shown: Vec<String> =
            repeated.iter().map(|(name, places)| format!("{name} ({})", places.join(" "))).collect();
        format!(
            "{count} types share their name with another one, {tolerated} are tolerated: put the concept in front ({})",
            shown.join(", ")
        )
    })
}

fn count(tree: &Tree, name: &str) -> usize {
    repeated(tree, name).values().map(|places| places.len() - 1).sum()
}

/// The names that more than one type of a crate has, and the files that declare them.
fn repeated<'a>(tree: &'a Tree, name: &str) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in tree.rust().filter(|file| !file.test && file.crate_of_source() == Some(name)) {
        for declared in declared(file) {
            places.entry(declared).or_default().push(&file.path);
        }
    }
    places.retain(|_, places| places.len() > 1);
    places
}

/// The types that a file declares outside of its tests.
fn declared(file: &File) -> impl Iterator<Item = &str> {
    file.lines.iter().filter(|line| !line.test).filter_map(|line| {
        let mut words = line.code.split_whitespace().skip_while(|word| {
            word.starts_with("pub") || matches!(*word, "unsafe" | "in") || word.ends_with(')')
        });
        let keyword = words.next().filter(|word| KEYWORDS.contains(word))?;
        if keyword == "type" && line.code.starts_with(' ') {
            return None;
        }
        let name = words.next()?.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
        (!name.is_empty()).then_some(name)
    })
}
