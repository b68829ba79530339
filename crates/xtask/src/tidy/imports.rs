//! The import graph of one crate: which of its files names which other one.

use std::collections::{BTreeMap, BTreeSet};

use super::scan::{self, Token};
use super::tree::{File, Tree};

/// The files of one crate's `src`, without tests, and the arrows between them.
pub(super) struct Imports {
    /// Paths below `src`, without `.rs`, as module paths: `["h2", "stream"]`; the root is empty.
    pub(super) modules: BTreeMap<Vec<String>, String>,
    /// From each module to the modules that it names.
    pub(super) arrows: BTreeMap<Vec<String>, BTreeSet<Vec<String>>>,
}

/// A path in a `use` declaration or in code, and the name that it gets there.
struct Named {
    path: Vec<String>,
    alias: String,
}

impl Imports {
    /// Reads the sources of a crate.
    pub(super) fn of(tree: &Tree, name: &str) -> Self {
        let mut graph = Self { modules: BTreeMap::new(), arrows: BTreeMap::new() };
        let files: Vec<&File> =
            tree.rust().filter(|file| !file.test && file.crate_of_source() == Some(name)).collect();
        for file in &files {
            graph.modules.insert(module_of(&file.path), file.path.clone());
        }
        let reexports = graph.reexports(&files);
        for file in &files {
            let module = module_of(&file.path);
            // The root declares modules and re-exports names, so it is both below and above all of
            // them.
            if !module.is_empty() {
                let named = graph.named_by(file, &module, &reexports);
                graph.arrows.insert(module, named);
            }
        }
        graph
    }

    /// The largest set of files that name each other in a circle, and that passes through more than
    /// one room; empty if there is none.
    pub(super) fn largest_cycle(&self, room: impl Fn(&[String]) -> String) -> Vec<Vec<String>> {
        let mut cycles = self.cycles();
        cycles.retain(|cycle| {
            cycle.iter().map(|module| room(module)).collect::<BTreeSet<_>>().len() > 1
        });
        cycles.into_iter().max_by_key(Vec::len).unwrap_or_default()
    }

    /// The strongly connected components of more than one file.
    fn cycles(&self) -> Vec<Vec<Vec<String>>> {
        let reached: BTreeMap<_, _> =
            self.arrows.keys().map(|module| (module, self.reached(module))).collect();
        let mut seen = BTreeSet::new();
        let mut cycles = Vec::new();
        for module in self.arrows.keys() {
            if seen.contains(module) || !reached[module].contains(module) {
                continue;
            }
            let mutual = |other: &&Vec<String>| {
                reached[module].contains(*other)
                    && reached.get(*other).is_some_and(|back| back.contains(module))
            };
            let cycle: Vec<Vec<String>> = self.arrows.keys().filter(mutual).cloned().collect();
            seen.extend(cycle.iter().cloned());
            cycles.push(cycle);
        }
        cycles
    }

