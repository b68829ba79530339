//! `debug dev`: what helps to test tools and alarms (management.txt 9.3).
//!
//! All of it needs `expert-mode on`. What HAProxy offers to write into its memory, to send signals
//! to its threads or to crash is not here.

use super::call::{Call, Later, Reply, Severity};
use observability::logging::log;
use std::fmt::Write as _;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// The longest that a thread may be held up, in milliseconds: less than the watchdog's patience.
const LONGEST_MS: u64 = 1_000;
/// The most bytes written back.
const MOST_BYTES: usize = 1 << 20;

/// Counts the command, as `DebugCommandsIssued`.
fn issued(call: &Call<'_>) {
    call.shared().debug_commands.fetch_add(1, Relaxed);
}

/// `debug dev check`: an invariant that holds.
pub(super) fn check(call: &mut Call<'_>) -> Reply {
    issued(call);
    Reply::Done
}

/// `debug dev delay [<ms>]`: suspends the session alone, not its thread.
pub(super) fn delay(call: &mut Call<'_>) -> Reply {
    issued(call);
    Reply::Later(Later::Pause(span(call).as_millis() as u32))
}

/// `debug dev loop [<ms>]`: keeps a processor busy.
pub(super) fn spin(call: &mut Call<'_>) -> Reply {
    issued(call);
    let kernel = call.worker.thread.kernel();
    let end = kernel.monotonic() + span(call).as_nanos() as u64;
    while kernel.monotonic() < end {
        std::hint::spin_loop();
    }
    Reply::Done
}

fn span(call: &Call<'_>) -> Duration {
    let wanted = call.word(3).parse::<u64>().unwrap_or(0);
    Duration::from_millis(wanted.min(LONGEST_MS))
}

/// `debug dev log [<text>]`: a message to the targets of `global`.
pub(super) fn log(call: &mut Call<'_>) -> Reply {
    issued(call);
    let text = call.words.get(3..).unwrap_or_default().join(" ");
    let logs = &call.shared().settings.logs;
    log::send(call.worker, logs, log::level::INFO, text.as_bytes());
    Reply::Done
}

/// `debug dev warn`: as if something were wrong that the process can live with.
pub(super) fn warn(call: &mut Call<'_>) -> Reply {
    issued(call);
    let logs = &call.shared().settings.logs;
    log::send(
        call.worker,
        logs,
        log::level::WARNING,
        b"A warning was asked for by 'debug dev warn'.",
    );
    Reply::Done
}

/// `debug dev write [<size>]`: that many bytes.
pub(super) fn write(call: &mut Call<'_>) -> Reply {
    let Ok(size) = call.word(3).parse::<usize>() else {
        return Reply::error("Expects a number of bytes.");
    };
    issued(call);
    Reply::Dump(".".repeat(size.min(MOST_BYTES)))
}

/// `debug dev hash <text>`: what the anonymized mode makes of a text.
pub(super) fn hash(call: &mut Call<'_>) -> Reply {
    issued(call);
    let text = call.state.anon.word(call.word(3));
    Reply::Message(Severity::Info, text.into_owned())
}

/// `debug dev fd`: the descriptors of the process that no thread watches.
pub(super) fn descriptors(call: &mut Call<'_>) -> Reply {
    issued(call);
    let Ok(open) = std::fs::read_dir("/proc/self/fd") else {
        return Reply::error("The system does not tell.");
    };
    let watched: Vec<i32> =
        call.worker.thread.watched_descriptors().iter().map(|it| it.number).collect();
    let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse::<i32>().ok();
    let mut numbers: Vec<i32> = open.flatten().filter_map(number).collect();
    numbers.sort_unstable();
    let mut out = String::new();
    for number in numbers.into_iter().filter(|number| !watched.contains(number)) {
        if let Ok(target) = std::fs::read_link(format!("/proc/self/fd/{number}")) {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{number:>5} {}", target.display());
        }
    }
    Reply::Dump(out)
}
