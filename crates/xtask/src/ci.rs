//! `cargo xtask ci`: what the continuous integration adds to `cargo xtask test`.

use crate::failure::{self, Outcome};
use crate::steps::{self, Steps};
use crate::{args, differ, tools, workspace};

pub(crate) const HELP: &str = "\
usage: cargo xtask ci

What `.ci/run` calls after `cargo xtask test`: the program itself checks the configuration of the
README's first command. Where there is a haproxy, 100 exchanges go through both and are compared.
";

/// Exchanges that are compared: half a minute would be too long here.
const EXCHANGES: &str = "100";

pub(crate) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, &[])?;
    if let Some(word) = parsed.rest.first() {
        return Err(failure::usage(format!("ci takes no argument, not `{word}`")));
    }
    let root = workspace::root()?;
    let mut steps = Steps::new(2);
    steps.step("weir -c -f examples/quickstart.cfg", || {
        let check = ["run", "--quiet", "--locked", "--", "-c", "-f", "examples/quickstart.cfg"];
        steps::run("weir -c -f examples/quickstart.cfg", &mut workspace::cargo(&root, &check))
    })?;
    steps.step("cargo xtask differ", compare)?;
    steps.finish();
    Ok(())
}

fn compare() -> Outcome {
    if tools::find(tools::HAPROXY.program).is_none() {
        println!("skipped: there is no haproxy to compare with");
        return Ok(());
    }
    differ::run(&["-n", EXCHANGES].map(str::to_owned))
}
