//! Benchmarks that need no other process: bench targets of the crate `bench`, run by cargo.

use crate::failure::{self, Outcome};
use crate::workspace;

/// The bench targets of `crates/bench`.
pub(super) const NAMES: &[&str] =
    &["compression", "heavy", "histogram", "leastconn", "lookup", "sched", "timers"];

/// Builds and runs an example, with the words behind its name.
pub(super) fn run(name: &str, words: &[String]) -> Outcome {
    let arguments = ["bench", "--quiet", "--package", "bench", "--bench", name, "--"];
    let status = workspace::cargo(&workspace::root()?, &arguments)
        .args(words)
        .status()
        .map_err(|error| failure::machine(format!("cargo: {error}")))?;
    match status.success() {
        true => Ok(()),
        false => Err(failure::check(format!("bench {name} failed"))),
    }
}
