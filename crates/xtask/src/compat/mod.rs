//! `cargo xtask compat`: which names of HAProxy 2.7 work. Asks the program and writes the answer down;
//! never decides one by itself.

mod areas;
mod binaries;
mod evidence;
mod links;
mod probe;
mod prove;
mod report;
mod running;
mod table;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{self, Outcome};
use crate::{args, tools, workspace};
use links::Links;
use probe::Verdict;
use table::Name;

pub(crate) const HELP: &str = "\
usage: cargo xtask compat [--check | --prove | --propose] [--program BINARY] [CLASS | CLASS/NAME]...

Compares the names of HAProxy 2.7 (docs/compat/keywords-2.7.tsv) with what weir says to each of them,
and writes docs/compat.md: how many work by class, and the list of those that do not, with the reason.

  --check           only say whether docs/compat.md is up to date, and whether every name that works is
                    linked to a test that would fail if the name were ignored (docs/compat/tests.tsv)
  --prove           run each linked test (of these classes or names, or all) with its name ignored, in a copy of the
                    source that can do that (crates/xtask/mutation), and name those that still pass; takes minutes
  --propose         look for such a test for every name (of these classes or names, or all) in
                    docs/compat/untested.txt, and add those that are found to docs/compat/tests.tsv
  --program BINARY  the program to ask (default: weir, built in debug mode)

Exit status 1 if the page is out of date with --check, if the program has never heard of a name, or if
a name and its test do not fit together.
";

/// The page below the root.
const PAGE: &str = "docs/compat.md";

/// Predicates of conditions, which open a block when probed.
const PREDICATES: [&str; 9] = [
    "defined",
    "feature",
    "streq",
    "strneq",
    "version_atleast",
    "version_before",
    "openssl_version_atleast",
    "openssl_version_before",
    "ssllib_name_startswith",
];

pub(crate) fn run(words: &[String]) -> Outcome {
    let switches = ["--check", "--prove", "--propose"].map(args::switch);
    let [check, prove, propose] = switches;
    let parsed = args::parse(words, &[check, prove, propose, args::value("--program")])?;
    let root = workspace::root()?;
    let mut links = Links::read(&root)?;
    if parsed.has("--prove") {
        return prove::prove(&root, &links, &parsed.rest);
    }
    if parsed.has("--propose") {
        return prove::propose(&root, &mut links, &parsed.rest);
    }
    let program = match parsed.value("--program") {
        Some(name) => tools::resolve(name)?,
        None => workspace::debug_binary(&root)?,
    };
    let text = read(&root.join(table::PATH))?;
    let names = table::parse(&text);
    let verdicts = ask(&root, &program, &names, &links)?;
    let page = report::render(&names, &verdicts, &links);
    let path = root.join(PAGE);
    let unknown = verdicts.iter().filter(|v| matches!(v, Verdict::Unknown(_) | Verdict::Untold));
    let unknown = unknown.count();
    if !parsed.has("--check") {
        std::fs::write(&path, &page)
            .map_err(|error| failure::machine(format!("{}: {error}", path.display())))?;
        println!("wrote {PAGE}");
    } else if read(&path)? != page {
        return Err(failure::check(format!("{PAGE} is out of date: run `cargo xtask compat`")));
    }
    if unknown > 0 {
        return Err(failure::check(format!("{unknown} names are unknown to weir, see {PAGE}")));
    }
    match links.faults(&root, &names, &verdicts) {
        faults if faults.is_empty() => Ok(()),
        faults => Err(failure::check(format!("names and their tests:\n{}", faults.join("\n")))),
    }
}

fn read(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path)
        .map_err(|error| failure::machine(format!("{}: {error}", path.display())))
}

/// Asks the program for every name.
fn ask(root: &Path, program: &Path, names: &[Name], links: &Links) -> Outcome<Vec<Verdict>> {
    let directory = scratch()?;
    let probe = probe::build(names);
    let file = directory.join("probe.cfg");
    let io = |error: std::io::Error| failure::machine(error.to_string());
    std::fs::write(&file, &probe.text).map_err(io)?;
    let output =
        Command::new(program).args(["-V", "-c", "-dD", "-f"]).arg(&file).output().map_err(io)?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let facts = running::ask(program, &directory, names)?;
    // Nothing is lost if it stays behind.
    let _ = std::fs::remove_dir_all(&directory);
    let areas = areas::Areas::parse(&read(&root.join(areas::PATH))?);
    let told = probe::verdicts(&probe, names, &said);
    Ok(names
        .iter()
        .zip(told)
        .map(|(name, verdict)| match facts.verdict(name, links).unwrap_or(verdict) {
            Verdict::Waits(area) if area.is_empty() => {
                Verdict::Waits(areas.of(&name.class, &name.name).unwrap_or_default().to_owned())
            }
            verdict => verdict,
        })
        .collect())
}

fn scratch() -> Outcome<PathBuf> {
    let directory = std::env::temp_dir().join(format!("weir-compat-{}", std::process::id()));
    std::fs::create_dir_all(&directory).map_err(|error| failure::machine(error.to_string()))?;
    Ok(directory)
}
