//! Runs chosen tests, several at once, one varnishtest process each.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::probe;
use super::report::{Ending, Report};
use super::suite::Suite;
use crate::clock;
use crate::failure::{self, Outcome};
use crate::tools;

/// Tests that bind fixed ports: they run one after the other, after all others.
const ALONE: &[&str] = &[
    "log/log_forward.vtc",
    "ssl/log_forward_ssl.vtc",
    "lua/h_txn_get_priv.vtc",
    "lua/txn_get_priv.vtc",
    "lua/txn_get_priv-thread.vtc",
];

/// varnishtest's status for a test that asked to be skipped.
const SKIPPED: i32 = 77;

/// A test and its place in the run, which names its directory.
type Numbered<'a> = (usize, &'a String);

/// The settings that every test of a run shares.
pub(crate) struct Setting<'a> {
    suite: &'a Suite,
    program: &'a Path,
    varnishtest: PathBuf,
    /// Holds the directories of failed tests.
    directory: PathBuf,
    keep: bool,
}

impl<'a> Setting<'a> {
    /// Makes the directory in which tests put theirs.
    pub(crate) fn new(suite: &'a Suite, program: &'a Path, keep: bool) -> Outcome<Self> {
        let directory = std::env::temp_dir().join(format!("weir-regress-{}", std::process::id()));
        std::fs::create_dir_all(&directory)
            .map_err(|error| failure::machine(format!("{}: {error}", directory.display())))?;
        let varnishtest = tools::find("varnishtest").unwrap_or_else(|| "varnishtest".into());
        Ok(Self { suite, program, varnishtest, directory, keep })
    }

    fn run(&self, number: usize, test: &str) -> Outcome<(Ending, String)> {
        let directory = self.directory.join(number.to_string());
        let unusable = |error| failure::machine(format!("{}: {error}", directory.display()));
        std::fs::create_dir_all(&directory).map_err(unusable)?;
        let output = Command::new(&self.varnishtest)
            .args(["-b", "2097152", "-k", "-t", "10", "-l", "-q", test])
            .current_dir(&self.suite.root)
            .env("HAPROXY_PROGRAM", self.program)
            .env("HAPROXY_ARGS", probe::ARGUMENTS)
            .env("TMPDIR", &directory)
            .output()
            .map_err(|error| failure::machine(format!("cannot run varnishtest: {error}")))?;
        let ending = match output.status.code() {
            Some(0) if skipped(&String::from_utf8_lossy(&output.stderr)) => Ending::Skipped,
            Some(0) => Ending::Passed,
            Some(SKIPPED) => Ending::Skipped,
            _ => return Ok((Ending::Failed, cause(&log(&directory)))),
        };
        std::fs::remove_dir_all(&directory).map_err(unusable)?;
        Ok((ending, String::new()))
    }
}

/// The log of a failed test, which varnishtest leaves in a directory of its own.
fn log(directory: &Path) -> String {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let logs = entries.filter_map(|entry| std::fs::read(entry.path().join("LOG")).ok());
    logs.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
}

impl Drop for Setting<'_> {
    fn drop(&mut self) {
        if self.keep {
            println!("the directories of failed tests are in {}", self.directory.display());
        } else if let Err(error) = std::fs::remove_dir_all(&self.directory) {
            println!("cannot remove {}: {error}", self.directory.display());
        }
    }
}

/// Whether varnishtest's closing line counts a skipped test.
fn skipped(text: &str) -> bool {
    text.lines().any(|line| line.contains("1 tests skipped"))
}

/// The line of a log that tells why its test failed.
fn cause(log: &str) -> String {
    let line = log.lines().find(|line| line.starts_with("----"));
    line.map_or_else(
        || "no reason in the log".to_owned(),
        |line| line.trim_start_matches('-').split_whitespace().collect::<Vec<_>>().join(" "),
    )
}

/// Runs the tests, `jobs` at once, and writes down what came of them.
pub(crate) fn run(
    setting: &Setting<'_>,
    tests: &[String],
    jobs: u32,
    report: &mut Report,
) -> Outcome {
    let start = clock::now();
    let alone = |(_, test): &Numbered<'_>| ALONE.iter().any(|name| test.ends_with(name));
    let (last, first): (Vec<Numbered<'_>>, Vec<Numbered<'_>>) =
        tests.iter().enumerate().partition(alone);
    let shared = Mutex::new(report);
    batch(setting, &first, jobs, &shared)?;
    batch(setting, &last, 1, &shared)?;
    let report = shared.into_inner().expect("no worker panicked");
    report.results.sort();
    report.seconds = start.elapsed().as_secs_f64();
    Ok(())
}

fn batch(
    setting: &Setting<'_>,
    tests: &[Numbered<'_>],
    jobs: u32,
    report: &Mutex<&mut Report>,
) -> Outcome {
    let next = AtomicUsize::new(0);
    let work = || -> Outcome {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some((number, test)) = tests.get(index) else { return Ok(()) };
            let (outcome, reason) = setting.run(*number, test)?;
            let mut report = report.lock().expect("no worker panicked");
            report.add(test, outcome, reason);
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        let ends = workers.into_iter().map(|worker| worker.join().expect("no worker panicked"));
        ends.collect::<Vec<Outcome>>().into_iter().collect()
    })
}

#[cfg(test)]
mod tests {
    //! Tests of reading the output of varnishtest.
    use super::*;

    #[test]
    fn reads_closing_line_and_cause() {
        assert!(skipped("0 tests failed, 1 tests skipped, 0 tests passed\n"));
        assert!(!skipped("0 tests failed, 0 tests skipped, 1 tests passed\n"));
        let log = "**** h1 x\n---- c1    EXPECT resp.status (503) ==  \"200\" failed\n---- top y\n";
        assert_eq!(cause(log), "c1 EXPECT resp.status (503) == \"200\" failed");
        assert_eq!(cause(""), "no reason in the log");
    }
}