    /// Every module that can be reached from one over at least one arrow.
    fn reached(&self, from: &Vec<String>) -> BTreeSet<Vec<String>> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&Vec<String>> = vec![from];
        while let Some(module) = open.pop() {
            for next in self.arrows.get(module).into_iter().flatten() {
                if reached.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        reached
    }

    /// Names that the root lifts out of its modules (`pub use worker::Worker`).
    fn reexports(&self, files: &[&File]) -> BTreeMap<String, Vec<String>> {
        let root = files.iter().filter(|file| module_of(&file.path).is_empty());
        let declared = root.flat_map(|file| declarations(&product_tokens(file)));
        let lifted = declared.filter_map(|named| {
            let (module, _) = self.resolve(&named.path, &[], &BTreeMap::new())?;
            (!module.is_empty()).then_some((named.alias, module))
        });
        lifted.collect()
    }

    /// The other modules that a file names, in declarations and in code.
    fn named_by(
        &self,
        file: &File,
        module: &[String],
        reexports: &BTreeMap<String, Vec<String>>,
    ) -> BTreeSet<Vec<String>> {
        let tokens = product_tokens(file);
        let mut named = BTreeSet::new();
        let mut aliases = BTreeMap::new();
        for Named { path, alias } in declarations(&tokens) {
            let Some((found, whole)) = self.resolve(&path, module, reexports) else { continue };
            if whole {
                aliases.insert(alias, found.clone());
            }
            named.insert(found);
        }
        for path in paths(&tokens) {
            let long = match aliases.get(&path[0]) {
                Some(base) => absolute(base, &path[1..]),
                None => path,
            };
            named.extend(self.resolve(&long, module, reexports).map(|(found, _)| found));
        }
        named.remove(module);
        named.retain(|found| !found.is_empty());
        named
    }

    /// The module that a path leads into, and whether the path names it as a whole.
    fn resolve(
        &self,
        path: &[String],
        module: &[String],
        reexports: &BTreeMap<String, Vec<String>>,
    ) -> Option<(Vec<String>, bool)> {
        let full = match path.first()?.as_str() {
            "crate" => path[1..].to_vec(),
            "self" => [module, &path[1..]].concat(),
            "super" => {
                let ups = path.iter().take_while(|part| *part == "super").count();
                [&module[..module.len().checked_sub(ups)?], &path[ups..]].concat()
            }
            first if self.modules.contains_key(&[module, &[first.to_owned()]].concat()) => {
                [module, path].concat()
            }
            _ => return None,
        };
        if let Some(lifted) = full.first().and_then(|first| reexports.get(first)) {
            return Some((lifted.clone(), false));
        }
        let longest =
            (0..=full.len()).rev().find(|length| self.modules.contains_key(&full[..*length]))?;
        Some((full[..longest].to_vec(), longest == full.len()))
    }
}

fn absolute(base: &[String], rest: &[String]) -> Vec<String> {
    [&["crate".to_owned()], base, rest].concat()
}

/// `crates/transport/src/h2/stream.rs` is `["h2", "stream"]`.
fn module_of(path: &str) -> Vec<String> {
    let below = path.split_once("/src/").map_or(path, |(_, below)| below);
    let stem = below.strip_suffix(".rs").unwrap_or(below);
    let stem = stem.strip_suffix("/mod").unwrap_or(stem);
    if matches!(stem, "lib" | "main") {
        return Vec::new();
    }
    stem.split('/').map(str::to_owned).collect()
}

fn product_tokens(file: &File) -> Vec<Token> {
    let lines: Vec<scan::Line> = file.lines.iter().filter(|line| !line.test).cloned().collect();
    scan::tokens(&lines)
}

/// Every name that `use` declarations bring in.
fn declarations(tokens: &[Token]) -> Vec<Named> {
    let mut found = Vec::new();
    let mut index = 0;
    while index < tokens.len() {
        if tokens[index].text == "use" {
            index = use_tree(tokens, index + 1, &[], &mut found);
        } else {
            index += 1;
        }
    }
    found
}

/// Reads one tree of a `use` declaration from `index`; returns where it ends.
fn use_tree(
    tokens: &[Token],
    mut index: usize,
    prefix: &[String],
    found: &mut Vec<Named>,
) -> usize {
    let mut path = prefix.to_vec();
    let mut alias = None;
    while let Some(token) = tokens.get(index) {
        match token.text.as_str() {
            ":" => index += 1,
            "{" => {
                index += 1;
                while tokens.get(index).is_some_and(|token| token.text != "}") {
                    index = use_tree(tokens, index, &path, found);
                    if tokens.get(index).is_some_and(|token| token.text == ",") {
                        index += 1;
                    }
                }
                return index + 1;
            }
            "as" => {
                alias = tokens.get(index + 1).map(|token| token.text.clone());
                index += 2;
            }
            "," | "}" | ";" => break,
            word => {
                path.push(word.to_owned());
                index += 1;
            }
        }
    }
    if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
        path.pop();
    }
    let last = path.last().cloned().unwrap_or_default();
    found.push(Named { path, alias: alias.unwrap_or(last) });
    index
}

/// Every path of at least two parts outside `use` declarations.
fn paths(tokens: &[Token]) -> Vec<Vec<String>> {
    let is_word = |token: &Token| token.text.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let joined = |index: usize| {
        let colon = |at: usize| tokens.get(at).is_some_and(|token| token.text == ":");
        colon(index) && colon(index + 1) && tokens.get(index + 2).is_some_and(is_word)
    };
    let mut found = Vec::new();
    let mut index = 0;
    while index < tokens.len() {
        if tokens[index].text == "use" {
            index += tokens[index..].iter().take_while(|token| token.text != ";").count();
            continue;
        }
        let mut path = vec![tokens[index].text.clone()];
        let starts = is_word(&tokens[index]);
        index += 1;
        while starts && joined(index) {
            path.push(tokens[index + 2].text.clone());
            index += 3;
        }
        if path.len() > 1 {
            found.push(path);
        }
    }
    found
}
