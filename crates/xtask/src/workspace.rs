//! Where the workspace is and how its cargo is called.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{self, Outcome};

/// The root directory of the workspace: the nearest directory above the package (as cargo tells)
/// or above the current directory whose `Cargo.toml` has a `[workspace]`.
pub(crate) fn root() -> Outcome<PathBuf> {
    let start = match std::env::var_os("CARGO_MANIFEST_DIR") {
        Some(package) => PathBuf::from(package),
        None => std::env::current_dir()
            .map_err(|error| failure::machine(format!("no current directory: {error}")))?,
    };
    start
        .ancestors()
        .find(|directory| is_root(directory))
        .map(Path::to_path_buf)
        .ok_or_else(|| failure::machine(format!("no workspace above {}", start.display())))
}

fn is_root(directory: &Path) -> bool {
    std::fs::read_to_string(directory.join("Cargo.toml"))
        .is_ok_and(|text| text.lines().any(|line| line == "[workspace]"))
}

/// A cargo command that runs in `root`, with the cargo that started this program.
pub(crate) fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root).args(arguments);
    command
}

/// The debug build of `weir`, built now.
pub(crate) fn debug_binary(root: &Path) -> Outcome<PathBuf> {
    let status = cargo(root, &["build", "--package", "weir"])
        .status()
        .map_err(|error| failure::machine(format!("cannot run cargo: {error}")))?;
    if !status.success() {
        return Err(failure::check("weir does not build"));
    }
    Ok(target(root).join("debug").join("weir"))
}

/// The release build of `weir`, built now.
pub(crate) fn release_binary(root: &Path) -> Outcome<PathBuf> {
    build(root, "weir", &["--package", "weir"])?;
    Ok(release(root).join("weir"))
}

/// The release build of an example of a package, built now.
pub(crate) fn release_example(root: &Path, package: &str, name: &str) -> Outcome<PathBuf> {
    build(root, name, &["--package", package, "--example", name])?;
    Ok(release(root).join("examples").join(name))
}

fn build(root: &Path, name: &str, what: &[&str]) -> Outcome {
    println!("building {name} with --release");
    let status = cargo(root, &["build", "--release"])
        .args(what)
        .status()
        .map_err(|error| failure::machine(format!("cannot run cargo: {error}")))?;
    match status.success() {
        true => Ok(()),
        false => Err(failure::check(format!("{name} does not build"))),
    }
}

/// Where release builds go.
fn release(root: &Path) -> PathBuf {
    target(root).join("release")
}

/// Where all builds go.
pub(crate) fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}
