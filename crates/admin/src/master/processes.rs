//! `show proc`: running processes, their start, and the reloads that they have seen.

use super::Supervisor;
use std::fmt::Write as _;

/// The kind of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProcessKind {
    /// The master.
    Master,
    /// A worker: it serves clients.
    Worker,
    /// A program of a `program` section.
    Program,
}

/// A process that the master looks after, or the master itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its kind.
    pub kind: ProcessKind,
    /// The name of a program.
    pub name: String,
    /// Reloads since it was started; failed ones count.
    pub reloads: u32,
    /// When it was started, in seconds since 1970.
    pub started: u64,
    /// Its version; that of a program is not known.
    pub version: String,
    /// Whether another process has replaced it, so that it ends soon.
    pub leaving: bool,
}

/// The whole answer.
pub(super) fn show(supervisor: &dyn Supervisor) -> String {
    let now = supervisor.now();
    let all = supervisor.processes();
    let mut out = String::new();
    line(&mut out, ["#<PID>", "<type>", "<reloads>", "<uptime>", "<version>"]);
    let mut rows = |title: &str, kind: ProcessKind, leaving: bool, always: bool| {
        let of = |it: &&Process| it.kind == kind && it.leaving == leaving;
        if always || all.iter().any(|it| of(&it)) {
            out.push_str(title);
            all.iter().filter(of).for_each(|it| row(&mut out, it, supervisor, now));
        }
    };
    rows("", ProcessKind::Master, false, true);
    rows("# workers\n", ProcessKind::Worker, false, true);
    rows("# old workers\n", ProcessKind::Worker, true, false);
    rows("# programs\n", ProcessKind::Program, false, true);
    rows("# old programs\n", ProcessKind::Program, true, false);
    out
}

fn row(out: &mut String, process: &Process, supervisor: &dyn Supervisor, now: u64) {
    let reloads = match process.kind {
        ProcessKind::Master => {
            format!("{} [failed: {}]", process.reloads, supervisor.failed_reloads())
        }
        _ => process.reloads.to_string(),
    };
    let (name, version) = match process.kind {
        ProcessKind::Master => ("master", &*process.version),
        ProcessKind::Worker => ("worker", &*process.version),
        ProcessKind::Program => (&*process.name, "-"),
    };
    let uptime = uptime(now.saturating_sub(process.started));
    line(out, [&process.pid.to_string(), name, &reloads, &uptime, version]);
}

fn line(out: &mut String, [pid, kind, reloads, uptime, version]: [&str; 5]) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{pid:<15} {kind:<15} {reloads:<15} {uptime:<15} {version:<15}");
}

fn uptime(seconds: u64) -> String {
    let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24);
    format!("{days}d{hours:02}h{:02}m{:02}s", seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::uptime;

    #[test]
    fn uptimes() {
        assert_eq!(uptime(0), "0d00h00m00s");
        assert_eq!(uptime(90_061), "1d01h01m01s");
    }
}
