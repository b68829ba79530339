//! `cargo xtask tidy`: the house checks itself. Each rule is a module; none changes a file,
//! except that comments are wrapped and counts lowered when asked.

mod bans;
mod code_map;
mod columns;
mod documents;
mod exceptions;
mod features;
mod fields;
mod headers;
mod hooks;
mod imports;
mod lengths;
mod licences;
mod manifest;
mod names;
mod places;
mod prose;
mod ratchet;
mod rooms;
mod runtimes;
mod scan;
mod siblings;
mod sizes;
mod strictness;
mod tree;
mod type_names;
mod unsafe_code;
mod versions;
mod walls;
mod wrap;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use crate::failure::{self, Outcome};
use crate::{args, workspace};
use tree::Tree;

pub(crate) const HELP: &str = "\
usage: cargo xtask tidy [--root DIRECTORY] [--list] [--cycles] [--ratchet] [--wrap [PATH ...]]

Checks the tree against the rules of the house and prints every violation as PATH:LINE: RULE: what
is wrong and what to do instead. Exit status 1 if there is any. Changes nothing without
--wrap or --ratchet.

  --root DIRECTORY  another tree than the one this program was built from
  --list            print the rules
  --cycles          print for every crate its lines and the largest circle of imports between its rooms
  --ratchet         first lower the counts in tidy.list (cycle, prose, names) to what they are now
  --wrap [PATH ...] first break comments that are too wide, in files whose path begins so
";

/// One rule of the house.
struct Rule {
    name: &'static str,
    summary: &'static str,
    check: fn(&Tree) -> Vec<Finding>,
}

/// Every rule, walls first.
const RULES: &[Rule] = &[
    walls::EDGES,
    walls::REACH,
    walls::KERNEL,
    names::RULE,
    siblings::RULE,
    rooms::RULE,
    sizes::RULE,
    type_names::RULE,
    unsafe_code::RULE,
    runtimes::RULE,
    features::RULE,
    headers::RULE,
    lengths::FILES,
    lengths::FUNCTIONS,
    columns::RULE,
    prose::RULE,
    bans::RULE,
    places::RULE,
    licences::RULE,
    versions::RULE,
    documents::RULE,
    code_map::RULE,
    strictness::RULE,
    fields::RULE,
    hooks::RULE,
];

/// One violation.
struct Finding {
    path: String,
    /// Counted from 1; 0 for the file as a whole.
    line: usize,
    message: String,
}

/// A violation at a line of a file (0 for the file as a whole).
fn finding(path: &str, line: usize, message: impl Into<String>) -> Finding {
    Finding { path: path.to_owned(), line, message: message.into() }
}

pub(crate) fn run(words: &[String]) -> Outcome {
    let flags = [
        args::value("--root"),
        args::switch("--list"),
        args::switch("--cycles"),
        args::switch("--ratchet"),
        args::switch("--wrap"),
    ];
    let parsed = args::parse(words, &flags)?;
    if parsed.has("--list") {
        for rule in RULES {
            println!("{:15} {}", rule.name, rule.summary);
        }
        return Ok(());
    }
    let root = match parsed.value("--root") {
        Some(root) => PathBuf::from(root),
        None => workspace::root()?,
    };
    if parsed.has("--cycles") {
        return print_cycles(&root);
    }
    if parsed.has("--ratchet") {
        ratchet::lower(&tree::load(&root)?, &root)?;
    }
    if parsed.has("--wrap") {
        wrap_comments(&root, &parsed.rest)?;
    } else if let Some(word) = parsed.rest.first() {
        return Err(failure::usage(format!("tidy takes no argument, not `{word}`")));
    }
    check_tree(&root)
}

/// Prints the lines of every crate, and its largest circle of imports between rooms.
fn print_cycles(root: &Path) -> Outcome {
    let tree = tree::load(root)?;
    for name in tree.crates() {
        let cycle = rooms::largest_cycle(&tree, name);
        let rooms = rooms::rooms_of(&cycle);
        let (lines, files) = (sizes::lines_of(&tree, name), cycle.len());
        println!(
            "{name:18} {lines:6} lines; circle: {rooms} rooms {files} files {}",
            cycle.join(" ")
        );
    }
    Ok(())
}

/// Breaks overlong comments in the files whose path begins with one of `paths`, or in all.
fn wrap_comments(root: &Path, paths: &[String]) -> Outcome {
    for file in tree::load(root)?.rust() {
        let chosen = paths.is_empty() || paths.iter().any(|path| file.path.starts_with(path));
        let text = wrap::wrapped(&file.text);
        if chosen && text != file.text {
            let path = root.join(&file.path);
            std::fs::write(&path, text)
                .map_err(|error| failure::machine(format!("{}: {error}", path.display())))?;
            println!("wrapped {}", file.path);
        }
    }
    Ok(())
}

/// Checks the tree below a directory and prints what is wrong.
pub(crate) fn check_tree(root: &Path) -> Outcome {
    let tree = tree::load(root)?;
    let violations = violations(&tree);
    for violation in &violations {
        println!("{violation}");
    }
    match violations.len() {
        0 => {
            println!("tidy: {} rules hold over {} files", RULES.len(), tree.files.len());
            Ok(())
        }
        1 => Err(failure::check("tidy: 1 violation")),
        count => Err(failure::check(format!("tidy: {count} violations"))),
    }
}

/// Every violation, as a line for a person.
fn violations(tree: &Tree) -> Vec<String> {
    let mut lines = Vec::new();
    for rule in RULES {
        for Finding { path, line, message } in (rule.check)(tree) {
            let place = if line == 0 { path } else { format!("{path}:{line}") };
            lines.push(format!("{place}: {}: {message}", rule.name));
        }
    }
    lines
}
