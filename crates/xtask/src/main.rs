//! The workshop entrance: tests, house checks, benchmarks.
#![forbid(unsafe_code)]

mod args;
mod bench;
mod beside;
mod ci;
mod clients;
mod clock;
mod compat;
mod console;
mod differ;
#[cfg(test)]
mod differences;
mod failure;
mod h3_load;
mod health;
mod manual;
mod mutation;
mod package;
mod pgo;
mod pins;
mod regress;
mod soak;
mod steps;
mod test;
mod testssl;
mod tidy;
mod tools;
mod unstable;
mod workspace;

use std::process::ExitCode;

use failure::Outcome;

/// One subcommand: its name, its line of the overview, and its function.
struct Command {
    name: &'static str,
    summary: &'static str,
    help: &'static str,
    run: fn(&[String]) -> Outcome,
}

/// Every subcommand, in the order of the overview.
const COMMANDS: &[Command] = &[
    Command {
        name: "test",
        summary: "every test and house check",
        help: test::HELP,
        run: test::run,
    },
    Command { name: "tidy", summary: "the house checks itself", help: tidy::HELP, run: tidy::run },
    Command {
        name: "bench",
        summary: "measure beside HAProxy",
        help: bench::HELP,
        run: bench::run,
    },
    Command {
        name: h3_load::NAME,
        summary: "a load of HTTP/3",
        help: h3_load::HELP,
        run: h3_load::run,
    },
    Command {
        name: "pgo",
        summary: "a release build trained on workloads",
        help: pgo::HELP,
        run: pgo::run,
    },
    Command {
        name: "package",
        summary: "a Debian package and a tarball, and their trial",
        help: package::HELP,
        run: package::run,
    },
    Command {
        name: "regress",
        summary: "run HAProxy's public regression suite",
        help: regress::HELP,
        run: regress::run,
    },
    Command {
        name: "compat",
        summary: "which names of HAProxy 2.7 work",
        help: compat::HELP,
        run: compat::run,
    },
    Command {
        name: "manual",
        summary: "the manual of the configuration, from the program's tables",
        help: manual::HELP,
        run: manual::run,
    },
    Command {
        name: "pins",
        summary: "whether libraries in C are the newest of their lines",
        help: pins::HELP,
        run: pins::run,
    },
    Command {
        name: "differ",
        summary: "the same exchanges through HAProxy and weir",
        help: differ::HELP,
        run: differ::run,
    },
    Command {
        name: "soak",
        summary: "tests that take minutes, on inputs never seen",
        help: soak::HELP,
        run: soak::run,
    },
    Command {
        name: "console",
        summary: "the same commands to HAProxy and weir",
        help: console::HELP,
        run: console::run,
    },
    Command {
        name: "health",
        summary: "the same troubles of servers before both",
        help: health::HELP,
        run: health::run,
    },
    Command {
        name: "clients",
        summary: "TLS clients of several libraries before weir",
        help: clients::HELP,
        run: clients::run,
    },
    Command {
        name: "testssl",
        summary: "what testssl.sh finds at HAProxy and weir",
        help: testssl::HELP,
        run: testssl::run,
    },
    Command { name: "ci", summary: "what .ci/run calls", help: ci::HELP, run: ci::run },
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::from(failure.exit_status())
        }
    }
}

fn dispatch(words: &[String]) -> Outcome {
    let Some(name) = words.first() else {
        println!("{}", overview());
        return Ok(());
    };
    if matches!(name.as_str(), "-h" | "--help" | "help") {
        println!("{}", overview());
        return Ok(());
    }
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        return Err(failure::usage(format!("unknown command `{name}`\n{}", overview())));
    };
    let arguments = words.get(1..).unwrap_or_default();
    if arguments.iter().any(|word| matches!(word.as_str(), "-h" | "--help")) {
        println!("{}", command.help.trim_end());
        return Ok(());
    }
    (command.run)(arguments)
}

fn overview() -> String {
    let mut text = String::from("usage: cargo xtask COMMAND [--help]\n");
    for command in COMMANDS {
        text.push_str(&format!("\n  {:8} {}", command.name, command.summary));
    }
    text
}
