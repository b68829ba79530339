//! Counts of frames and errors on a connection.

/// Frames and errors, as the statistics module `h3` names them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct H3Counters {
    /// HEADERS frames received.
    pub headers: u32,
    /// DATA frames received.
    pub data: u32,
    /// SETTINGS frames received.
    pub settings: u32,
    /// GOAWAY frames received.
    pub go_aways: u32,
    /// CANCEL_PUSH frames received.
    pub cancelled_pushes: u32,
    /// MAX_PUSH_ID frames received.
    pub max_push_ids: u32,
    /// Requests that the peer has cancelled.
    pub resets: u32,
    /// Errors of the peer that ended the connection.
    pub connection_errors: u32,
    /// Errors of the peer that ended a stream.
    pub stream_errors: u32,
    /// Stream errors among these for malformed requests that no transaction has seen.
    pub refused: u32,
    /// Streams reset by us.
    pub resets_sent: u32,
    /// Field sections that had to wait for the encoder stream.
    pub blocked_sections: u32,
    /// Frames without effect, and errors of the peer.
    pub glitches: u32,
}
