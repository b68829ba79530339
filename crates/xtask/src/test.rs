//! `cargo xtask test`: formatting, house checks, lints and every test of the workspace.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::failure::{self, Outcome};
use crate::steps::{self, Steps};
use crate::{args, compat, manual, pins, tidy, tools, unstable, workspace};

pub(crate) const HELP: &str = "\
usage: cargo xtask test

Runs everything that a change must pass, and stops at the first failure:
  1. prerequisites   a C compiler, rustfmt and clippy (the last two are added by rustup when missing)
  2. cargo fmt --check
  3. cargo xtask tidy
  4. cargo clippy --workspace --all-targets -- -D warnings
  5. cargo test --workspace  (up to three tests that fail run once more, alone; those that pass
                     then are named as unstable)
  6. cargo xtask compat --check
  7. cargo xtask manual --check
  8. cargo xtask pins  (skipped where the registry is not in reach)
";

pub(crate) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, &[])?;
    if let Some(word) = parsed.rest.first() {
        return Err(failure::usage(format!("test takes no argument, not `{word}`")));
    }
    let root = workspace::root()?;
    let mut steps = Steps::new(8);
    steps.step("prerequisites", || prerequisites(&root))?;
    steps.step("cargo fmt --check", || cargo(&root, &["fmt", "--all", "--check"]))?;
    steps.step("cargo xtask tidy", || tidy::check_tree(&root))?;
    steps.step("cargo clippy", || {
        cargo(
            &root,
            &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"],
        )
    })?;
    steps.step("cargo test", || unstable::run_tests(&root))?;
    steps.step("cargo xtask compat --check", || compat::run(&["--check".to_owned()]))?;
    steps.step("cargo xtask manual --check", || manual::run(&["--check".to_owned()]))?;
    steps.step("cargo xtask pins", || pins::check(&root))?;
    steps.finish();
    Ok(())
}

fn cargo(root: &Path, arguments: &[&str]) -> Outcome {
    let what = format!("cargo {}", arguments.join(" "));
    steps::run(&what, &mut workspace::cargo(root, arguments))
}

fn prerequisites(root: &Path) -> Outcome {
    if tools::find("cc").is_none() {
        return Err(failure::machine("missing a C compiler; on Debian: sudo apt-get install gcc"));
    }
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if !answers(&mut workspace::cargo(root, &[subcommand, "--version"])) {
            println!("adding the toolchain component {component}");
            let mut rustup = Command::new("rustup");
            steps::run("rustup", rustup.current_dir(root).args(["component", "add", component]))?;
        }
    }
    Ok(())
}

fn answers(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
