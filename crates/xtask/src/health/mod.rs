//! `cargo xtask health`: the same troubles of the same servers, before HAProxy and before Weir.

mod actors;
mod plan;
mod seen;
mod stage;

use std::path::PathBuf;
use std::time::Duration;

use crate::bench::files::Files;
use crate::failure::{self, Outcome};
use crate::{args, beside, clock};
use plan::STEPS;
use seen::{INTENDED, Seen};
use stage::HealthTestBed;

pub(crate) const HELP: &str = "\
usage: cargo xtask health [--list] [--verbose] [--weir BINARY] [--haproxy BINARY]

Starts HAProxy and weir with the same configuration, each before its own origins, agent and mail
server, all of which play the same script: answers get wrong, late or rare, ports close and open,
agents say this and that, an operator gives commands. After each step the states of all servers,
what `show stat` says about their checks, the log lines and the mails of both are compared.

  --list     the intended differences
  --verbose  what both have logged, step by step
  --weir     the program to compare (default: weir, built in debug mode)
  --haproxy  what to compare it with (default: haproxy of the search path)

Exit status 1 if anything differs that is not intended.
Needs haproxy; on Debian: sudo apt-get install haproxy. Without it, it says so and does nothing.
";

const FLAGS: &[args::Flag] = &[
    args::switch("--list"),
    args::switch("--verbose"),
    args::value("--weir"),
    args::value("--haproxy"),
];

/// Nothing may happen for so long before a step counts as over.
const CALM: Duration = Duration::from_millis(1_100);

/// How long a step may take.
const PATIENCE: Duration = Duration::from_secs(12);

pub(crate) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, FLAGS)?;
    if parsed.has("--list") {
        INTENDED.iter().for_each(|rule| println!("{:10} {}", rule.name, rule.about));
        return Ok(());
    }
    let Some(programs) = beside::programs(&parsed)? else { return Ok(()) };
    compare(programs, parsed.has("--verbose"))
}

/// Plays the script before both, and reports what came out differently.
fn compare([haproxy, weir]: [PathBuf; 2], verbose: bool) -> Outcome {
    let files = Files::new("health")?;
    let stages = [
        HealthTestBed::start(&files, "haproxy", &haproxy)?,
        HealthTestBed::start(&files, "weir", &weir)?,
    ];
    let (mut lines, mut mails, mut different) = (0, 0, 0);
    for step in STEPS {
        stages.iter().try_for_each(|stage| stage.play(step))?;
        let mut seen = settled(&stages)?;
        lines += seen[0].log.len();
        mails += seen[0].mails.len();
        if verbose {
            println!("{step}");
            seen[1].log.iter().for_each(|line| println!("    {line}"));
        }
        INTENDED.iter().for_each(|rule| seen.iter_mut().for_each(rule.level));
        let said = seen::difference(&seen);
        if !said.is_empty() {
            different += 1;
            println!("{step}\n{said}");
        }
    }
    println!(
        "{} steps, {lines} log lines, {mails} mails: {different} steps came out differently",
        STEPS.len()
    );
    match different {
        0 => Ok(()),
        _ => Err(failure::check(format!("{different} steps came out differently"))),
    }
}

/// The observations of both for a step, once nothing happens any more with either.
fn settled(stages: &[HealthTestBed; 2]) -> Outcome<[Seen; 2]> {
    let (start, mut calm) = (clock::now(), clock::now());
    let mut before = [stages[0].pulse()?, stages[1].pulse()?];
    while calm.elapsed() < CALM && start.elapsed() < PATIENCE {
        clock::pause(Duration::from_millis(50));
        let now = [stages[0].pulse()?, stages[1].pulse()?];
        if now != before {
            (before, calm) = (now, clock::now());
        }
    }
    Ok([stages[0].take()?, stages[1].take()?])
}

/// The names of the intended differences.
#[cfg(test)]
pub(crate) fn difference_names() -> impl Iterator<Item = &'static str> {
    INTENDED.iter().map(|it| it.name)
}
