//! Counts of frames and errors on a connection.

/// Frames and errors, as the statistics module `h2` names them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// HEADERS frames received.
    pub headers: u32,
    /// DATA frames received.
    pub data: u32,
    /// SETTINGS frames received.
    pub settings: u32,
    /// RST_STREAM frames received.
    pub resets: u32,
    /// GOAWAY frames received.
    pub go_aways: u32,
    /// Errors of the peer that ended the connection.
    pub connection_errors: u32,
    /// Errors of the peer that ended a stream.
    pub stream_errors: u32,
    /// Stream errors among these for malformed requests that opened no stream.
    pub refused: u32,
    /// Streams of the peer that were refused because memory is short.
    pub memory_refused: u32,
    /// RST_STREAM frames sent.
    pub resets_sent: u32,
    /// GOAWAY frames sent for errors of the peer.
    pub go_aways_sent: u32,
    /// Glitches, whether or not the threshold was reached.
    pub glitches: u32,
}
