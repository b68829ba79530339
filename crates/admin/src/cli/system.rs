//! The process's share of the system: descriptors, memory, libraries.

use super::call::{Call, Later, Reply};
use crate::settings::Settings;
use engine::state::worker::Worker;
use std::fmt::Write as _;

/// `show libs`: the objects that are mapped, with their addresses.
pub(super) fn libraries(_: &mut Call<'_>) -> Reply {
    match std::fs::read_to_string("/proc/self/maps") {
        Ok(maps) => Reply::Dump(objects(&maps)),
        Err(error) => Reply::error(format!("The system does not tell: {error}.")),
    }
}

/// One line per file of a list of mappings (proc(5)).
fn objects(maps: &str) -> String {
    let mut found: Vec<(&str, u64, u64)> = Vec::new();
    for line in maps.lines() {
        let Some(path) = line.find('/').map(|at| &line[at..]) else { continue };
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        let Some((start, end)) = range else { continue };
        let number = |text| u64::from_str_radix(text, 16).unwrap_or(0);
        let (start, end) = (number(start), number(end));
        match found.iter_mut().find(|(known, ..)| *known == path) {
            Some((_, low, high)) => (*low, *high) = ((*low).min(start), (*high).max(end)),
            None => found.push((path, start, end)),
        }
    }
    let mut out = String::new();
    for (path, start, end) in found {
        let (last, size) = (end.saturating_sub(1), end - start);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "0x{start:012x}-0x{last:012x} (0x{size:07x}) {path}");
    }
    out
}

/// `show fd [<fd>]`: the descriptors that the threads watch.
pub(super) fn descriptors(call: &mut Call<'_>) -> Reply {
    match call.word(2) {
        "" => Reply::Later(Later::Lines(watched)),
        text => match text.parse() {
            Ok(number) => Reply::Later(Later::Descriptor(number)),
            Err(_) => Reply::error("Expects a number."),
        },
    }
}

/// The line of one descriptor.
pub(super) fn only(worker: &Worker, number: i32) -> String {
    let mut lines = String::new();
    watched(worker, &Settings::default(), &mut lines);
    let start = format!("{number:>7} :");
    lines.lines().filter(|line| line.starts_with(&start)).map(|line| format!("{line}\n")).collect()
}

/// The descriptors that the thread watches, in HAProxy's columns as far as they apply: `R` ready,
/// `A` active, for writing and for reading; the owner is a task.
fn watched(worker: &Worker, _: &Settings, out: &mut String) {
    let settings = &worker.shared.settings;
    let (group, rank) = settings.seat(worker.thread.index);
    let mask = 1u64.checked_shl(u32::from(rank) - 1).unwrap_or(0);
    for watched in worker.thread.watched_descriptors() {
        let flag = |on: bool, letter: char| if on { letter } else { letter.to_ascii_lowercase() };
        let letters =
            |ready: bool, wanted: bool| format!("s{}{}", flag(ready, 'R'), flag(wanted, 'A'));
        let state = u32::from(watched.reads.0)
            | u32::from(watched.reads.1) << 1
            | u32::from(watched.writes.0) << 4
            | u32::from(watched.writes.1) << 5;
        let _ = write!(
            out,
            "{:>7} : st=0x{state:06x}(cl {}eop{} W:{} R:{}) ",
            watched.number,
            flag(watched.closed, 'H'),
            flag(watched.reads.0, 'I'),
            letters(watched.writes.0, watched.writes.1),
            letters(watched.reads.0, watched.reads.1),
        );
        let _ = write!(
            out,
            "ref=0 gid={group} tmask=0x{mask:x} umask=0x0 prmsk=0x{mask:x} pwmsk=0x{mask:x} "
        );
        let _ = writeln!(out, "owner=0x{:x} iocb=0x0({})", watched.owner, watched.kind);
    }
}

/// `show pools`: what the threads keep for connections and messages.
pub(super) fn pools(_: &mut Call<'_>) -> Reply {
    Reply::Later(Later::Pools)
}

/// The pools of all threads together, in HAProxy's layout.
pub(super) fn render_pools(known: Vec<Vec<transport::thread::buffers::PoolUse>>) -> String {
    let mut all: Vec<transport::thread::buffers::PoolUse> = Vec::new();
    for pool in known.into_iter().flatten() {
        match all.iter_mut().find(|it| it.name == pool.name) {
            Some(sum) => {
                sum.allocated += pool.allocated;
                sum.used += pool.used;
            }
            None => all.push(pool),
        }
    }
    let mut out = "Dumping pools usage. Use SIGQUIT to flush them.\n".to_owned();
    let (mut allocated, mut used) = (0, 0);
    for pool in &all {
        let cached = pool.allocated.saturating_sub(pool.used);
        let bytes = pool.allocated * pool.size;
        allocated += bytes;
        used += pool.used * pool.size;
        let _ = writeln!(
            out,
            "  - Pool {} ({} bytes) : {} allocated ({bytes} bytes), {} used (~{cached} by thread \
             caches), needed_avg {}, 0 failures, 1 users, @0x0",
            pool.name, pool.size, pool.allocated, pool.used, pool.used
        );
    }
    let _ = writeln!(
        out,
        "Total: {} pools, {allocated} bytes allocated, {used} used (~{} by thread caches).",
        all.len(),
        allocated - used
    );
    out
}

#[cfg(test)]
mod tests {
    use super::objects;

    #[test]
    fn mappings_of_a_file_are_one() {
        let maps = "1000-2000 r--p 00000000 fe:00 1   /bin/x\n2000-2800 r-xp 0 fe:00 1   /bin/x\n\
                    3000-4000 rw-p 0 00:00 0 \n5000-6000 r--p 0 fe:00 2   /lib/a b.so\n";
        assert_eq!(
            objects(maps),
            "0x000000001000-0x0000000027ff (0x0001800) /bin/x\n\
             0x000000005000-0x000000005fff (0x0001000) /lib/a b.so\n"
        );
    }
}
