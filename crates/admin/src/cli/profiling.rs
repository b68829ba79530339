//! `set profiling` and `show profiling`: what tasks cost, by function and caller.

use super::call::{Call, Later, Reply};
use proxy::{Shared, Worker};
use reactor::{ProfileEntry, Profiling};
use std::fmt::Write as _;

/// `set profiling {tasks|memory} {on|auto|off}`.
pub(super) fn set(call: &mut Call<'_>) -> Reply {
    match call.word(2) {
        "tasks" => {}
        "memory" => return Reply::error("Memory profiling not compiled in."),
        _ => return Reply::error("Expects either 'tasks' or 'memory'."),
    }
    let mode = match call.word(3) {
        "on" => Profiling::On,
        "auto" => Profiling::Auto,
        "off" => Profiling::Off,
        _ => return Reply::error("Expects 'on', 'auto', or 'off'."),
    };
    let shared = call.shared();
    let heartbeats = (0..shared.settings.threads).filter_map(|thread| shared.heartbeat(thread));
    heartbeats.for_each(|heartbeat| heartbeat.activity().profiling.set(mode));
    Reply::Done
}

/// The arguments of `show profiling`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ProfileRequest {
    status: bool,
    tasks: bool,
    order: Order,
    aggregated: bool,
    lines: usize,
}

/// The order of lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    Calls,
    Place,
    Time,
}

/// `show profiling [{all|status|tasks|memory}] [byaddr|bytime|aggr|<lines>]*`.
pub(super) fn show(call: &mut Call<'_>) -> Reply {
    match wanted(&call.words[2..]) {
        Some(wanted) => Reply::Later(Later::Profile(wanted)),
        None => Reply::error(
            "Expects either 'all', 'status', 'tasks', 'memory', 'byaddr', 'bytime', 'aggr' or a \
             max number of output lines.",
        ),
    }
}

fn wanted(words: &[String]) -> Option<ProfileRequest> {
    let (status, tasks, lines) = (true, true, usize::MAX);
    let mut wanted =
        ProfileRequest { status, tasks, order: Order::Calls, aggregated: false, lines };
    for word in words {
        match word.as_str() {
            "all" => (wanted.status, wanted.tasks) = (true, true),
            "status" => wanted.tasks = false,
            "tasks" => wanted.status = false,
            "memory" => (wanted.status, wanted.tasks) = (false, false),
            "byaddr" => wanted.order = Order::Place,
            "bytime" => wanted.order = Order::Time,
            "aggr" => wanted.aggregated = true,
            number => wanted.lines = number.parse().ok().filter(|lines| *lines > 0)?,
        }
    }
    Some(wanted)
}

/// The totals of one thread.
pub(super) fn of(worker: &Worker) -> Vec<ProfileEntry> {
    worker.thread.scheduler().profile()
}

/// The whole answer, from the profiles of all threads.
pub(super) fn render(shared: &Shared, wanted: ProfileRequest, known: Vec<ProfileEntry>) -> String {
    let mut out = String::new();
    if wanted.status {
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "Per-task CPU profiling              : {:14}# set profiling tasks {{on|auto|off}}",
            status(shared)
        );
        let _ = writeln!(
            out,
            "Memory usage profiling              : {:14}# set profiling memory {{on|off}}",
            "off"
        );
    }
    if wanted.tasks {
        tasks(wanted, known, &mut out);
    }
    out
}

/// The time of a turn, in nanoseconds, from which on the automatic mode is active.
const AUTO_ON: u64 = 990_000;

fn status(shared: &Shared) -> &'static str {
    let heartbeats = || (0..shared.settings.threads).filter_map(|thread| shared.heartbeat(thread));
    let mode = heartbeats().next().map(|heartbeat| heartbeat.activity().profiling.mode());
    match mode.unwrap_or_default() {
        Profiling::On => "on",
        Profiling::Off => "off",
        Profiling::Auto if heartbeats().any(|it| it.activity().loop_nanos.get() >= AUTO_ON) => {
            "auto-on"
        }
        Profiling::Auto => "auto-off",
    }
}

fn tasks(wanted: ProfileRequest, known: Vec<ProfileEntry>, out: &mut String) {
    let mut lines = merged(known, wanted.aggregated);
    let name = |it: &ProfileEntry| {
        (it.function, it.caller.map(|(at, why)| (at.file(), at.line(), why.bits())))
    };
    lines.sort_by(|a, b| {
        let numbers = match wanted.order {
            Order::Calls => b.totals.calls.cmp(&a.totals.calls),
            Order::Time => b.totals.cpu.cmp(&a.totals.cpu),
            Order::Place => std::cmp::Ordering::Equal,
        };
        numbers.then_with(|| name(a).cmp(&name(b)))
    });
    out.push_str("Tasks activity:\n");
    out.push_str("  function                      calls   cpu_tot   cpu_avg   lat_tot   lat_avg\n");
    lines.iter().take(wanted.lines).for_each(|line| write(line, out));
}

