//! The hooks of mutation tests, which are no part of the product, fit its source.
//!
//! `cargo xtask compat --prove` adds them to a copy of the tree; an edit whose lines have changed
//! has to change with them.

use super::tree::Tree;
use super::{Finding, Rule, finding};
use crate::mutation::{self, EDITS};

pub(super) const RULE: Rule =
    Rule { name: "hooks", summary: "the hooks of mutation tests fit the source", check };

fn check(tree: &Tree) -> Vec<Finding> {
    let Some(diff) = tree.file(EDITS) else { return Vec::new() };
    let wrong = mutation::edits(&diff.text).into_iter().filter_map(|edit| {
        let text = tree.file(edit.path).map_or("", |file| &file.text);
        let count = edit.apply(text).err()?;
        let message = format!(
            "the lines that it replaces occur {count} times in {}: bring the edit up to date",
            edit.path
        );
        Some(finding(EDITS, edit.line, message))
    });
    wrong.collect()
}
