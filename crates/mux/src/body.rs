//! How the end of a message body is determined, in any protocol version.

/// How the end of a message body is determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// There is no body, whatever the headers announce (HEAD, 204, 304, a request without length).
    None,
    /// This many bytes.
    Length(u64),
    /// In chunks, or in frames: the protocol marks the end, and trailers may follow.
    Chunked,
    /// Until the connection closes.
    UntilClose,
    /// Not a body: the connection now carries opaque bytes both ways (101, or CONNECT accepted).
    Tunnel,
}

impl BodyKind {
    /// Whether no byte of body will come.
    pub fn is_empty(self) -> bool {
        matches!(self, Self::None | Self::Length(0))
    }
}
