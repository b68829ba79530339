//! Rows of the overview as they were written last, so that a browser gets those that changed.

mod latency_window;

use engine::state::worker::Worker;
use latency_window::LatencyWindow;
use std::collections::HashMap;
use std::sync::Arc;
use stdx::{Mutex, Summary};

/// Milliseconds without a browser after which rows are forgotten.
const UNWATCHED: u64 = 30_000;

/// Number of the proxy, kind of the row, number in the proxy.
pub(crate) type RowKey = (u32, u32, u32);

/// The rows of all browsers of a process.
#[derive(Debug, Default)]
pub struct RowMemory(Mutex<Rows>);

#[derive(Debug, Default)]
struct Rows {
    /// Number of changes so far.
    changes: u64,
    rows: HashMap<RowKey, Remembered>,
    /// When a browser has asked last, in milliseconds.
    asked: u64,
    /// Whether a job forgets the rows when nobody watches.
    tended: bool,
}

/// One row.
#[derive(Debug, Default)]
struct Remembered {
    text: String,
    /// Number of the change that brought this text.
    changed: u64,
    window: LatencyWindow,
    /// Start of its present state, in seconds on the clock of the process.
    since: Option<u64>,
    /// When it was seen last, in milliseconds.
    seen: u64,
}

/// The state of a row while its text is made.
pub(crate) struct Recall<'a> {
    window: &'a mut LatencyWindow,
    since: &'a mut Option<u64>,
    now: u64,
}

impl Recall<'_> {
    /// See [`LatencyWindow::advance`].
    pub(crate) fn percentiles(&mut self, times: Summary) -> Option<[u64; 2]> {
        self.window.advance(self.now, times)
    }

    /// When the state began that has lasted so many seconds. Both are rounded, so that the result
    /// may differ by one from the one before, which stays then.
    pub(crate) fn since(&mut self, lasted: u64) -> u64 {
        let since = (self.now / 1_000).saturating_sub(lasted);
        let before = self.since.filter(|before| before.abs_diff(since) <= 1);
        *self.since.insert(before.unwrap_or(since))
    }
}

impl RowMemory {
    /// Number of changes so far: a browser that has this number wants later ones.
    pub(crate) fn begin(self: &Arc<Self>, worker: &Worker) -> u64 {
        let (mut rows, now) = (self.0.lock(), worker.millis());
        rows.asked = now;
        if !std::mem::replace(&mut rows.tended, true) {
            let (own, work) = (self.clone(), &worker.shared.work);
            let job = Box::new(move |_: &Worker, now| own.tend(now));
            let _ = work.add(worker.thread.index, work.all_threads(), now + UNWATCHED, job);
        }
        rows.changes
    }

    /// Writes a row with `write`, and appends its text to `out` if it changed after the change of
    /// number `known`.
    pub(crate) fn put(
        &self,
        (key, known): (RowKey, Option<u64>),
        now: u64,
        write: impl FnOnce(Recall<'_>) -> String,
    ) -> Option<String> {
        let mut rows = self.0.lock();
        let Rows { changes, rows, .. } = &mut *rows;
        let row = rows.entry(key).or_default();
        let text = write(Recall { window: &mut row.window, since: &mut row.since, now });
        row.seen = now;
        if row.text != text {
            *changes += 1;
            (row.text, row.changed) = (text, *changes);
        }
        known.is_none_or(|known| row.changed > known).then(|| row.text.clone())
    }

    /// Forgets all rows when no browser asks any more, and those that are gone.
    fn tend(&self, now: u64) -> Option<u64> {
        let mut rows = self.0.lock();
        if now.saturating_sub(rows.asked) >= UNWATCHED {
            rows.rows = HashMap::new();
            rows.tended = false;
            return None;
        }
        rows.rows.retain(|_, row| now.saturating_sub(row.seen) < 2 * UNWATCHED);
        Some(now + UNWATCHED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_sent_to_browsers_that_do_not_have_it() {
        let memory = RowMemory::default();
        let put = |text: &str, known| memory.put(((1, 2, 3), known), 0, |_| text.to_owned());
        assert_eq!(put("a", None).as_deref(), Some("a"));
        assert_eq!(put("a", Some(0)).as_deref(), Some("a"));
        assert_eq!(put("a", Some(1)), None);
        assert_eq!(put("b", Some(1)).as_deref(), Some("b"));
        assert_eq!(put("b", Some(1)).as_deref(), Some("b"), "another browser has seen it first");
        assert_eq!(put("b", Some(2)), None);
    }

    #[test]
    fn rows_that_nobody_watches_are_forgotten() {
        let memory = RowMemory::default();
        memory.0.lock().asked = 10_000;
        for (key, now) in [((1, 2, 3), 10_000), ((1, 2, 4), 70_000)] {
            let _ = memory.put((key, None), now, |_| "a".to_owned());
        }
        memory.0.lock().asked = 70_000;
        assert_eq!(memory.tend(75_000), Some(105_000));
        assert_eq!(memory.0.lock().rows.len(), 1);
        assert_eq!(memory.tend(100_000), None);
        assert_eq!(memory.0.lock().rows.len(), 0);
        let text = memory.put(((1, 2, 4), Some(2)), 100_000, |_| "a".to_owned());
        assert_eq!(text.as_deref(), Some("a"), "its number is a new one");
    }

    #[test]
    fn the_start_of_a_state_does_not_waver() {
        let memory = RowMemory::default();
        let since = |now, lasted| {
            let write = |mut recall: Recall<'_>| recall.since(lasted).to_string();
            memory.put(((1, 2, 3), None), now, write)
        };
        assert_eq!(since(10_900, 4).as_deref(), Some("6"));
        assert_eq!(since(11_000, 4).as_deref(), Some("6"));
        assert_eq!(since(20_000, 2).as_deref(), Some("18"));
    }
}
