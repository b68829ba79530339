//! `cargo xtask soak`: tests that take minutes and cover other cases in each run.

use std::path::Path;
use std::process::Command;

use crate::failure::{self, Outcome};
use crate::steps::{self, Steps};
use crate::{args, clock, compat, differ, package, tools, workspace};

pub(crate) const HELP: &str = "\
usage: cargo xtask soak [--times N] [--from N] [--only PART[,PART]]

The tests that are too long for every change, on inputs that no run before has seen:
  day       a day of virtual time: clients, origins and a network that fail in every way they can,
            1,000 seeds (crates/sim/tests/faults.rs)
  peers     five processes that share a table while connections are lost, 1,000 seeds
            (crates/sim/tests/peers.rs)
  group     two HAProxies and one Weir that share tables under load for ten minutes, while each is
            restarted and reloaded (needs Debian's haproxy)
  quic      clients of HTTP/3 in networks that lose, reorder and limit datagrams, 10,000 seeds
            (crates/sim/tests/quic.rs)
  reloads   20 reloads under 200 connections of HTTP/3 with requests and uploads
            (crates/acceptance/tests/process/http3_reload.rs)
  fuzz      the fuzz targets as properties: 20,000 changed seeds and pieces of noise each
            (crates/parser-properties)
  property  the property tests of all other crates, 2,000 cases each
  differ    2,000 exchanges through HAProxy and weir, compared (needs Debian's haproxy)
  package   the Debian package, from installation to removal, under a booted systemd (needs root)
  prove     every name that works, accepted and ignored: its test has to fail (cargo xtask compat)

  --times  so many times as much (1)
  --from   where the seeds of `day`, `peers`, `quic` and `differ` begin; a failure names its own
           (default: the date, in minutes)
  --only   some of the parts

Stops at the first failure. All together take about forty minutes on two processors.
";

const FLAGS: &[args::Flag] =
    &[args::value("--times"), args::value("--from"), args::value("--only")];

/// The amount of each part, and the first seed.
struct Amount {
    times: u32,
    from: u32,
}

/// One part of the soak: its name and its function.
type Part = (&'static str, fn(&Path, &Amount) -> Outcome);

const PARTS: &[Part] = &[
    ("day", |root, amount| simulated("faults", 1_000, root, amount)),
    ("peers", |root, amount| simulated("peers", 1_000, root, amount)),
    ("group", group),
    ("quic", |root, amount| simulated("quic", 10_000, root, amount)),
    ("reloads", |root, _| reloads(root)),
    ("fuzz", fuzz),
    ("property", property),
    ("differ", compare),
    ("package", package),
    ("prove", |_, _| compat::run(&["--prove".to_owned()])),
];

pub(crate) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, FLAGS)?;
    if let Some(word) = parsed.rest.first() {
        return Err(failure::usage(format!("soak takes no argument, not `{word}`")));
    }
    let from = parsed.number("--from", clock::minutes_since_1970())?;
    let amount = Amount { times: parsed.number("--times", 1)?, from };
    let parts = chosen(parsed.value("--only"))?;
    let root = workspace::root()?;
    println!("seeds from {from} on");
    let mut steps = Steps::new(parts.len());
    for (name, work) in parts {
        steps.step(name, || work(&root, &amount))?;
    }
    steps.finish();
    Ok(())
}

/// The parts asked for, in their own order; all of them unless some are named.
fn chosen(only: Option<&str>) -> Outcome<Vec<&'static Part>> {
    let Some(only) = only else { return Ok(PARTS.iter().collect()) };
    let names: Vec<&str> = only.split(',').collect();
    if let Some(odd) = names.iter().find(|name| PARTS.iter().all(|(known, _)| known != *name)) {
        return Err(failure::usage(format!("no part `{odd}` (try --help)")));
    }
    Ok(PARTS.iter().filter(|(name, _)| names.contains(name)).collect())
}

/// The amount times the number for one unit.
fn scaled(amount: &Amount, once: u32) -> String {
    once.saturating_mul(amount.times).to_string()
}

/// The long form of a test of the crate `sim`, with so many seeds.
fn simulated(name: &str, seeds: u32, root: &Path, amount: &Amount) -> Outcome {
    let test = ["test", "--quiet", "--package", "sim", "--test", name, "--", "--ignored"];
    cargo(root, &test, |command| {
        command.env("WEIR_SOAK_SEEDS", scaled(amount, seeds));
        command.env("WEIR_SOAK_FROM", amount.from.to_string());
    })
}

/// The ignored process test of a group of peers.
fn group(root: &Path, amount: &Amount) -> Outcome {
    let test = ["test", "--quiet", "--package", "acceptance", "peers::soak", "--", "--ignored"];
    cargo(root, &test, |command| {
        command.env("WEIR_SOAK_SECONDS", scaled(amount, 600));
    })
}

/// The ignored process test of reloads under load.
fn reloads(root: &Path) -> Outcome {
    let name = "http3_reload::twenty_reloads_with_two_hundred_connections_lose_nothing";
    let test = ["test", "--quiet", "--package", "acceptance", "--", "--ignored", "--exact", name];
    cargo(root, &test, |_| {})
}

fn fuzz(root: &Path, amount: &Amount) -> Outcome {
    cargo(root, &["test", "--quiet", "--package", "parser-properties"], |command| {
        command.env("PROPTEST_CASES", scaled(amount, 20_000));
    })
}

fn property(root: &Path, amount: &Amount) -> Outcome {
    let test =
        ["test", "--quiet", "--workspace", "--exclude", "parser-properties", "--exclude", "xtask"];
    cargo(root, &test, |command| {
        command.env("PROPTEST_CASES", scaled(amount, 2_000));
    })
}

fn compare(_: &Path, amount: &Amount) -> Outcome {
    if tools::find(tools::HAPROXY.program).is_none() {
        println!("skipped: there is no haproxy; on Debian: sudo apt-get install haproxy");
        return Ok(());
    }
    let words = ["-n", &scaled(amount, 2_000), "--seed", &amount.from.to_string()];
    differ::run(&words.map(str::to_owned))
}

fn package(root: &Path, _: &Amount) -> Outcome {
    let program = workspace::debug_binary(root)?;
    package::run(&["--check", "--program", &program.display().to_string()].map(str::to_owned))
}

fn cargo(root: &Path, arguments: &[&str], set: impl FnOnce(&mut Command)) -> Outcome {
    let mut command = workspace::cargo(root, arguments);
    set(&mut command);
    steps::run(&format!("cargo {}", arguments.join(" ")), &mut command)
}

#[cfg(test)]
mod tests {
    //! Which parts run, and how much.
    use super::*;

    #[test]
    fn parts_can_be_chosen() {
        let names = |only| -> Outcome<Vec<&str>> {
            Ok(chosen(only)?.into_iter().map(|(name, _)| *name).collect())
        };
        let all = [
            "day", "peers", "group", "quic", "reloads", "fuzz", "property", "differ", "package",
            "prove",
        ];
        assert_eq!(names(None).unwrap(), all);
        assert_eq!(names(Some("differ,day")).unwrap(), ["day", "differ"]);
        assert!(names(Some("day,night")).is_err());
    }

    #[test]
    fn amounts_grow() {
        assert_eq!(scaled(&Amount { times: 3, from: 0 }, 1_000), "3000");
        assert_eq!(scaled(&Amount { times: u32::MAX, from: 0 }, 2), u32::MAX.to_string());
    }
}
