//! `peers` sections that run: the group of each, which the runtime socket reads as well.

use peers::{Group, Settings, Shards, SharedTable};
use settings::{PeersSection, Process};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, MutexGuard};
use stdx::Mutex;
use table::Table;

/// A section. The thread that owns it locks the group once per batch of messages.
pub struct PeerGroup {
    /// Its settings.
    pub settings: Arc<PeersSection>,
    /// Wake-ups of the task that runs the group's actions.
    pub turns: AtomicU64,
    group: Mutex<Group>,
}

impl PeerGroup {
    /// A section with its tables, which begins at `now` (monotonic milliseconds).
    pub(super) fn new(
        process: &Process,
        settings: &Arc<PeersSection>,
        tables: &[Arc<Table>],
        now: u64,
    ) -> Self {
        let shared = |(name, index): &(Arc<str>, usize)| {
            let table = tables.get(*index)?.clone();
            Some(SharedTable { name: name.clone(), table })
        };
        let tables = settings.tables.iter().filter_map(shared).collect();
        let group = Group::new(group_settings(process, settings), tables, settings.seed, now);
        Self { settings: settings.clone(), turns: AtomicU64::new(0), group: Mutex::new(group) }
    }

    /// The group.
    pub fn lock(&self) -> MutexGuard<'_, Group> {
        self.group.lock()
    }
}

fn group_settings(process: &Process, settings: &PeersSection) -> Settings {
    Settings {
        remotes: settings.remotes.iter().map(|peer| peer.name.clone()).collect(),
        shards: Shards {
            count: settings.shards,
            of_remotes: settings.remotes.iter().map(|peer| peer.shard).collect(),
        },
        pid: process.pid,
        max_updates: settings.max_updates.unwrap_or(Settings::MAX_UPDATES),
        max_message: process.buffer_size,
        replaces: settings.replaces,
        ..Settings::new(settings.local.clone())
    }
}
