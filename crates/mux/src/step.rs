//! What has come from a peer amounts to, whatever the protocol. Never holds a byte.

/// What a head in the input amounted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadStep {
    /// The head is not complete. Keep every byte and pass them again with what comes after.
    NeedMore,
    /// An interim response (1xx but 101): forward it, drop the bytes, and call again for the next
    /// head.
    Interim {
        /// Bytes to drop.
        consumed: usize,
    },
    /// The head is complete.
    Complete {
        /// Bytes to drop.
        consumed: usize,
        /// What follows it.
        body: crate::BodyKind,
    },
}

/// What body bytes in the input amounted to. Nothing dropped, no data and not done means: more
/// bytes are needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BodyStep {
    /// Bytes of framing at the front of the input, to drop.
    pub skip: usize,
    /// Bytes of payload after them, which count as taken.
    pub data: usize,
    /// Whether the message ends with them. What follows belongs to the next one.
    pub done: bool,
}

/// What the end of the peer's stream means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eof {
    /// It came between messages.
    Idle,
    /// It ended the message, as announced, or a tunnel's half.
    MessageEnd,
    /// It came after a complete message: the peer sends no more, the exchange may still be
    /// finished.
    AfterMessage,
    /// It cut a message short.
    Truncated,
}
