//! The results of a run: a line per test as it ends, then lists and totals.

use crate::failure::{self, Outcome};

/// The result of one test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ending {
    Passed,
    Failed,
    /// The test itself found that it cannot run.
    Skipped,
}

/// The results of all tests.
#[derive(Default)]
pub(crate) struct Report {
    /// Path, outcome, and the reason of a failure.
    pub(crate) results: Vec<(String, Ending, String)>,
    /// Tests that were not started, and why.
    pub(crate) gated: Vec<(String, String)>,
    /// How long the run took.
    pub(crate) seconds: f64,
}

impl Report {
    /// Writes down one test and prints a line about it.
    pub(crate) fn add(&mut self, test: &str, outcome: Ending, reason: String) {
        let word = match outcome {
            Ending::Passed => "passed",
            Ending::Failed => "FAILED",
            Ending::Skipped => "skipped",
        };
        println!("{word:8} {test}");
        self.results.push((test.to_owned(), outcome, reason));
    }

    /// Prints the tests that would run and those that would not.
    pub(crate) fn print_selection(&self, chosen: &[String]) {
        for test in chosen {
            println!("run      {test}");
        }
        for (test, reason) in &self.gated {
            println!("not run  {test} ({reason})");
        }
        println!("{} to run, {} not", chosen.len(), self.gated.len());
    }

    /// Prints the lists, then the totals.
    pub(crate) fn print(&self) {
        let lists = [
            ("Passed", Ending::Passed),
            ("Failed", Ending::Failed),
            ("Skipped by themselves", Ending::Skipped),
        ];
        for (title, outcome) in lists {
            println!("\n{title}:");
            for (test, _, reason) in self.results.iter().filter(|(_, one, _)| *one == outcome) {
                match reason.as_str() {
                    "" => println!("  {test}"),
                    reason => println!("  {test}: {reason}"),
                }
            }
        }
        println!("\nNot started:");
        for (test, reason) in &self.gated {
            println!("  {test} ({reason})");
        }
        println!(
            "\n{} passed, {} failed, {} skipped in {:.0} s ({} more not started)",
            self.count(Ending::Passed),
            self.count(Ending::Failed),
            self.count(Ending::Skipped),
            self.seconds,
            self.gated.len()
        );
    }

    /// A failure if a test failed.
    pub(crate) fn outcome(&self) -> Outcome {
        match self.count(Ending::Failed) {
            0 => Ok(()),
            count => Err(failure::check(format!("{count} tests of the suite failed"))),
        }
    }

    fn count(&self, outcome: Ending) -> usize {
        self.results.iter().filter(|(_, one, _)| *one == outcome).count()
    }
}
