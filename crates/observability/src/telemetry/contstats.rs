//! `option contstats`: counts the bytes of long transfers during the transfer.

use crate::telemetry::accounting;
use engine::state::session::transaction::Transaction;
use stdx::Tick;

/// Least time between two counts of a transfer, in milliseconds.
const EVERY_MS: u32 = 5_000;

/// Time of the next count of a transfer; `None` without the option.
#[derive(Debug)]
pub struct Meter(Option<Tick>);

impl Meter {
    /// The first time, for a transfer that begins.
    pub fn begin(tx: &Transaction) -> Self {
        let continuous = tx.client.proxy.front.settings.continuous_stats;
        Self(continuous.then(|| tx.worker.thread.tick().plus_ms(EVERY_MS)))
    }

    /// Counts the bytes that have passed if the time has come. Returns the next time if bytes are
    /// left to count.
    #[inline]
    pub fn read(
        &mut self,
        tx: &mut Transaction,
        bytes: impl FnOnce(&Transaction) -> (u64, u64),
    ) -> Option<Tick> {
        let due = self.0?;
        let (now, bytes) = (tx.worker.thread.tick(), bytes(tx));
        if bytes == tx.notes.bytes_counted {
            return None;
        }
        if !due.is_due(now) {
            return Some(due);
        }
        accounting::count_bytes(tx, bytes);
        self.0 = Some(now.plus_ms(EVERY_MS));
        None
    }
}
