//! `cargo xtask package`: a Debian package and a tarball of the program, and their trial under a booted system.

mod components;
mod contents;
mod deb;
mod tarball;
mod trial;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::{self, Outcome};
use crate::{args, tools, workspace};

pub(crate) const HELP: &str = "\
usage: cargo xtask package [--check] [--program BINARY] [--output DIRECTORY]

Builds a Debian package and a tarball of a program that is already built, with the service, its configuration, man
pages, completions, rules for logrotate, rsyslog and AppArmor (contrib/debian), a bill of materials (CycloneDX) and the
licences of all crates. The same program gives the same bytes. Needs dpkg-deb, gzip and tar.

  --program BINARY    the program (default: that of `cargo xtask pgo`, else target/release/weir)
  --output DIRECTORY  where the files go (default: target/package)
  --check             installs the package into a copy of this system, below a systemd of its own; starts, reloads
                      under load, upgrades and removes it, and looks for what is left behind. Also serves Debian's
                      haproxy.service and haproxy.cfg with the program replaced. Needs root, systemd and haproxy;
                      nothing of the running system is changed
";

/// One run: the program, the version numbers of the files, and their directory.
struct PackageBuild {
    root: PathBuf,
    program: PathBuf,
    output: PathBuf,
    version: &'static str,
    architecture: String,
    /// Seconds since the epoch that files bear: those of the last commit.
    time: String,
}

pub(crate) fn run(words: &[String]) -> Outcome {
    let flags = [args::switch("--check"), args::value("--program"), args::value("--output")];
    let parsed = args::parse(words, &flags)?;
    if let Some(word) = parsed.rest.first() {
        return Err(failure::usage(format!("package takes no argument, not `{word}`")));
    }
    let root = workspace::root()?;
    let program = match parsed.value("--program") {
        Some(name) => tools::resolve(name)?,
        None => built(&root)?,
    };
    let output = parsed.value("--output").map_or(root.join("target/package"), PathBuf::from);
    let architecture = text_of(Command::new("dpkg").arg("--print-architecture"))?;
    let time = text_of(Command::new("git").current_dir(&root).args(["log", "-1", "--format=%ct"]))?;
    let version = env!("CARGO_PKG_VERSION");
    let build = PackageBuild { root, program, output, version, architecture, time };
    let package = deb::build(&build)?;
    println!("{}", package.display());
    println!("{}", tarball::build(&build)?.display());
    if parsed.has("--check") { trial::run(&build, &package) } else { Ok(()) }
}

/// The program that is shipped: the trained build, else the plain release build.
fn built(root: &Path) -> Outcome<PathBuf> {
    let places = ["target/pgo/release/weir", "target/release/weir"].map(|place| root.join(place));
    places.into_iter().find(|path| path.is_file()).ok_or_else(|| {
        failure::usage(
            "there is no release build: run `cargo xtask pgo` or `cargo build --release`, or name a program with --program",
        )
    })
}

/// The output of a command, without its last line end.
fn text_of(command: &mut Command) -> Outcome<String> {
    Ok(String::from_utf8_lossy(&bytes_of(command)?).trim_end().to_owned())
}

/// The output of a command.
fn bytes_of(command: &mut Command) -> Outcome<Vec<u8>> {
    let shown = format!("{command:?}");
    let output = command.stderr(Stdio::inherit()).output();
    let output =
        output.map_err(|error| failure::machine(format!("cannot run {shown}: {error}")))?;
    if !output.status.success() {
        return Err(failure::check(format!("{shown}: {}", output.status)));
    }
    Ok(output.stdout)
}

/// Turns an error of the file system into a failure that names the file.
fn at<T>(path: &Path, result: std::io::Result<T>) -> Outcome<T> {
    result.map_err(|error| failure::machine(format!("{}: {error}", path.display())))
}
