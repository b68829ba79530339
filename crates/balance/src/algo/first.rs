//! `balance first`: the lowest identifier that has room.
//!
//! Shared: a table read by all; a pick writes the line of the table's lock.

use stdx::RwLock;

use super::{Chooser, Member, NoServer, PickRequest, first_with_room};

/// Servers ordered by identifier.
#[derive(Debug, Default)]
pub(crate) struct First(RwLock<Vec<Member>>);

impl Chooser for First {
    fn members(&self, members: &[Member]) {
        let mut ordered = members.to_vec();
        ordered.sort_by_key(|m| m.id);
        *self.0.write() = ordered;
    }

    fn choose(&self, wish: &PickRequest<'_>) -> Result<usize, NoServer> {
        let ordered = self.0.read();
        let member = first_with_room(ordered.iter(), wish.avoid)?;
        member.load.reserve();
        Ok(member.slot)
    }
}