/// One entry per function and caller, or per function alone.
fn merged(known: Vec<ProfileEntry>, aggregated: bool) -> Vec<ProfileEntry> {
    let mut lines: Vec<ProfileEntry> = Vec::new();
    for mut entry in known {
        entry.caller = entry.caller.filter(|_| !aggregated);
        let same =
            |it: &&mut ProfileEntry| it.function == entry.function && it.caller == entry.caller;
        match lines.iter_mut().find(same) {
            Some(line) => line.totals.merge(entry.totals),
            None => lines.push(entry),
        }
    }
    lines
}

fn write(line: &ProfileEntry, out: &mut String) {
    let totals = line.totals;
    let _ = write!(out, "  {:<25}{:>10}", line.function, totals.calls);
    let averages = [totals.cpu, totals.cpu_avg(), totals.latency, totals.latency_avg()];
    for nanos in averages {
        let _ = write!(out, "   {}", short_time(nanos));
    }
    if let Some((place, why)) = line.caller {
        let why: Vec<String> = why.iter_names().map(|(name, _)| name.to_lowercase()).collect();
        let _ = write!(out, " <- {}:{} {}", place.file(), place.line(), why.join("+"));
    }
    out.push('\n');
}

/// A time in seven characters: four digits and a unit; nothing is a dash.
pub(super) fn short_time(nanos: u64) -> String {
    const UNITS: [(&str, f64); 7] = [
        ("ns", 1.0),
        ("us", 1e3),
        ("ms", 1e6),
        ("s ", 1e9),
        ("m ", 60e9),
        ("h ", 3_600e9),
        ("d ", 86_400e9),
    ];
    if nanos == 0 {
        return "   -   ".to_owned();
    }
    let fits = |unit: &&(&str, f64)| nanos as f64 >= unit.1;
    let (unit, size) = UNITS.iter().rev().find(fits).unwrap_or(&UNITS[0]);
    let value = nanos as f64 / size;
    match value {
        value if value < 10.0 => format!("{value:.3}{unit}"),
        value if value < 100.0 => format!("{value:.2}{unit}"),
        value => format!("{value:.1}{unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reactor::Wake;
    use std::panic::Location;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn times_have_seven_characters() {
        for (nanos, text) in [
            (0, "   -   "),
            (189, "189.0ns"),
            (2_836, "2.836us"),
            (59_630, "59.63us"),
            (722_600, "722.6us"),
            (1_700_000, "1.700ms"),
            (5_250_000_000, "5.250s "),
            (13_348_800_000_000, "3.708h "),
            (573_955_200_000_000, "6.643d "),
        ] {
            assert_eq!(short_time(nanos), text);
            assert_eq!(text.len(), 7);
        }
    }

    #[test]
    fn options_come_in_any_order() {
        let all = wanted(&[]).unwrap();
        assert!(all.status && all.tasks && all.order == Order::Calls && !all.aggregated);
        let some = wanted(&words("tasks aggr bytime 3")).unwrap();
        assert_eq!((some.status, some.tasks, some.lines), (false, true, 3));
        assert_eq!((some.order, some.aggregated), (Order::Time, true));
        for bad in ["foo", "0", "-1", "tasks x"] {
            assert_eq!(wanted(&words(bad)), None, "{bad}");
        }
    }

    #[test]
    fn lines_are_merged_sorted_and_cut() {
        let place = Location::caller();
        let entry = |function, caller, calls, cpu| {
            let totals = reactor::ProfileTotals { calls, cpu, dated: 0, latency: 0 };
            ProfileEntry { function, caller, totals }
        };
        let known = || {
            vec![
                entry("proxy::frontend::client::run", Some((place, Wake::IO)), 3, 300),
                entry("admin::converse", None, 4, 50),
                entry("proxy::frontend::client::run", Some((place, Wake::TIMER)), 1, 100),
                entry("proxy::frontend::client::run", Some((place, Wake::IO)), 2, 200),
            ]
        };
        let text = |options: &str| {
            let mut out = String::new();
            tasks(wanted(&words(options)).unwrap(), known(), &mut out);
            out.lines().skip(2).map(str::to_owned).collect::<Vec<_>>()
        };
        let line =
            "  proxy::frontend::client::run         5   500.0ns   100.0ns      -         -   ";
        let by = format!(" <- {}:{} io", place.file(), place.line());
        assert_eq!(text("")[0], format!("{line}{by}"));
        assert!(text("")[1].starts_with("  admin::converse                   4   50.00ns "));
        assert_eq!(text("aggr").len(), 2);
        assert!(text("aggr")[0].starts_with("  proxy::frontend::client::run         6   600.0ns "));
        assert!(text("byaddr")[0].starts_with("  admin::converse "));
        assert_eq!(text("bytime 1"), text("1"));
    }
}
