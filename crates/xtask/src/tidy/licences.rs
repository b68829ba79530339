//! Every package carries a licence that a program under MIT or Apache-2.0 may ship.

use super::tree::Tree;
use super::{Finding, Rule, finding};

pub(super) const RULE: Rule =
    Rule { name: "licences", summary: "every dependency under an allowed licence", check };

const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "OpenSSL",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(error) = &tree.unresolved {
        findings.push(finding("Cargo.lock", 0, format!("the packages are unknown: {error}")));
    }
    for package in &tree.packages {
        if !allowed(&package.licence) {
            let message = format!(
                "`{} {}` is under `{}`: choose another crate, or argue for the licence in licences.rs",
                package.name, package.version, package.licence
            );
            findings.push(finding("Cargo.lock", 0, message));
        }
    }
    findings
}

/// Whether an SPDX expression can be satisfied: `AND` binds tighter than `OR`, `/` is an old `OR`.
fn allowed(expression: &str) -> bool {
    let text = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut at = 0;
    let verdict = either(&words, &mut at);
    verdict && at == words.len()
}

fn either(words: &[&str], at: &mut usize) -> bool {
    let mut verdict = both(words, at);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        // Evaluated first, because the words must be consumed whatever the left side is.
        verdict = both(words, at) || verdict;
    }
    verdict
}

fn both(words: &[&str], at: &mut usize) -> bool {
    let mut verdict = single(words, at);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        verdict = single(words, at) && verdict;
    }
    verdict
}

fn single(words: &[&str], at: &mut usize) -> bool {
    let Some(word) = words.get(*at) else { return false };
    *at += 1;
    if *word == "(" {
        let verdict = either(words, at);
        let closed = words.get(*at) == Some(&")");
        *at += usize::from(closed);
        return verdict && closed;
    }
    if words.get(*at) == Some(&"WITH") {
        let name = format!("{word} WITH {}", words.get(*at + 1).unwrap_or(&""));
        *at += 2;
        return ALLOWED.contains(&name.as_str());
    }
    ALLOWED.contains(word)
}

#[cfg(test)]
mod tests {
    //! Expressions as packages write them.
    use super::*;

    #[test]
    fn reads_expressions() {
        for yes in [
            "MIT",
            "MIT/Apache-2.0",
            "MIT OR Apache-2.0 OR LGPL-2.1-or-later",
            "GPL-3.0-only OR MIT",
            "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
            "ISC AND (Apache-2.0 OR ISC) AND OpenSSL",
        ] {
            assert!(allowed(yes), "{yes}");
        }
        for no in
            ["", "GPL-2.0-only", "MIT AND GPL-2.0-only", "(MIT", "MIT GPL", "Apache-2.0 WITH X"]
        {
            assert!(!allowed(no), "{no}");
        }
    }
}
