//! Records of the next checks of servers.

use std::cmp::Ordering;

/// A sleeping check: plain data that may move between threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Record {
    /// The backend, by index.
    pub backend: u32,
    /// The server in it.
    pub slot: u32,
    /// When it is due: monotonic milliseconds, the same for all threads.
    pub due: u64,
    /// The whole time that the check sleeps, in milliseconds.
    pub interval: u32,
    /// The check has changed threads since it woke up, and stays on this one.
    pub moved: bool,
    /// The check is an agent check.
    pub agent: bool,
}

/// A request to run the check of a server earlier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EarlyCheck {
    /// The backend, by index.
    pub backend: u32,
    /// The server in it.
    pub slot: u32,
    /// Milliseconds from now.
    pub within: u32,
}

impl Ord for Record {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |it: &Self| (it.due, it.backend, it.slot, it.agent, it.interval, it.moved);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Record {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
