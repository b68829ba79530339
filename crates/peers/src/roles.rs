//! Which process changes a table of the group, and the names that tables have in messages.
//!
//! A table of `aggregate` is shared as one table per process: `t@A` is the one that the process `A`
//! counts in, whoever sends it. A process without nodes sends its table as `t`, which counts as its
//! copy.

use crate::settings::SharedTable;
use std::sync::Arc;

/// The place of the local peer; remote ones come behind it in the order of the settings.
pub const LOCAL: usize = 0;

/// The processes that change a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// All of them.
    All,
    /// This one alone.
    This,
    /// The peer in this place alone.
    Peer(usize),
}

/// The role of a table.
#[derive(Debug)]
pub(crate) struct Role {
    pub(crate) owner: Owner,
    /// The name in messages of processes that do not know of nodes.
    plain: Arc<str>,
}

/// All tables of a group with their roles. `peers` are the names of all processes, this one first.
pub(crate) fn assign(
    shared: Vec<SharedTable>,
    peers: &[Arc<str>],
) -> (Vec<SharedTable>, Vec<Role>) {
    let (mut tables, mut roles) = (Vec::new(), Vec::new());
    let mut add = |name, table, owner, plain: &Arc<str>| {
        tables.push(SharedTable { name, table });
        roles.push(Role { owner, plain: plain.clone() });
    };
    for SharedTable { name: plain, table } in shared {
        if table.settings().aggregate.is_none() {
            add(plain.clone(), table, Owner::All, &plain);
            continue;
        }
        let named = |peer: usize| format!("{plain}@{}", peers[peer]).into();
        let copies = table.copies().to_vec();
        add(named(LOCAL), table, Owner::This, &plain);
        for (at, copy) in (LOCAL + 1..peers.len()).zip(copies) {
            add(named(at), copy, Owner::Peer(at), &plain);
        }
    }
    (tables, roles)
}

/// The place of the table that a peer calls by this name.
pub(crate) fn find(
    tables: &[SharedTable],
    roles: &[Role],
    name: &[u8],
    peer: usize,
) -> Option<usize> {
    let owner = if peer == LOCAL { Owner::This } else { Owner::Peer(peer) };
    let named = tables.iter().position(|shared| *shared.name.as_bytes() == *name);
    let is_it = |role: &Role| role.owner == owner && *role.plain.as_bytes() == *name;
    named.or_else(|| roles.iter().position(is_it))
}
