//! Results of reading from a peer, in any protocol version.

/// Result of reading a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadStep {
    /// The head is not complete. Keep every byte, and pass the bytes again together with later
    /// ones.
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
        /// Kind of the body that follows.
        body: crate::BodyKind,
    },
}

/// Result of reading a body. With nothing dropped, no data and not done, more bytes are needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BodyStep {
    /// Bytes of framing at the front of the input, to drop.
    pub skip: usize,
    /// Bytes of payload after them, which count as consumed.
    pub data: usize,
    /// Whether the message ends with them. Bytes after them belong to the next message.
    pub done: bool,
}

/// Meaning of the end of the peer's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eof {
    /// The end came between messages.
    Idle,
    /// The end completed a message, or one direction of a tunnel.
    MessageEnd,
    /// The end came after a complete message: the peer sends no more, and the exchange can still be
    /// completed.
    AfterMessage,
    /// The end truncated a message.
    Truncated,
}
