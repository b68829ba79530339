//! `cargo xtask tidy`: the house checks itself. Each rule is a module; none changes a file.

mod bans;
mod columns;
mod documents;
mod exceptions;
mod features;
mod headers;
mod lengths;
mod licences;
mod manifest;
mod names;
mod places;
mod runtimes;
mod scan;
mod siblings;
mod tree;
mod unsafe_code;
mod versions;
mod walls;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use crate::failure::{self, Outcome};
use crate::{args, workspace};
use tree::Tree;

pub(crate) const HELP: &str = "\
usage: cargo xtask tidy [--root DIRECTORY] [--list]

Checks the tree against the rules of the house and prints every violation as PATH:LINE: RULE: what
is wrong and what to do instead. Exit status 1 if there is any.

  --root DIRECTORY  another tree than the one this program was built from
  --list            print the rules
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
    unsafe_code::RULE,
    runtimes::RULE,
    features::RULE,
    headers::RULE,
    lengths::FILES,
    lengths::FUNCTIONS,
    columns::RULE,
    bans::RULE,
    places::RULE,
    licences::RULE,
    versions::RULE,
    documents::RULE,
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
    let parsed = args::parse(words, &[args::value("--root"), args::switch("--list")])?;
    if parsed.has("--list") {
        for rule in RULES {
            println!("{:15} {}", rule.name, rule.summary);
        }
        return Ok(());
    }
    match parsed.value("--root") {
        Some(root) => check_tree(&PathBuf::from(root)),
        None => check_tree(&workspace::root()?),
    }
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
