//! The trial of a package: a copy of this system with a systemd of its own, in namespaces, in which the package lives.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{PackageBuild, at};
use crate::failure::{self, Outcome};
use crate::tools;

/// Makes the copy of the system and boots it; runs in namespaces of its own.
const BOOT: &str = include_str!("boot.sh");
/// The steps of the trial, as a service of the booted system.
const STEPS: &str = include_str!("trial.sh");

/// Programs that the trial needs besides the package's own.
const NEEDED: [&str; 6] = ["unshare", "script", "systemctl", "dpkg", "curl", "ip"];

/// Runs the trial; fails with the first step that does not hold.
pub(super) fn run(build: &PackageBuild, package: &Path) -> Outcome {
    for program in NEEDED {
        if tools::find(program).is_none() {
            return Err(failure::machine(format!("package --check needs `{program}`")));
        }
    }
    let directory = build.output.join("trial");
    if directory.exists() {
        at(&directory, fs::remove_dir_all(&directory))?;
    }
    at(&directory, fs::create_dir_all(directory.join("root")))?;
    for (name, text) in [("boot.sh", BOOT), ("trial.sh", STEPS)] {
        let path = directory.join(name);
        at(&path, fs::write(&path, text))?;
    }
    let copy = directory.join("weir.deb");
    at(&copy, fs::copy(package, &copy))?;
    let place = directory.display();
    let inside = format!(
        "timeout -k 5 240 unshare --mount --pid --net --cgroup --ipc --uts --fork --kill-child \
         --propagation private bash '{place}/boot.sh' '{place}'"
    );
    let mut script = Command::new("script");
    script.args(["-qefc", &inside]).arg(directory.join("console.log"));
    script.stdin(Stdio::null()).stdout(Stdio::null());
    script.status().map_err(|error| failure::machine(format!("script: {error}")))?;
    let result = directory.join("result");
    let said = fs::read_to_string(&result).unwrap_or_default();
    print!("{said}");
    match said.lines().last() {
        Some("trial: all steps hold") => Ok(()),
        Some(line) => Err(failure::check(format!("{line}; see {place}/console.log"))),
        None => Err(failure::machine(format!(
            "the system did not boot (root, overlayfs and cgroup2 are needed); see {place}/console.log"
        ))),
    }
}
