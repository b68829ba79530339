//! What the configuration decides about an HTTP/1 connection. Plain data.

use wire::h1::Limits;

/// When connections close after a message. Ordered by strength: of a frontend's and a backend's,
/// the greater holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// `option http-keep-alive`: both stay open when the peers agree.
    #[default]
    KeepAlive,
    /// `option http-server-close`: the server's closes, the client's stays open.
    ServerClose,
    /// `option httpclose`: both close.
    Close,
}

/// Settings of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Bounds on what the peer may send.
    pub limits: Limits,
    /// When the connection closes.
    pub mode: Mode,
}
