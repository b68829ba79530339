//! The protocol machines of `mux` never name each other. Looks at paths, not at types.

use super::scan::{self, Token};
use super::tree::Tree;
use super::{Finding, Rule, finding};

pub(super) const RULE: Rule =
    Rule { name: "siblings", summary: "muxes never name each other", check };

/// The machines, each a module of `crates/mux/src`.
const MACHINES: &[&str] = &["fcgi", "h1", "h2", "h3", "tcp"];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let Some(machine) = machine_of(&file.path) else { continue };
        let tokens = scan::tokens(&file.lines);
        for window in tokens.windows(4) {
            let Some(named) = named_by(window) else { continue };
            if named != machine && MACHINES.contains(&named) {
                let message = format!(
                    "`{machine}` names `{named}`: move what both need beside them, into its own module"
                );
                findings.push(finding(&file.path, window[0].line, message));
            }
        }
    }
    findings
}

/// The machine whose module a file belongs to.
fn machine_of(path: &str) -> Option<&'static str> {
    let rest = path.strip_prefix("crates/mux/src/")?;
    let first = rest.split('/').next()?;
    let name = first.strip_suffix(".rs").unwrap_or(first);
    MACHINES.iter().copied().find(|machine| *machine == name)
}

/// The module after `crate::` or `super::`.
fn named_by(window: &[Token]) -> Option<&str> {
    let words: Vec<&str> = window.iter().map(|token| token.text.as_str()).collect();
    match words.as_slice() {
        ["crate" | "super", ":", ":", named] => Some(named),
        _ => None,
    }
}
