//! The load index of a backend that begins with a handful of servers: looks at all of them until
//! operators have added more, and keeps levels from then on.
//!
//! Requests are under way during the switch. A pick that began with [`Few`] only reserves on a
//! server, which levels tolerate, and at worst finds no server: then it is repeated. A release
//! looks at the index after it has lowered the count: either it sees the levels, or the levels see
//! its count, since both write the server's word.
//!
//! Shared lines written: those of the index in use.

use std::sync::{Arc, OnceLock};

use super::{
    Few, Levels, Load, LoadIndex, LoadOrder, NoServer,
    sync::{Mutex, lock},
};

/// An index for few servers that is replaced by one for many when servers are added.
#[derive(Debug)]
pub(crate) struct Growing {
    few: Few,
    levels: OnceLock<Arc<Levels>>,
    /// Held while a server is added, so that the index that takes over contains all servers.
    admitting: Mutex<()>,
}

impl Growing {
    pub(crate) fn new(loads: Box<[Arc<Load>]>) -> Self {
        Self { few: Few::new(loads), levels: OnceLock::new(), admitting: Mutex::new(()) }
    }

    fn take_over(&self, slots: &[usize]) {
        let _alone = lock(&self.admitting);
        let levels = Arc::new(Levels::new(self.few.loads()));
        levels.begin(slots, || drop(self.levels.set(Arc::clone(&levels))));
    }
}

impl LoadIndex for Growing {
    fn admit(&self, load: Arc<Load>) {
        let _alone = lock(&self.admitting);
        match self.levels.get() {
            Some(levels) => levels.admit(load),
            None => self.few.admit(load),
        }
    }

    fn members(&self, slots: &[usize]) {
        match self.levels.get() {
            Some(levels) => levels.members(slots),
            None if self.few.len() > LoadOrder::FEW => self.take_over(slots),
            None => self.few.members(slots),
        }
    }

    fn pick(&self, avoid: Option<usize>) -> Result<usize, NoServer> {
        if let Some(levels) = self.levels.get() {
            return levels.pick(avoid);
        }
        self.few.pick(avoid).or_else(|none| match self.levels.get() {
            Some(levels) => levels.pick(avoid),
            None => Err(none),
        })
    }

    fn load_changed(&self, slot: usize) {
        match self.levels.get() {
            Some(levels) => levels.load_changed(slot),
            None => self.few.load_changed(slot),
        }
    }

    fn moves(&self) -> u64 {
        self.levels.get().map_or(0, |levels| levels.moves())
    }
}
