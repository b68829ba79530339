//! Settings of an HTTP/1 connection.

use wire::h1::Limits;

/// When connections close after an exchange. Ordered by strength: the greater one of frontend and
/// backend applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConnectionMode {
    /// `option http-keep-alive`: both connections stay open if the peers agree.
    #[default]
    KeepAlive,
    /// `option http-server-close`: the server connection closes, the client connection stays open.
    ServerClose,
    /// `option httpclose`: both connections close.
    Close,
}

/// Settings of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct H1ConnSettings {
    /// Limits on received messages.
    pub limits: Limits,
    /// When the connection closes.
    pub mode: ConnectionMode,
}
