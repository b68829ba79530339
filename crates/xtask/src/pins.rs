//! `cargo xtask pins`: whether the registry has newer patches of the libraries in C.
//!
//! These libraries carry most of the security fixes that a release must not miss, and a lock file
//! does not move by itself.

use std::path::Path;

use crate::failure::{self, Outcome};
use crate::{args, workspace};

pub(crate) const HELP: &str = "\
usage: cargo xtask pins

Asks the registry whether there is a newer patch, in the line that Cargo.toml asks for, of a crate
that brings a library in C: openssl-src, aws-lc-sys, pcre2-sys, tikv-jemalloc-sys, zstd-sys. Fails
if there is; `cargo update -p <crate>` takes it. Without a registry in reach the check is skipped
with a word.
";

/// Crates that bring a library in C.
const CRATES: [&str; 5] =
    ["openssl-src", "aws-lc-sys", "pcre2-sys", "tikv-jemalloc-sys", "zstd-sys"];

pub(crate) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, &[])?;
    if let Some(word) = parsed.rest.first() {
        return Err(failure::usage(format!("pins takes no argument, not `{word}`")));
    }
    check(&workspace::root()?)
}

/// Fails if a crate is older than the registry allows.
pub(crate) fn check(root: &Path) -> Outcome {
    let mut words = vec!["update", "--dry-run", "--ignore-rust-version"];
    words.extend(CRATES.iter().flat_map(|name| ["-p", *name]));
    let ran = workspace::cargo(root, &words).output();
    let output = ran.map_err(|error| failure::machine(format!("cannot run cargo: {error}")))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let why = said.lines().find(|line| line.starts_with("error")).unwrap_or("cargo failed");
        println!("pins: skipped, the registry cannot be asked ({why})");
        return Ok(());
    }
    let newer = newer(&said);
    if newer.is_empty() {
        println!("pins: {} are the newest of their lines", CRATES.join(", "));
        return Ok(());
    }
    Err(failure::check(format!("newer patches: {}; cargo update -p <crate>", newer.join(", "))))
}

/// The moves that `cargo update` announces, such as `openssl-src v300.6.0 -> v300.6.1`.
fn newer(said: &str) -> Vec<String> {
    let moved = |line: &str| {
        let line = line.trim_start().strip_prefix("Updating ")?;
        let line = line.split(" (").next().unwrap_or(line);
        let known = CRATES.iter().any(|name| line.split(' ').next() == Some(*name));
        (known && line.contains(" -> ")).then(|| line.to_owned())
    };
    said.lines().filter_map(moved).collect()
}

#[cfg(test)]
mod tests {
    //! Answers of cargo are read right.
    use super::*;

    #[test]
    fn announced_moves_of_libraries_are_newer_patches() {
        let said = "    Updating crates.io index\n     Locking 2 packages to latest versions\n    \
                    Updating openssl-src v300.6.0+3.6.2 -> v300.6.1+3.6.3 (available: v400.0.2)\n    \
                    Updating libc v0.2.1 -> v0.2.2\nnote: pass `--verbose`\n";
        assert_eq!(newer(said), ["openssl-src v300.6.0+3.6.2 -> v300.6.1+3.6.3"]);
        assert!(newer("    Updating crates.io index\n     Locking 0 packages\n").is_empty());
    }
}
