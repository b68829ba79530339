//! `filter bwlim-in` and `filter bwlim-out`: payload passes at a limited pace, once a rule has
//! enabled the limit (configuration manual, section 9).

use engine::state::session::bandwidth_limits::{EnabledLimit, SharedLimit, StreamLimit};
use engine::state::session::transaction::Transaction;
use engine::state::worker::Worker;
use observability::telemetry::bandwidth::rate_of;
use rules::BandwidthLimit;
use sample::Side;
use std::rc::Rc;
use std::sync::Arc;
use transport::filters::pacer::{Pace, PaceLimit, PaceOffer, PaceTurn, PaceUse};
use transport::filters::{Offer, PayloadFilter, Taken};

/// Nanoseconds of a millisecond.
const MS: u64 = 1_000_000;

/// The filter of one direction, unless payload passes there without limit.
pub(super) fn payload_filter(
    tx: &mut Transaction,
    filter: &Arc<BandwidthLimit>,
    side: Side,
    may_be_enabled_later: bool,
) -> Option<Box<dyn PayloadFilter>> {
    if filter.side != side {
        return None;
    }
    let is_on = tx.notes.bandwidth.find(filter).is_some_and(|limit| limit.is_on());
    if !is_on && !may_be_enabled_later {
        return None;
    }
    tx.notes.used = true;
    let limit = tx.notes.bandwidth.of(filter);
    let waits = false;
    Some(Box::new(LimitedPayload { worker: tx.worker.clone(), side, limit, waits }))
}

/// The payload of one direction under a limit.
struct LimitedPayload {
    worker: Rc<Worker>,
    side: Side,
    limit: Rc<StreamLimit>,
    /// Whether it had to wait, and counts among the limited streams of its thread.
    waits: bool,
}

impl std::fmt::Debug for LimitedPayload {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("LimitedPayload").field("limit", &self.limit).finish()
    }
}

impl Drop for LimitedPayload {
    fn drop(&mut self) {
        if self.waits {
            let count = &self.worker.limited_streams;
            count.set(count.get().saturating_sub(1));
        }
        self.limit.finish();
    }
}

impl PayloadFilter for LimitedPayload {
    fn take(&mut self, offer: Offer<'_>, _: &mut Vec<u8>) -> Taken {
        let bytes = offer.payload.len() as u64;
        if bytes == 0 {
            return Taken::Bytes(0);
        }
        let offer = PaceOffer { bytes, last: offer.last };
        let mut turn = self.limit.turn.borrow_mut();
        let now = self.worker.thread.nanos();
        let pace = match &mut *self.limit.limit.borrow_mut() {
            EnabledLimit::Off => return Taken::Bytes(offer.bytes as usize),
            EnabledLimit::Stream(limit, pacer) => {
                let most = self.worker.buffers.size() as u64;
                let piece = limit.crowd_piece(self.worker.limited_streams.get(), most);
                let used = PaceUse { piece, ..PaceUse::ALONE };
                pacer.pass(limit, used, &mut turn, offer, now)
            }
            EnabledLimit::Shared(limit, shared) => {
                self.pass_shared(limit, shared, &mut turn, offer, now)
            }
        };
        drop(turn);
        match pace {
            Pace::Bytes(bytes) => Taken::Bytes(bytes as usize),
            Pace::Until(at) => {
                if !std::mem::replace(&mut self.waits, true) {
                    let count = &self.worker.limited_streams;
                    count.set(count.get() + 1);
                }
                let wait = at.saturating_sub(now).div_ceil(MS).clamp(1, i32::MAX as u64);
                Taken::Until(self.worker.thread.tick().plus_ms(wait as u32))
            }
        }
    }
}

impl LimitedPayload {
    /// As much as the streams that share a limit leave, counted in the entry of the stick table.
    fn pass_shared(
        &self,
        limit: &PaceLimit,
        shared: &mut SharedLimit,
        turn: &mut PaceTurn,
        offer: PaceOffer,
        now: u64,
    ) -> Pace {
        let (rate, now_ms) = (rate_of(self.side), self.worker.millis());
        let entry = shared.entry.as_ref().map(table::EntryUse::entry);
        let recent = entry.and_then(|entry| entry.get(rate, 0, now_ms)).unwrap_or(0);
        let key = &shared.key;
        let joined =
            shared.share.get_or_insert_with(|| self.worker.shared.bandwidth.join(key.clone()));
        let mut share = joined.lock();
        let used = PaceUse { streams: share.streams, recent, piece: 0 };
        let pace = share.pacer.pass(limit, used, turn, offer, now);
        drop(share);
        if let (Pace::Bytes(bytes), Some(entry)) = (pace, entry) {
            entry.count(&[rate], bytes, now_ms);
            entry.touch(now_ms);
        }
        pace
    }
}
