//! The settings of a `peers` section, as plain data.

use std::sync::Arc;
use table::Table;

/// The settings of a group.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The name of this process among the peers (`localpeer`, `-L`).
    pub local: Arc<str>,
    /// The names of the other peers, each once.
    pub remotes: Vec<Arc<str>>,
    /// The parts of the keys that the other peers get, if not each gets all.
    pub shards: Shards,
    /// The number of this process.
    pub pid: u32,
    /// Updates that are sent at once (`tune.peers.max-updates-at-once`).
    pub max_updates: usize,
    /// The longest body of a message, in bytes (`tune.bufsize`).
    pub max_message: usize,
    /// This process replaces another one, which may teach it over a connection under the local
    /// name.
    pub replaces: bool,
}

impl Settings {
    /// `tune.peers.max-updates-at-once` when the configuration does not say.
    pub const MAX_UPDATES: usize = 200;

    /// Settings of a process without a predecessor.
    pub fn new(local: impl Into<Arc<str>>) -> Settings {
        Settings {
            local: local.into(),
            remotes: Vec::new(),
            shards: Shards::default(),
            pid: 1,
            max_updates: Settings::MAX_UPDATES,
            max_message: 16_384,
            replaces: false,
        }
    }
}

/// Parts of the keys (`shards`, `shard`). A key belongs to one of them, the same in all processes.
#[derive(Debug, Clone, Default)]
pub struct Shards {
    /// The number of parts.
    pub count: u32,
    /// The shard of each of the other peers, from 1 on; `None` for peers that get all keys.
    pub of_remotes: Vec<Option<u32>>,
}

impl Shards {
    /// The shard of the remote peer in this place; a shard that does not exist means all keys.
    pub(crate) fn of_remote(&self, at: usize) -> Option<u32> {
        let shard = self.of_remotes.get(at).copied().flatten();
        shard.filter(|shard| (1..=self.count).contains(shard))
    }

    /// The part that a key belongs to.
    pub(crate) fn of_key(&self, key: &[u8]) -> u32 {
        let count = u64::from(self.count.max(1));
        (stdx::xxhash::xxh64(key, 0) % count) as u32 + 1
    }
}

/// A table that the peers share.
#[derive(Debug, Clone)]
pub struct SharedTable {
    /// Its name in messages: that of the proxy, or a slash and its name in the section.
    pub name: Arc<str>,
    /// The table.
    pub table: Arc<Table>,
}
