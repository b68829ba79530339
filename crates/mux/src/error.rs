//! Protocol errors of a peer.

use std::fmt;

/// The peer that broke the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The client: answer `status` and close.
    Client,
    /// The server: its connection is unusable; the client gets `status` if nothing was sent to it
    /// yet.
    Server,
}

/// A message that cannot be accepted. Retrying the same bytes gives the same error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageError {
    /// The status that the client should get: 400, 422, 502 or 503.
    pub status: u16,
    /// The peer that broke the protocol.
    pub fault: Fault,
    /// Offset of the first invalid byte in the input, if a single byte is invalid.
    pub at: Option<usize>,
    /// A short text for logs and `show errors`.
    pub reason: &'static str,
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason)?;
        self.at.map_or(Ok(()), |at| write!(f, " at offset {at}"))
    }
}

impl std::error::Error for MessageError {}
