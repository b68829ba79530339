//! The mutated source: a copy of the tree in which each keyword can be accepted and ignored.
//!
//! The product has no hooks for mutation tests. `hooks.diff` adds them to a copy of the source
//! below the target directory, which is built and tested there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{self, Outcome};
use crate::workspace;

/// The edits, as a unified diff whose line numbers do not matter.
pub(crate) const EDITS: &str = "crates/xtask/mutation/hooks.diff";

/// The files that the edits refer to, and their place in the copy.
const ADDED: [(&str, &str); 3] = [
    ("crates/xtask/mutation/mutation.rs", "crates/stdx/src/mutation.rs"),
    ("crates/xtask/mutation/ignore.rs", "crates/config/src/reader/ignore.rs"),
    ("crates/xtask/mutation/ignore.lua", "crates/script/src/prelude/ignore.lua"),
];

/// One edit of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Edit<'a> {
    pub(crate) path: &'a str,
    /// The line of the diff that begins it, counted from 1.
    pub(crate) line: usize,
    before: String,
    after: String,
}

impl Edit<'_> {
    /// The text with the edit; else how often the lines that it replaces occur, which must be once.
    pub(crate) fn apply(&self, text: &str) -> Result<String, usize> {
        let begins = |(at, _): &(usize, &str)| *at == 0 || text.as_bytes()[at - 1] == b'\n';
        let mut places = text.match_indices(&self.before).filter(begins);
        match (places.next(), places.count()) {
            (Some((at, found)), 0) => {
                Ok([&text[..at], &self.after, &text[at + found.len()..]].concat())
            }
            (first, more) => Err(more + usize::from(first.is_some())),
        }
    }
}

/// The edits of a unified diff.
pub(crate) fn edits(diff: &str) -> Vec<Edit<'_>> {
    let mut edits: Vec<Edit<'_>> = Vec::new();
    let mut path = "";
    for (index, line) in diff.lines().enumerate() {
        if let Some(name) = line.strip_prefix("+++ b/") {
            path = name;
        } else if line.starts_with("@@ ") {
            edits.push(Edit { path, line: index + 1, ..Edit::default() });
        } else if let (Some(edit), Some((sign, rest))) =
            (edits.last_mut(), line.split_at_checked(1))
        {
            let (before, after) = match sign {
                " " => (true, true),
                "+" => (false, true),
                _ => (!line.starts_with("--- "), false),
            };
            let add = |side: &mut String| side.extend([rest, "\n"]);
            if before {
                add(&mut edit.before);
            }
            if after {
                add(&mut edit.after);
            }
        }
    }
    edits
}

/// Brings the mutated copy of the tree up to date; returns its root.
pub(crate) fn tree(root: &Path) -> Outcome<PathBuf> {
    let copy = workspace::target(root).join("mutation");
    let files = tracked(root)?;
    let diff = read(&root.join(EDITS))?;
    let edits = edits(&diff);
    for path in &files {
        let mut bytes = std::fs::read(root.join(path)).map_err(|error| fault(path, &error))?;
        let mut own = edits.iter().filter(|edit| edit.path == path).peekable();
        if own.peek().is_some() {
            bytes = edited(String::from_utf8_lossy(&bytes).into_owned(), own)?.into_bytes();
        }
        put(&copy.join(path), &bytes)?;
    }
    for (from, to) in ADDED {
        put(&copy.join(to), read(&root.join(from))?.as_bytes())?;
    }
    let added = ADDED.iter().map(|(_, to)| (*to).to_owned());
    let kept: BTreeSet<PathBuf> = files.into_iter().chain(added).map(|it| copy.join(it)).collect();
    forget(&copy, &kept).map_err(|error| fault("the mutated copy", &error))?;
    Ok(copy)
}

fn edited<'e>(text: String, mut edits: impl Iterator<Item = &'e Edit<'e>>) -> Outcome<String> {
    let fault = |edit: &Edit<'_>, count| {
        failure::check(format!(
            "{EDITS}:{}: its lines occur {count} times in {}",
            edit.line, edit.path
        ))
    };
    edits.try_fold(text, |text, edit| edit.apply(&text).map_err(|count| fault(edit, count)))
}

/// The files of the tree that git knows or would add.
fn tracked(root: &Path) -> Outcome<Vec<String>> {
    let words = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git").arg("-C").arg(root).args(words).output();
    let output = output.map_err(|error| fault("git", &error))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let files = text.split_terminator('\0').filter(|path| root.join(path).is_file());
    Ok(files.map(str::to_owned).collect())
}

/// Writes a file unless its contents are the same, so that cargo builds only changed crates.
fn put(path: &Path, bytes: &[u8]) -> Outcome {
    if std::fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    let name = path.display().to_string();
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(|error| fault(&name, &error))?;
    }
    std::fs::write(path, bytes).map_err(|error| fault(&name, &error))
}

/// Removes files that the tree has no longer; builds stay.
fn forget(directory: &Path, kept: &BTreeSet<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with("mutation/target") {
            forget(&path, kept)?;
        } else if path.is_file() && !kept.contains(&path) && !path.ends_with("Cargo.lock") {
            std::fs::remove_file(&path)?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path).map_err(|error| fault(&path.display().to_string(), &error))
}

fn fault(name: &str, error: &std::io::Error) -> failure::Failure {
    failure::machine(format!("{name}: {error}"))
}

#[cfg(test)]
mod tests {
    //! Edits and their places.
    use super::*;

    const DIFF: &str = "--- a/x.rs\n+++ b/x.rs\n@@ -1,2 +1,3 @@\n one\n+two\n three\n@@ -9,1 +9,1 @@\n-four\n+five\n--- a/y.rs\n+++ b/y.rs\n@@ -1,1 +1,1 @@\n a\n+b\n";

    #[test]
    fn edits_apply_where_their_lines_occur_once() {
        let edits = edits(DIFF);
        let paths: Vec<_> = edits.iter().map(|edit| (edit.path, edit.line)).collect();
        assert_eq!(paths, [("x.rs", 3), ("x.rs", 7), ("y.rs", 12)]);
        let text = "zero\none\nthree\nfour\n".to_owned();
        let all = edited(text, edits.iter().take(2)).expect("both fit");
        assert_eq!(all, "zero\none\ntwo\nthree\nfive\n");
        assert_eq!(edits[1].apply("five\n"), Err(0));
        assert_eq!(edits[1].apply("four\nfour\n"), Err(2));
        assert_eq!(edits[1].apply("twentyfour\nfour\n").as_deref(), Ok("twentyfour\nfive\n"));
    }
}
