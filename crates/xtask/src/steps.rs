//! Runs the steps of a check one after the other, with a line and a time for each.

use std::process::Command;
use std::time::Duration;

use crate::clock;
use crate::failure::{self, Outcome};

/// A run of named steps, numbered as they go.
pub(crate) struct Steps {
    total: usize,
    done: Vec<(String, Duration)>,
}

impl Steps {
    /// Announces a run of `total` steps.
    pub(crate) fn new(total: usize) -> Self {
        Self { total, done: Vec::with_capacity(total) }
    }

    /// Runs one step.
    pub(crate) fn step(&mut self, name: &str, work: impl FnOnce() -> Outcome) -> Outcome {
        println!("[{}/{}] {name}", self.done.len() + 1, self.total);
        let start = clock::now();
        let outcome = work();
        let length = start.elapsed();
        let verdict = if outcome.is_ok() { "ok" } else { "FAILED" };
        println!("[{}/{}] {name}: {verdict} in {}", self.done.len() + 1, self.total, secs(length));
        self.done.push((name.to_owned(), length));
        outcome
    }

    /// Prints how long each step took.
    pub(crate) fn finish(self) {
        let total: Duration = self.done.iter().map(|(_, length)| *length).sum();
        let each: Vec<String> =
            self.done.iter().map(|(name, length)| format!("{name} {}", secs(*length))).collect();
        println!("all {} steps passed in {} ({})", self.total, secs(total), each.join(", "));
    }
}

fn secs(length: Duration) -> String {
    format!("{:.1} s", length.as_secs_f64())
}

/// Runs a program to its end with its output on ours; a failure names `what` and its status.
pub(crate) fn run(what: &str, command: &mut Command) -> Outcome {
    let status = command
        .status()
        .map_err(|error| failure::machine(format!("cannot run {what}: {error}")))?;
    if status.success() { Ok(()) } else { Err(failure::check(format!("{what}: {status}"))) }
}
