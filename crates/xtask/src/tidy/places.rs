//! Text that belongs to one machine or one moment and must not be committed: paths of a home,
//! private package sources, unfinished merges.

use super::tree::Tree;
use super::{Finding, Rule, finding};

pub(super) const RULE: Rule = Rule {
    name: "places",
    summary: "no machine paths, private registries or unfinished merges",
    check,
};

/// Text that no file may hold, in two halves so that this file does not hold it either.
const TEXTS: &[(&str, &str, &str)] = &[
    ("/wo", "rk/", "a path of one machine: use a relative path or an argument"),
    ("/ro", "ot/", "a path of one machine: use a relative path or an argument"),
    ("/ho", "me/", "a path of one machine: use a relative path or an argument"),
    ("../sh", "ared", "the repository stands alone: copy what it needs, in its own words"),
    ("<<<<", "<<< ", "an unfinished merge"),
    (">>>>", ">>> ", "an unfinished merge"),
    ("NOCO", "MMIT", "marked as not to be committed"),
    ("DO NOT ", "COMMIT", "marked as not to be committed"),
    ("replace-", "with =", "a private package source: the public index is the only one"),
    ("sparse+", "http", "a private package source: the public index is the only one"),
    ("[regis", "tries", "a private package source: the public index is the only one"),
    ("[sour", "ce.", "a private package source: the public index is the only one"),
];

/// The only source that packages in `Cargo.lock` may come from.
const PUBLIC_INDEX: &str = "registry+https://github.com/rust-lang/crates.io-index";

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for (index, line) in file.text.lines().enumerate() {
            for (first, second, why) in TEXTS {
                let text = format!("{first}{second}");
                if contains(line, &text) {
                    findings.push(finding(&file.path, index + 1, format!("`{text}`: {why}")));
                }
            }
            let source = line.strip_prefix("source = ").map(|source| source.trim_matches('"'));
            if file.path == "Cargo.lock" && source.is_some_and(|source| source != PUBLIC_INDEX) {
                let message = "a package from elsewhere: the public index is the only source";
                findings.push(finding(&file.path, index + 1, message));
            }
        }
    }
    findings
}

/// A path counts only at the start of a word, so that `net/home/` of a URL path does not.
fn contains(line: &str, text: &str) -> bool {
    line.match_indices(text).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !text.starts_with('/') || !before.is_some_and(|c| c.is_alphanumeric() || "._-}".contains(c))
    })
}
