//! What a peer did wrong. Never written to a client: the caller picks the reply by status.

use std::fmt;

/// Who broke the protocol.
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
pub struct Error {
    /// The status that the client should get: 400, 422 or 502.
    pub status: u16,
    /// Who broke the protocol.
    pub fault: Fault,
    /// Offset of the first wrong byte in the input, when one byte is to blame.
    pub at: Option<usize>,
    /// A short text for logs and `show errors`.
    pub reason: &'static str,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason)?;
        self.at.map_or(Ok(()), |at| write!(f, " at offset {at}"))
    }
}

impl std::error::Error for Error {}
