//! The code map of ARCHITECTURE.md names files and functions that exist.
//!
//! In the tables of its section "Where it happens", a word in backticks with a slash is a
//! crate and a path below its `src`; the words in backticks after a file are its functions.

use super::tree::Tree;
use super::{Finding, Rule, finding};

pub(super) const RULE: Rule =
    Rule { name: "code-map", summary: "the code map names files and functions that exist", check };

const DOCUMENT: &str = "ARCHITECTURE.md";
const SECTION: &str = "### Where it happens";

fn check(tree: &Tree) -> Vec<Finding> {
    let Some(document) = tree.file(DOCUMENT) else { return Vec::new() };
    let lines = document.text.lines().zip(1..).skip_while(|(line, _)| *line != SECTION).skip(1);
    let rows = lines.take_while(|(line, _)| !line.starts_with('#'));
    let rows = rows.filter(|(line, _)| line.starts_with('|'));
    rows.flat_map(|(line, number)| check_row(tree, line, number)).collect()
}

/// Findings for the last cell of a row: files, folders and functions that do not exist.
fn check_row(tree: &Tree, row: &str, line: usize) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut path = "";
    let cell = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
    for word in cell.split('`').skip(1).step_by(2) {
        let (exists, what) = match word.contains('/') {
            true => {
                path = word;
                (path_exists(tree, word), "file or folder")
            }
            false => (function_exists(tree, path, word), "function"),
        };
        if !exists {
            findings.push(finding(DOCUMENT, line, format!("`{word}` is no {what}")));
        }
    }
    findings
}

fn path_exists(tree: &Tree, path: &str) -> bool {
    let full = full_path(path);
    tree.files.iter().any(|file| match path.ends_with('/') {
        true => file.path.starts_with(&full),
        false => file.path == full,
    })
}

/// `engine/io/x.rs` is `crates/engine/src/io/x.rs`.
fn full_path(path: &str) -> String {
    let (name, below) = path.split_once('/').unwrap_or((path, ""));
    format!("crates/{name}/src/{below}")
}

fn function_exists(tree: &Tree, path: &str, name: &str) -> bool {
    let file = tree.file(&full_path(path));
    let is_name = |rest: &str| rest.starts_with('(') || rest.starts_with('<');
    file.is_some_and(|file| {
        file.text.split("fn ").any(|rest| rest.strip_prefix(name).is_some_and(is_name))
    })
}
