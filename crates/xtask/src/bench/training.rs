//! The workloads of `bench compare` for a build that counts its branches.

use std::path::Path;
use std::time::Duration;

use super::files::{Files, Key};
use super::process::{self, Process};
use super::scenarios::{self, SCENARIOS, Scenario};
use super::{load, origin};
use crate::failure::{self, Outcome};
use crate::tools;

/// Where the program listens.
const PORT: u16 = 18_001;

/// Runs every workload for so many seconds through `binary`, which writes what it noted into
/// `notes` as it ends.
pub(crate) fn train(binary: &Path, notes: &Path, seconds: u32) -> Outcome {
    let files = Files::new("training")?;
    files.write(scenarios::SCRIPT_FILE, scenarios::SCRIPT)?;
    files.write_certificate("ec.pem", Key::P256)?;
    let _origin = origin::start(&files, "origin", &origin::PORTS)?;
    for (number, scenario) in SCENARIOS.iter().enumerate() {
        println!("  {} ({} of {})", scenario.name, number + 1, SCENARIOS.len());
        run(&files, binary, notes, scenario, seconds)?;
    }
    Ok(())
}

/// Fails with one line that says how to install the tools that the workloads need.
pub(crate) fn require() -> Outcome {
    let all: Vec<tools::Tool> = SCENARIOS.iter().flat_map(Scenario::tools).collect();
    tools::require(&all)
}

fn run(files: &Files, binary: &Path, notes: &Path, scenario: &Scenario, seconds: u32) -> Outcome {
    let text = scenario.configuration("weir", PORT, files.path());
    let configuration = files.write(&format!("{}.cfg", scenario.name), text)?;
    let mut command = process::pinned(0, binary);
    command.arg("-f").arg(configuration).arg("-db");
    command.env("LLVM_PROFILE_FILE", notes.join(format!("{}.profraw", scenario.name)));
    let output = files.path().join("output");
    let weir = Process::start(&command, Some(&output))?;
    if !process::wait_for_port(PORT) {
        let said = std::fs::read_to_string(&output).unwrap_or_default();
        return Err(failure::check(format!("did not start: {}", load::tail(&said, 300))));
    }
    load::run(&scenario.load(PORT, seconds))?;
    // A soft stop, because a process that a signal ends at once writes no profile.
    weir.finish("USR1", Duration::from_secs(10))
}
