//! Events that a stream of a shared connection waits for, in any protocol.

/// An event that a stream waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready(pub(crate) u8);

impl Ready {
    /// A head, payload, or the end of the message.
    pub const READ: Self = Self(1);
    /// Room for payload: window and output.
    pub const WRITE: Self = Self(2);
    /// A reset by the peer.
    pub const RESET: Self = Self(4);
    /// Room for a head that others may follow, such as an interim response.
    pub const ROOM: Self = Self(8);
    /// Any of these.
    pub(crate) const ANY: Self = Self(15);
}

/// The stream was reset, or its connection is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamGone;
