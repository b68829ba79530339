//! Processors that never halt while something is measured. A virtual processor that halts is given
//! away, and what wakes it waits until it is given back: on a shared machine with nothing else
//! running, 1 % of all sleeps of a millisecond ended more than four too late, and a tenth of one
//! with this.

use std::path::Path;

use super::process::{self, Process};
use crate::failure::Outcome;

/// The processors that benchmarks use.
const PROCESSORS: usize = 2;

/// Loops of the idle class, one for each processor; they end when this is dropped.
pub(super) struct Awake(#[expect(dead_code, reason = "kept until it is dropped")] Vec<Process>);

impl Awake {
    pub(super) fn start() -> Outcome<Self> {
        let busy = |processor| {
            let mut command = process::pinned(processor, Path::new("chrt"));
            command.args(["--idle", "0", "sh", "-c", "while :; do :; done"]);
            Process::start(&command, None)
        };
        (0..PROCESSORS).map(busy).collect::<Outcome<_>>().map(Self)
    }
}
