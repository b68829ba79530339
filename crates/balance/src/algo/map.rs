//! `hash-type map-based`: a hash indexes the table of turns. Never skips a full server: it queues there.
//!
//! Shared: a table read by all; a pick writes the line of the table's lock and nothing else.

use std::sync::RwLock;

use super::{
    Chooser, Member, NoServer, Wish, read, roundrobin::RoundRobin, static_rr::Table, write,
};

/// The algorithm with its table, and the turns of requests without a key.
#[derive(Debug, Default)]
pub(crate) struct Map {
    table: RwLock<Table>,
    turns: RoundRobin,
}

impl Chooser for Map {
    fn members(&self, members: &[Member]) {
        self.turns.members(members);
        *write(&self.table) = Table::new(members);
    }

    fn choose(&self, wish: &Wish<'_>) -> Result<usize, NoServer> {
        let Some(key) = wish.key else { return self.turns.choose(wish) };
        let table = read(&self.table);
        let first = table.from(key as usize).next().ok_or(NoServer::Unusable)?;
        let other = || table.from(key as usize).find(|m| wish.avoid != Some(m.slot));
        let member = if wish.avoid == Some(first.slot) { other().unwrap_or(first) } else { first };
        member.load.reserve();
        Ok(member.slot)
    }
}
