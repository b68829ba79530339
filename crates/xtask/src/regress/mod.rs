//! `cargo xtask regress`: runs a checkout of HAProxy's public regression suite against a binary.

mod gate;
mod probe;
mod report;
mod runner;
mod suite;

use std::path::PathBuf;

use crate::args::{self, Parsed};
use crate::failure::{self, Outcome};
use crate::{tools, workspace};
use gate::GateVerdict;
use report::Report;
use suite::Suite;

pub(crate) const HELP: &str = "\
usage: cargo xtask regress PATH [-j N] [--only PATTERN] [--list] [--program BINARY]
                          [--types LIST] [--keep]

Runs the tests (*.vtc) of a checkout of HAProxy's public regression suite with varnishtest, selects
them by their own tags as the suite's script does, and prints who passed, failed and was skipped.
PATH is the checkout, or its directory reg-tests.

  -j N              so many tests at once (default: the number of processors)
  --only PATTERN    only tests whose path contains PATTERN (several, separated by commas)
  --list            print which tests would run and which not, with the reason
  --program BINARY  the binary under test (default: weir, built with --release)
  --types LIST      test types to run (default: default,bug,devel,slow)
  --keep            keep the directories of failed tests and say where they are

Exit status 1 if a test failed. Needs varnishtest and socat (Debian: varnish, socat).
";

const FLAGS: &[args::Flag] = &[
    args::value("-j"),
    args::value("--only"),
    args::switch("--list"),
    args::value("--program"),
    args::value("--types"),
    args::switch("--keep"),
];

pub(crate) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, FLAGS)?;
    let [path] = parsed.rest.as_slice() else {
        return Err(failure::usage("regress wants one PATH (try --help)"));
    };
    tools::require(&[tools::VARNISHTEST, tools::SOCAT])?;
    let suite = Suite::open(&PathBuf::from(path))?;
    let program = program(&parsed)?;
    let facts = probe::facts(&program)?;
    println!("{}: version {}, target {}", program.display(), facts.version, facts.target);
    let types = parsed.value("--types").unwrap_or("default,bug,devel,slow");
    let only: Vec<&str> = parsed.value("--only").map_or(vec![], |text| text.split(',').collect());
    let mut report = Report::default();
    let mut chosen = Vec::new();
    for test in suite.tests()? {
        if !only.is_empty() && !only.iter().any(|pattern| test.path.contains(pattern)) {
            continue;
        }
        match gate::verdict(&test.tags, &facts, types) {
            GateVerdict::Run => chosen.push(test.path),
            GateVerdict::Skip(reason) => report.gated.push((test.path, reason)),
        }
    }
    if parsed.has("--list") {
        report.print_selection(&chosen);
        return Ok(());
    }
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
    let jobs = parsed.number("-j", u32::try_from(processors).unwrap_or(1))?;
    let setting = runner::Setting::new(&suite, &program, parsed.has("--keep"))?;
    runner::run(&setting, &chosen, jobs, &mut report)?;
    report.print();
    report.outcome()
}

fn program(parsed: &Parsed) -> Outcome<PathBuf> {
    match parsed.value("--program") {
        Some(name) => tools::resolve(name),
        None => workspace::release_binary(&workspace::root()?),
    }
}
