//! Operational and administrative state of a server in one atomic word.
//!
//! Protocol: the word is written only when a check, an operator or DNS changes the state, so its
//! cache line stays shared by all readers. A transition is a compare-and-swap of the whole word.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// Operational state, with the numbers of `show servers state` (management.txt, srv_op_state).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum OpState {
    /// The server is down.
    Stopped = 0,
    /// Up, but throttled by slow start.
    Starting = 1,
    /// Fully up.
    Running = 2,
    /// Up, but asks for no new sessions (404 with `http-check disable-on-404`).
    Stopping = 3,
}

impl OpState {
    fn from_bits(bits: u32) -> Self {
        match bits & 3 {
            0 => Self::Stopped,
            1 => Self::Starting,
            2 => Self::Running,
            _ => Self::Stopping,
        }
    }
}

/// Administrative state: the mask of `show servers state` (management.txt, srv_admin_state).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Admin(pub u8);

impl Admin {
    /// Explicitly forced into maintenance.
    pub const FORCED_MAINT: Self = Self(0x01);
    /// Maintenance inherited from a tracked server.
    pub const INHERITED_MAINT: Self = Self(0x02);
    /// The configuration said `disabled`: why it started in forced maintenance. The bit stays when
    /// maintenance ends, so that the next process knows that an operator has ended it.
    pub const CONFIG_MAINT: Self = Self(0x04);
    /// Explicitly forced into drain.
    pub const FORCED_DRAIN: Self = Self(0x08);
    /// Drain inherited from a tracked server.
    pub const INHERITED_DRAIN: Self = Self(0x10);
    /// Maintenance because the address does not resolve.
    pub const RESOLUTION_MAINT: Self = Self(0x20);
    /// The FQDN was set over the CLI.
    pub const FQDN_CHANGED: Self = Self(0x40);
    /// The bits that operators set and `ready` clears.
    pub const FORCED_BY_OPERATOR: Self = Self(0x09);
    /// Every reason to be in maintenance.
    pub const ANY_MAINT: Self = Self(0x23);
    /// Every reason to be in drain.
    pub const ANY_DRAIN: Self = Self(0x18);

    /// Whether any bit of `mask` is set.
    pub fn any(self, mask: Self) -> bool {
        self.0 & mask.0 != 0
    }

    /// Whether the server is in maintenance, for whatever reason.
    pub fn in_maint(self) -> bool {
        self.any(Self::ANY_MAINT)
    }

    /// Whether the server drains, for whatever reason. Maintenance hides it.
    pub fn in_drain(self) -> bool {
        self.any(Self::ANY_DRAIN)
    }

    /// The union with `mask`.
    #[must_use]
    pub fn with(self, mask: Self) -> Self {
        Self(self.0 | mask.0)
    }

    /// The bits without those of `mask`.
    #[must_use]
    pub fn without(self, mask: Self) -> Self {
        Self(self.0 & !mask.0)
    }
}

/// Both states in one word, so that no reader sees one half of a transition.
#[derive(Debug)]
pub(crate) struct State(AtomicU32);

impl State {
    pub(crate) fn new(op: OpState, admin: Admin) -> Self {
        Self(AtomicU32::new(pack(op, admin)))
    }

    pub(crate) fn get(&self) -> (OpState, Admin) {
        let bits = self.0.load(SeqCst);
        (OpState::from_bits(bits), Admin((bits >> 8) as u8))
    }

    /// Replaces the state by what `change` makes of it; returns the state before.
    pub(crate) fn update(
        &self,
        change: impl Fn(OpState, Admin) -> (OpState, Admin),
    ) -> (OpState, Admin) {
        let step = |bits: u32| {
            let (op, admin) = change(OpState::from_bits(bits), Admin((bits >> 8) as u8));
            Some(pack(op, admin))
        };
        let before = self.0.fetch_update(SeqCst, SeqCst, step).unwrap_or_else(|bits| bits);
        (OpState::from_bits(before), Admin((before >> 8) as u8))
    }
}

fn pack(op: OpState, admin: Admin) -> u32 {
    u32::from(admin.0) << 8 | op as u32
}
