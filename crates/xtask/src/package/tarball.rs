//! The tarball: the same files as those of the package, for systems without dpkg.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::{PackageBuild, at, contents};
use crate::failure::Outcome;
use crate::steps;

/// Builds the tarball; returns its path. `tar -C / --strip-components=1 -xf` installs it.
pub(super) fn build(build: &PackageBuild) -> Outcome<PathBuf> {
    let name = format!("weir-{}-linux-{}", build.version, build.architecture);
    let tree = build.output.join(&name);
    if tree.exists() {
        at(&tree, fs::remove_dir_all(&tree))?;
    }
    contents::write(build, &tree)?;
    let archive = build.output.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "-I", "gzip -9n"]);
    tar.arg(format!("--mtime=@{}", build.time)).arg("-C").arg(&build.output).arg("-cf");
    steps::run("tar", tar.arg(&archive).arg(&name))?;
    at(&tree, fs::remove_dir_all(&tree))?;
    Ok(archive)
}
