//! Each field of the configuration's model and of the settings takes effect: code that builds the
//! running program, a check of the configuration, or the program itself reads it. The rule compares
//! names, not types.

use std::collections::BTreeSet;

use super::scan::{self, Token};
use super::tree::{File, Tree};
use super::{Finding, Rule, finding};

pub(super) const RULE: Rule = Rule {
    name: "fields",
    summary: "fields of the configuration's model and of settings are read",
    check,
};

/// The model: this file, and those below the directory of its name.
const MODEL: &str = "crates/config/src/model";

/// Where reading a field of the model counts; never where lines are parsed, which is where fields
/// are filled.
const READERS: &[&str] = &[
    "crates/weir/src/",
    "crates/admin/src/",
    "crates/config/src/data_plane/",
    "crates/config/src/validate",
    "crates/config/src/build.rs",
    "crates/config/src/load.rs",
    MODEL,
];

/// The settings of the data plane.
const SETTINGS: &str = "crates/settings/src/";

/// Where reading a setting counts.
const DATA_PLANE: &[&str] = &[
    SETTINGS,
    "crates/admin/src/",
    "crates/engine/src/",
    "crates/health/src/",
    "crates/observability/src/",
    "crates/proxy/src/",
    "crates/transaction/src/",
    "crates/transaction/src/",
    "crates/transport/src/",
    "crates/upstream/src/",
    "crates/upstream/src/",
    "crates/weir/src/",
];

/// Fields that are read in another way.
const OTHERWISE: &[&str] = &[
    // Finds the address of a server while its line is read.
    "init", // Makes a set of words differ from the empty one.
    "v1",
];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = unread(tree, MODEL, READERS);
    findings.extend(unread(tree, SETTINGS, DATA_PLANE));
    findings
}

/// The fields below a path that none of the readers reads.
fn unread(tree: &Tree, path: &str, readers: &[&str]) -> Vec<Finding> {
    let readers = tree.rust().filter(|file| readers.iter().any(|path| file.path.starts_with(path)));
    let readers: Vec<Vec<Token>> = readers.filter(|file| !file.test).map(product).collect();
    let read: BTreeSet<&str> = readers.iter().flat_map(|tokens| names_read(tokens)).collect();
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| file.path.starts_with(path)) {
        for window in product(file).windows(4) {
            if let [public, name, colon, next] = window
                && (public.text.as_str(), colon.text.as_str()) == ("pub", ":")
                && next.text != ":"
                && !read.contains(name.text.as_str())
                && !OTHERWISE.contains(&name.text.as_str())
            {
                let message = format!(
                    "nobody reads `{}`: what a line says would be accepted and ignored",
                    name.text
                );
                findings.push(finding(&file.path, name.line, message));
            }
        }
    }
    findings
}

/// The tokens of a file outside tests.
fn product(file: &File) -> Vec<Token> {
    let mut tokens = scan::tokens(&file.lines);
    tokens.retain(|token| !file.lines[token.line - 1].test);
    tokens
}

/// The names behind a dot that are neither called nor assigned to, and those that a `let` takes out
/// of a structure.
fn names_read(tokens: &[Token]) -> Vec<&str> {
    let text = |at: usize| tokens.get(at).map_or("", |token: &Token| token.text.as_str());
    let mut read = Vec::new();
    let mut taking = false;
    for at in 0..tokens.len() {
        match text(at) {
            "let" => taking = true,
            "=" | ";" => taking = false,
            "." => {
                let called = text(at + 2) == "(";
                let assigned = text(at + 2) == "=" && !matches!(text(at + 3), "=" | ">");
                if !called && !assigned {
                    read.push(text(at + 1));
                }
            }
            name if taking => read.push(name),
            _ => {}
        }
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_is_told_from_writing() {
        let lines = scan::lines(
            "fn f() { a.read; a.written = 1; a.equal == 1; a.called(); let M { taken, .. } = m; b(other); }",
        );
        let tokens = scan::tokens(&lines);
        let read = names_read(&tokens);
        for (name, expected) in [
            ("read", true),
            ("written", false),
            ("equal", true),
            ("called", false),
            ("taken", true),
            ("other", false),
        ] {
            assert_eq!(read.contains(&name), expected, "{name}");
        }
    }
}
