//! Bandwidth limits that rules have enabled for one transaction.

use crate::state::bandwidth::BandwidthShare;
use rules::BandwidthLimit;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use table::EntryUse;
use transport::filters::pacer::{PaceLimit, PaceTurn, Pacer};

/// A limit of a stream, with the bytes that have passed under it.
#[derive(Debug, Default)]
pub enum EnabledLimit {
    /// No rule has enabled it.
    #[default]
    Off,
    /// A limit of the stream alone.
    Stream(PaceLimit, Pacer),
    /// Shared with the other streams of a key.
    Shared(PaceLimit, Box<SharedLimit>),
}

/// A shared limit, as one stream uses it.
#[derive(Debug)]
pub struct SharedLimit {
    /// The key of the entry, with its table and direction.
    pub key: crate::state::bandwidth::ShareKey,
    /// The entry whose rate is the measure; none while the table is full.
    pub entry: Option<EntryUse>,
    /// The pace of all streams of the key; from the first payload on.
    pub share: Option<BandwidthShare>,
}

/// A limit of a transaction, seen by the rule that enables it and by the payload that it limits.
#[derive(Debug, Default)]
pub struct StreamLimit {
    /// The limit, if a rule has enabled it.
    pub limit: RefCell<EnabledLimit>,
    /// The next turn of the stream.
    pub turn: RefCell<PaceTurn>,
}

/// The limits of one transaction, by filter.
#[derive(Debug, Default)]
pub struct BandwidthLimits(Vec<(Arc<BandwidthLimit>, Rc<StreamLimit>)>);

impl BandwidthLimits {
    /// The limit of this filter, if it has been asked for.
    pub fn find(&self, filter: &Arc<BandwidthLimit>) -> Option<&Rc<StreamLimit>> {
        self.0.iter().find(|(known, _)| Arc::ptr_eq(known, filter)).map(|(_, limit)| limit)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The limit of this filter; it is off at first.
    pub fn of(&mut self, filter: &Arc<BandwidthLimit>) -> Rc<StreamLimit> {
        if let Some(found) = self.find(filter) {
            return found.clone();
        }
        let limit = Rc::new(StreamLimit::default());
        self.0.push((filter.clone(), limit.clone()));
        limit
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl StreamLimit {
    /// Whether a rule has enabled the limit.
    pub fn is_on(&self) -> bool {
        !matches!(*self.limit.borrow(), EnabledLimit::Off)
    }

    /// Sets the limit of the stream; bytes that have passed still count.
    pub fn set(&self, limit: PaceLimit) {
        let mut enabled = self.limit.borrow_mut();
        match &mut *enabled {
            EnabledLimit::Stream(old, _) => *old = limit,
            other => *other = EnabledLimit::Stream(limit, Pacer::default()),
        }
    }

    /// Has the stream share this limit from now on.
    pub fn share(&self, limit: PaceLimit, shared: SharedLimit) {
        let mut enabled = self.limit.borrow_mut();
        match &mut *enabled {
            EnabledLimit::Shared(_, old) if old.key == shared.key => {}
            other => *other = EnabledLimit::Shared(limit, Box::new(shared)),
        }
    }

    /// Ends the limited message: gives the reserved bytes back, and leaves the shared limit.
    pub fn finish(&self) {
        let mut turn = self.turn.borrow_mut();
        match &mut *self.limit.borrow_mut() {
            EnabledLimit::Off => {}
            EnabledLimit::Stream(limit, pacer) => pacer.cancel(limit, &mut turn),
            EnabledLimit::Shared(limit, shared) => {
                if let Some(share) = shared.share.take() {
                    share.lock().pacer.cancel(limit, &mut turn);
                }
            }
        }
        *turn = PaceTurn::default();
    }
}
