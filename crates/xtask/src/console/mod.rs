//! `cargo xtask console`: the same commands on the runtime sockets of HAProxy and of Weir, side by
//! side.

mod commands;
mod intended;
mod shape;
mod stage;

use std::path::PathBuf;

use crate::bench::files::Files;
use crate::failure::{self, Outcome};
use crate::{args, beside};
use commands::COMMANDS;
use intended::RULES;
use stage::ConsoleTestBed;

pub(crate) const HELP: &str = "\
usage: cargo xtask console [--only TEXT] [--list] [--weir BINARY] [--haproxy BINARY]

Starts HAProxy and weir with the same configuration, sends the same requests through both, gives
both the same commands on their runtime sockets, and compares the shapes of the answers: lines,
fields and their order, names, units, messages. Numbers, addresses and dates may differ.

  --only     commands that contain a text
  --list     the intended differences, which docs/runtime.md explains
  --weir     the program to compare (default: weir, built in debug mode)
  --haproxy  what to compare it with (default: haproxy of the search path)

Exit status 1 if an answer has another shape and no intended difference explains it.
Needs haproxy; on Debian: sudo apt-get install haproxy. Without it, it says so and does nothing.
";

const FLAGS: &[args::Flag] = &[
    args::value("--only"),
    args::value("--weir"),
    args::value("--haproxy"),
    args::switch("--list"),
];

pub(crate) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, FLAGS)?;
    if parsed.has("--list") {
        RULES.iter().for_each(|rule| println!("{:12} {}", rule.name, rule.about));
        return Ok(());
    }
    let Some(programs) = beside::programs(&parsed)? else { return Ok(()) };
    compare(programs, parsed.value("--only").unwrap_or(""))
}

/// Sends all commands to both, and reports different answers.
fn compare([haproxy, weir]: [PathBuf; 2], only: &str) -> Outcome {
    let files = Files::new("console")?;
    let stages = [
        ConsoleTestBed::start(&files, "haproxy", &haproxy)?,
        ConsoleTestBed::start(&files, "weir", &weir)?,
    ];
    stages.iter().try_for_each(ConsoleTestBed::play)?;
    let (mut asked, mut different) = (0, 0);
    let mut explained = vec![0; RULES.len()];
    for command in COMMANDS.iter().filter(|command| command.contains(only)) {
        asked += 1;
        let answers = [stages[0].ask(command)?, stages[1].ask(command)?];
        let mut shapes = [0, 1].map(|side| shape::of(&answers[side], &stages[side].own()));
        for (rule, count) in RULES.iter().zip(&mut explained) {
            let before = shapes.clone();
            if (rule.applies)(command) {
                (rule.level)(&mut shapes);
            }
            *count += usize::from(before != shapes);
        }
        if shapes[0] != shapes[1] {
            different += 1;
            println!("{command}\n{}", shape::difference(&shapes));
        }
    }
    println!("{asked} commands, {different} have answers of another shape");
    for (rule, count) in RULES.iter().zip(explained).filter(|(_, count)| *count > 0) {
        println!("  {count:4} intended: {}", rule.name);
    }
    match different {
        0 => Ok(()),
        _ => Err(failure::check(format!("{different} differences are not intended"))),
    }
}

/// The names of the intended differences.
#[cfg(test)]
pub(crate) fn difference_names() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|it| it.name)
}
