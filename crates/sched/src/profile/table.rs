//! A fixed-size table of times by function and caller; what does not fit is summed in one more row.

use super::Function;
use crate::Wake;
use std::panic::Location;
use std::ptr;

/// Sums over the turns of one function that were caused by one caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Turns.
    pub calls: u64,
    /// Nanoseconds that the turns took.
    pub cpu: u64,
    /// Turns with a time of wake-up.
    pub dated: u64,
    /// Nanoseconds from wake-up to turn, over the dated ones.
    pub latency: u64,
}

impl Totals {
    /// Adds another sum to this one.
    pub fn merge(&mut self, other: Self) {
        self.calls += other.calls;
        self.cpu += other.cpu;
        self.dated += other.dated;
        self.latency += other.latency;
    }

    /// Average nanoseconds per turn.
    pub fn cpu_avg(&self) -> u64 {
        self.cpu / self.calls.max(1)
    }

    /// Average nanoseconds from wake-up to turn.
    pub fn latency_avg(&self) -> u64 {
        self.latency / self.dated.max(1)
    }
}

/// One row of a profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// Path of the function.
    pub function: &'static str,
    /// Source location and reason of the wake-up; `None` if it happened before profiling began.
    pub caller: Option<(&'static Location<'static>, Wake)>,
    /// Sums over its turns.
    pub totals: Totals,
}

#[derive(Clone, Copy)]
struct Row {
    function: &'static Function,
    caller: Option<(&'static Location<'static>, Wake)>,
    totals: Totals,
}

/// Rows in the table.
const ROWS: usize = 512;
/// Rows probed for a key.
const PROBES: usize = 16;

/// The rows of one thread, hashed by the addresses of function and caller.
#[derive(Default)]
pub(super) struct Table {
    lines: Vec<Option<Row>>,
    others: Totals,
}

impl Table {
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn add(
        &mut self,
        function: &'static Function,
        caller: Option<(&'static Location<'static>, Wake)>,
        cpu: u64,
        latency: Option<u64>,
    ) {
        let totals = self.line(function, caller);
        totals.calls += 1;
        totals.cpu += cpu;
        totals.dated += u64::from(latency.is_some());
        totals.latency += latency.unwrap_or(0);
    }

    fn line(
        &mut self,
        function: &'static Function,
        caller: Option<(&'static Location<'static>, Wake)>,
    ) -> &mut Totals {
        if self.lines.is_empty() {
            self.lines = vec![None; ROWS];
        }
        let place = place(function, caller);
        let found = (place..place + PROBES).map(|place| place % ROWS).find(|place| {
            self.lines[*place]
                .is_none_or(|line| ptr::eq(line.function, function) && same(line.caller, caller))
        });
        let Some(found) = found else { return &mut self.others };
        let fresh = Row { function, caller, totals: Totals::default() };
        &mut self.lines[found].get_or_insert(fresh).totals
    }

    pub(super) fn entries(&self) -> Vec<Entry> {
        let named = self.lines.iter().flatten().map(|line| Entry {
            function: line.function.name(),
            caller: line.caller,
            totals: line.totals,
        });
        let others = Entry { function: "other", caller: None, totals: self.others };
        named.chain((self.others.calls > 0).then_some(others)).collect()
    }
}

type Caller = Option<(&'static Location<'static>, Wake)>;

fn same(a: Caller, b: Caller) -> bool {
    match (a, b) {
        (Some((a, why_a)), Some((b, why_b))) => ptr::eq(a, b) && why_a == why_b,
        (None, None) => true,
        _ => false,
    }
}

fn place(function: &'static Function, caller: Caller) -> usize {
    let (at, why) = caller.map_or((0, 0), |(at, why)| (ptr::from_ref(at).addr(), why.bits()));
    let mixed = ptr::from_ref(function).addr().rotate_left(20) ^ at ^ usize::from(why);
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % ROWS
}
