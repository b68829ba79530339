//! Limits on the length of files and functions. Longer ones are listed and may only shrink.

use super::exceptions::{self, Entry};
use super::scan;
use super::tree::{File, Tree};
use super::{Finding, Rule, finding};

pub(super) const FILES: Rule =
    Rule { name: "file-length", summary: "files of at most 1000 lines", check: files };

pub(super) const FUNCTIONS: Rule =
    Rule { name: "function-length", summary: "functions of at most 70 lines", check: functions };

/// Lines of a file; test files are not counted.
const FILE_LINES: usize = 1000;
/// Lines of a function, from `fn` to its closing brace; tests are not counted.
const FUNCTION_LINES: usize = 70;

fn files(tree: &Tree) -> Vec<Finding> {
    let mut findings = unreadable(tree);
    let mut long = Vec::new();
    for file in tree.rust().filter(|file| !file.test) {
        let length = file.text.lines().count();
        if length > FILE_LINES {
            long.push((file.path.clone(), length));
        }
        let tolerated = tree.exceptions.size("file", &file.path).unwrap_or(FILE_LINES);
        if length > tolerated.max(FILE_LINES) {
            let message = format!("{length} lines, {tolerated} are allowed: split it by concept");
            findings.push(finding(&file.path, 0, message));
        }
    }
    findings.extend(outgrown(tree, "file", &long));
    findings
}

fn functions(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut long = Vec::new();
    for file in tree.rust().filter(|file| !file.test) {
        for function in long_functions(file) {
            let name = format!("{}::{}", file.path, function.name);
            let tolerated = tree.exceptions.size("function", &name).unwrap_or(FUNCTION_LINES);
            if function.length > tolerated.max(FUNCTION_LINES) {
                let message = format!(
                    "`{}` has {} lines, {tolerated} are allowed: keep the branches, move straight lines into helpers",
                    function.name, function.length
                );
                findings.push(finding(&file.path, function.line, message));
            }
            long.push((name, function.length));
        }
    }
    findings.extend(outgrown(tree, "function", &long));
    findings
}

fn long_functions(file: &File) -> Vec<scan::Function> {
    let mut functions = scan::functions(&file.lines);
    functions.retain(|function| {
        let test = file.lines.get(function.line - 1).is_some_and(|line| line.test);
        !test && function.length > FUNCTION_LINES
    });
    functions
}

/// The list must follow what shrinks: an entry larger than its subject, or without one, fails.
fn outgrown(tree: &Tree, kind: &str, long: &[(String, usize)]) -> Vec<Finding> {
    let stale = |entry: &&Entry| {
        let length = long.iter().find(|(name, _)| *name == entry.name).map(|(_, length)| *length);
        length.is_none_or(|length| length < entry.size)
    };
    tree.exceptions
        .of(kind)
        .filter(stale)
        .map(|entry| {
            let message = format!("`{}` is shorter now: lower or remove its entry", entry.name);
            finding(exceptions::PATH, entry.line, message)
        })
        .collect()
}

fn unreadable(tree: &Tree) -> Vec<Finding> {
    let message = "an entry is `file|function|crate|cycle|prose|names NAME SIZE # why`";
    let lines = tree.exceptions.unreadable.iter();
    lines.map(|line| finding(exceptions::PATH, *line, message)).collect()
}
