//! `hash-type map-based`: a hash indexes the table of turns.
//!
//! Requests without a key take turns through the same table, as with `static-rr`. Shared: a table
//! read by all; a pick writes the line of the table's lock and, without a key, that of the
//! position.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use stdx::RwLock;

use super::{Chooser, Member, NoServer, PickRequest, first_with_room, static_rr::Table};

/// The algorithm with its table, and the position of requests without a key.
#[derive(Debug, Default)]
pub(crate) struct Map {
    table: RwLock<Table>,
    position: AtomicUsize,
}

impl Chooser for Map {
    fn members(&self, members: &[Member]) {
        // Built before the lock is taken, so that picks are not delayed.
        let made = Table::new(members);
        let mut table = self.table.write();
        *table = made;
        self.position.store(0, Relaxed);
    }

    fn choose(&self, wish: &PickRequest<'_>) -> Result<usize, NoServer> {
        let table = self.table.read();
        let member = match wish.key {
            None => {
                let turn = self.position.fetch_add(1, Relaxed);
                first_with_room(table.from(turn), wish.avoid)?
            }
            Some(key) => {
                let first = table.from(key as usize).next().ok_or(NoServer::Unusable)?;
                let other = || table.from(key as usize).find(|m| wish.avoid != Some(m.slot));
                if wish.avoid == Some(first.slot) { other().unwrap_or(first) } else { first }
            }
        };
        member.load.reserve();
        Ok(member.slot)
    }
}
