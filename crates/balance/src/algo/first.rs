//! `balance first`: the lowest identifier that has room. Never looks at weights.
//!
//! Shared: a table read by all; a pick writes the line of the table's lock.

use std::sync::RwLock;

use super::{Chooser, Member, NoServer, Wish, first_with_room, read, write};

/// Servers ordered by identifier.
#[derive(Debug, Default)]
pub(crate) struct First(RwLock<Vec<Member>>);

impl Chooser for First {
    fn members(&self, members: &[Member]) {
        let mut ordered = members.to_vec();
        ordered.sort_by_key(|m| m.id);
        *write(&self.0) = ordered;
    }

    fn choose(&self, wish: &Wish<'_>) -> Result<usize, NoServer> {
        let ordered = read(&self.0);
        let member = first_with_room(ordered.iter(), wish.avoid)?;
        member.load.reserve();
        Ok(member.slot)
    }
}
