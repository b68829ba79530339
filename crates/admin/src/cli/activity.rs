//! `show activity`: counters of each thread's loop.
//!
//! First the lines of HAProxy in its order, then our own. Lines for what Weir does not have stay at
//! zero, so that tools find them: each thread accepts for itself (no accept queue), memory that
//! cannot be had ends the process (no failed pool), and stolen CPU time would cost a system call a
//! turn to know.

use super::call::{Call, Reply};
use engine::state::runtime::Shared;
use reactor::{Activity, Class, Heartbeat};
use std::fmt::Write as _;
use transport::stats::counters::Metric;

/// One line: its name, how the first column follows from the others, and the value of a thread.
struct ActivityLine {
    name: &'static str,
    first: First,
    value: fn(&ActivitySource<'_>) -> u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    Sum,
    Average,
    Maximum,
}

/// The source of the values of one thread.
struct ActivitySource<'a> {
    activity: &'a Activity,
    shared: &'a Shared,
    thread: usize,
}

impl ActivitySource<'_> {
    fn ran(&self, class: Class) -> u64 {
        self.activity.ran[class as usize].get()
    }
}

const fn sum(name: &'static str, value: fn(&ActivitySource<'_>) -> u64) -> ActivityLine {
    ActivityLine { name, first: First::Sum, value }
}

/// All lines after the thread and the date.
const LINES: &[ActivityLine] = &[
    sum("ctxsw", |it| it.activity.switches()),
    sum("tasksw", |it| it.activity.switches().saturating_sub(it.ran(Class::Urgent))),
    sum("empty_rq", |it| it.activity.empty_rounds.get()),
    sum("long_rq", |it| it.activity.long_rounds.get()),
    sum("loops", |it| it.activity.loops.get()),
    sum("wake_tasks", |it| it.activity.wake_tasks.get() + it.activity.wake_mail.get()),
    sum("wake_signal", |it| it.activity.wake_signal.get()),
    sum("poll_io", |it| it.activity.poll_io.get()),
    sum("poll_exp", |it| it.activity.poll_expired.get()),
    sum("poll_drop_fd", |it| it.activity.poll_drop.get()),
    sum("poll_skip_fd", |it| it.activity.poll_skip.get()),
    sum("conn_dead", |it| it.activity.found_dead.get()),
    sum("stream_calls", |it| it.ran(Class::Urgent)),
    sum("pool_fail", |_| 0),
    sum("buf_wait", |it| it.activity.buffer_waits.get()),
    sum("cpust_ms_tot", |_| 0),
    sum("cpust_ms_1s", |_| 0),
    sum("cpust_ms_15s", |_| 0),
    ActivityLine {
        name: "avg_loop_us",
        first: First::Average,
        value: |it| it.activity.loop_nanos.get() / 1_000,
    },
    sum("accepted", |it| it.shared.totals.of_thread(it.thread, Metric::Connections)),
    sum("accq_pushed", |_| 0),
    sum("accq_full", |_| 0),
    sum("accq_ring", |_| 0),
    sum("fd_takeover", |it| it.activity.taken_over.get()),
    sum("curr_rq", |it| queued(it.activity)),
    ActivityLine { name: "peak_rq", first: First::Maximum, value: |it| it.activity.peak.get() },
    sum("tasks", |it| it.activity.tasks.get()),
    sum("timers", |it| it.activity.timers.get()),
    sum("expired", |it| it.activity.expired.get()),
    sum("spawned", |it| it.activity.spawned.get()),
    sum("killed", |it| it.activity.killed.get()),
    sum("panicked", |it| it.activity.panicked.get()),
    sum("letters", |it| it.activity.letters.get()),
    sum("ran_urgent", |it| it.ran(Class::Urgent)),
    sum("ran_normal", |it| it.ran(Class::Normal)),
    sum("ran_bulk", |it| it.ran(Class::Bulk)),
    sum("ran_heavy", |it| it.ran(Class::Heavy)),
];

/// Items in the run queue of a thread.
pub(super) fn queued(activity: &Activity) -> u64 {
    activity.queued.iter().map(reactor::Counter::get).sum()
}

/// The columns asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Columns {
    All,
    First,
    Thread(usize),
}

/// `show activity [-1|0|<thread>]`.
pub(super) fn show(call: &mut Call<'_>) -> Reply {
    let shared = call.shared();
    let threads = shared.settings.threads;
    let columns = match call.word(2) {
        "" | "-1" => Columns::All,
        "0" => Columns::First,
        number => match number.parse().ok().filter(|number| (1..=threads).contains(number)) {
            Some(number) => Columns::Thread(number - 1),
            None => {
                return Reply::error(format!("Thread number must be between -1 and {threads}."));
            }
        },
    };
    let wall = call.worker.thread.wall();
    let own = call.worker.thread.index + 1;
    let mut out = format!("thread_id: {own} (1..{threads})\n");
    // Writing to a string cannot fail.
    let _ = writeln!(out, "date_now: {}.{:06}", wall / 1_000_000_000, wall / 1_000 % 1_000_000);
    let nobody = Heartbeat::default();
    for line in LINES {
        let value = |thread: usize| {
            let activity = shared
                .heartbeat(thread)
                .map_or(nobody.activity(), |heartbeat| heartbeat.activity());
            (line.value)(&ActivitySource { activity, shared, thread })
        };
        let values: Vec<u64> = (0..threads).map(value).collect();
        write(line, &values, columns, &mut out);
    }
    Reply::Dump(out)
}

fn write(line: &ActivityLine, values: &[u64], columns: Columns, out: &mut String) {
    let sum: u64 = values.iter().fold(0, |sum, value| sum.wrapping_add(*value));
    let first = match (columns, line.first) {
        (Columns::Thread(thread), _) => values.get(thread).copied().unwrap_or(0),
        (_, First::Sum) => sum,
        (_, First::Average) => sum / values.len().max(1) as u64,
        (_, First::Maximum) => values.iter().copied().max().unwrap_or(0),
    };
    let _ = write!(out, "{}: {first}", line.name);
    if columns == Columns::All && values.len() > 1 {
        out.push_str(" [");
        values.iter().for_each(|value| {
            let _ = write!(out, " {value}");
        });
        out.push_str(" ]");
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_summed_averaged_or_chosen() {
        let line = |first, values: &[u64], columns| {
            let mut out = String::new();
            write(&ActivityLine { name: "x", first, value: |_| 0 }, values, columns, &mut out);
            out
        };
        assert_eq!(line(First::Sum, &[1, 5], Columns::All), "x: 6 [ 1 5 ]\n");
        assert_eq!(line(First::Average, &[1, 5], Columns::All), "x: 3 [ 1 5 ]\n");
        assert_eq!(line(First::Maximum, &[1, 5], Columns::All), "x: 5 [ 1 5 ]\n");
        assert_eq!(line(First::Sum, &[1, 5], Columns::First), "x: 6\n");
        assert_eq!(line(First::Sum, &[1, 5], Columns::Thread(1)), "x: 5\n");
        assert_eq!(line(First::Sum, &[7], Columns::All), "x: 7\n");
    }
}
