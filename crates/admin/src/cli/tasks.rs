//! `show tasks` and `show threads`: runnable tasks, and the task that each thread runs.

use super::activity;
use super::call::{Call, Later, Reply};
use super::profiling::short_time;
use proxy::{Shared, Worker};
use reactor::{Class, Heartbeat, Profiling, QueuedTasks};
use std::fmt::Write as _;

pub(super) fn tasks(_: &mut Call<'_>) -> Reply {
    Reply::Later(Later::Tasks)
}

/// The queued tasks of one thread.
pub(super) fn of(worker: &Worker) -> Vec<QueuedTasks> {
    worker.thread.scheduler().queued()
}

/// The whole answer, from what is queued on all threads.
pub(super) fn render(threads: usize, known: Vec<QueuedTasks>) -> String {
    let mut lines: Vec<QueuedTasks> = Vec::new();
    for queued in known {
        match lines.iter_mut().find(|it| it.function == queued.function) {
            Some(line) => {
                line.places += queued.places;
                line.dated += queued.dated;
                line.latency += queued.latency;
            }
            None => lines.push(queued),
        }
    }
    lines.sort_by_key(|line| (std::cmp::Reverse(line.places), line.function));
    let total: u64 = lines.iter().map(|line| line.places).sum();
    let mut out = format!("Running tasks: {total} ({threads} threads)\n");
    out.push_str("  function                     places     %    lat_tot   lat_avg\n");
    for line in &lines {
        let average = line.latency.checked_div(line.dated).unwrap_or(0);
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "  {:<25}{:>10}{:>7.1}   {}   {}",
            line.function,
            line.places,
            100.0 * line.places as f64 / total.max(1) as f64,
            short_time(line.latency),
            short_time(average)
        );
    }
    out
}

pub(super) fn threads(call: &mut Call<'_>) -> Reply {
    let own = call.worker.thread.index;
    let mut out = String::new();
    for thread in 0..call.shared().settings.threads {
        if let Some(heartbeat) = call.shared().heartbeat(thread) {
            describe(call.shared(), thread, own, heartbeat, &mut out);
        }
    }
    Reply::Dump(out)
}

/// One thread, in the words of HAProxy: `rq` is the ordered queue, `tl` the lists of the others.
fn describe(shared: &Shared, thread: usize, own: usize, heartbeat: &Heartbeat, out: &mut String) {
    let activity = heartbeat.activity();
    let seat = shared.settings.seat(thread);
    let star = if thread == own { '*' } else { ' ' };
    let ordered = activity.queued[Class::Normal as usize].get();
    let lists = activity::queued(activity).saturating_sub(ordered);
    let running = activity.running();
    let active = running.is_some() || ordered + lists > 0;
    let profiled = activity.profiling.mode() == Profiling::On;
    let _ = writeln!(
        out,
        "{star} Thread {} : id={:#x} act={} glob=0 wq={} rq={} tl={} tlsz={lists} rqsz={ordered}",
        thread + 1,
        heartbeat.system_thread(),
        u8::from(active),
        u8::from(activity.timers.get() > 0),
        u8::from(ordered > 0),
        u8::from(lists > 0)
    );
    let _ = writeln!(
        out,
        "      {}/{}    stuck=0 prof={} harmless={} wantrdv=0",
        seat.0,
        seat.1,
        u8::from(profiled),
        u8::from(heartbeat.is_asleep())
    );
    let _ = writeln!(out, "             cpu_ns: now={}", heartbeat.cpu_nanos());
    let _ = writeln!(out, "             curr_task={}", running.unwrap_or("0"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_of_all_threads_are_added_up() {
        let queued = |function, class, places, dated, latency| QueuedTasks {
            function,
            class,
            places,
            dated,
            latency,
        };
        let known = vec![
            queued("a::run", Class::Urgent, 1, 0, 0),
            queued("b::run", Class::Normal, 3, 2, 5_000),
            queued("b::run", Class::Bulk, 4, 0, 0),
        ];
        assert_eq!(
            render(2, known),
            "Running tasks: 8 (2 threads)\n  \
               function                     places     %    lat_tot   lat_avg\n  \
               b::run                            7   87.5   5.000us   2.500us\n  \
               a::run                            1   12.5      -         -   \n"
        );
        assert_eq!(render(1, Vec::new()).lines().count(), 2);
    }
}
