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

    /// A process that replaces no other one.
    pub fn new(local: impl Into<Arc<str>>) -> Settings {
        Settings {
            local: local.into(),
            remotes: Vec::new(),
            pid: 1,
            max_updates: Settings::MAX_UPDATES,
            max_message: 16_384,
            replaces: false,
        }
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
