//! The Debian package: the files, their checksums, the control file and the scripts of its life.

use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{PackageBuild, at, contents, text_of};
use crate::failure::Outcome;
use crate::steps;

/// Scripts that dpkg runs.
const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];

/// Builds the package; returns its path.
pub(super) fn build(build: &PackageBuild) -> Outcome<PathBuf> {
    let tree = build.output.join("deb");
    if tree.exists() {
        at(&tree, fs::remove_dir_all(&tree))?;
    }
    let control = tree.join("DEBIAN");
    at(&control, fs::create_dir_all(&control))?;
    let bytes = contents::write(build, &tree)?;
    let sums = text_of(Command::new("sh").current_dir(&tree).args([
        "-c",
        "find . -path ./DEBIAN -prune -o -type f -printf '%P\\n' | LC_ALL=C sort | xargs md5sum",
    ]))?;
    put(&control.join("md5sums"), &format!("{sums}\n"), 0o644)?;
    put(&control.join("control"), &describe(build, bytes)?, 0o644)?;
    let list = contents::configuration_files().fold(String::new(), |mut list, path| {
        // Writing to a string cannot fail.
        let _ = writeln!(list, "{path}");
        list
    });
    put(&control.join("conffiles"), &list, 0o644)?;
    for script in SCRIPTS {
        let source = build.root.join("contrib/debian").join(script);
        put(&control.join(script), &at(&source, fs::read_to_string(&source))?, 0o755)?;
    }
    let name = format!("weir_{}-1_{}.deb", build.version, build.architecture);
    let package = build.output.join(name);
    let mut dpkg = Command::new("dpkg-deb");
    dpkg.env("SOURCE_DATE_EPOCH", &build.time).args(["--root-owner-group", "-Zxz", "--build"]);
    steps::run("dpkg-deb", dpkg.arg(&tree).arg(&package))?;
    at(&tree, fs::remove_dir_all(&tree))?;
    Ok(package)
}

/// The control file; the installed size is in KiB.
fn describe(build: &PackageBuild, bytes: u64) -> Outcome<String> {
    let source = build.root.join("contrib/debian/control");
    let text = at(&source, fs::read_to_string(&source))?;
    let text = text.replace("@VERSION@", &format!("{}-1", build.version));
    let text = text.replace("@ARCHITECTURE@", &build.architecture);
    Ok(text.replace("@SIZE@", &bytes.div_ceil(1024).to_string()))
}

fn put(path: &Path, text: &str, mode: u32) -> Outcome {
    at(path, fs::write(path, text))?;
    at(path, fs::set_permissions(path, Permissions::from_mode(mode)))
}
