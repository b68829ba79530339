//! The graceful end of a connection in two steps (RFC 9114 section 5.2).
//!
//! The first GOAWAY names no stream that a client could have opened: the client opens no more, and
//! requests in flight are served. The caller waits, and the second GOAWAY names the last stream.

use super::conn::H3Conn;
use super::send::Target;
use wire::h3::encode;

/// The stream that the first GOAWAY names: the highest one of a client.
const MAX_REQUEST: u64 = (1 << 62) - 4;

/// Phase of the graceful shutdown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum GoAway {
    #[default]
    NotSent,
    /// The peer was asked to open no more streams; streams opened meanwhile are served.
    Announced,
    /// Streams from this one on are refused.
    Final(u64),
}

impl GoAway {
    /// The first stream that is refused, once it is known.
    pub(super) fn last_stream(self) -> Option<u64> {
        match self {
            Self::Final(first) => Some(first),
            Self::NotSent | Self::Announced => None,
        }
    }
}

impl H3Conn {
    /// Begins a graceful shutdown: open streams continue, and streams opened before the peer learns
    /// of it are served. The caller ends the wait with [`H3Conn::finish_shutdown`].
    pub fn begin_shutdown(&mut self) {
        if self.go_away == GoAway::NotSent && self.broken.is_none() {
            self.go_away = GoAway::Announced;
            self.write_own(Target::Control, |out| encode::go_away(MAX_REQUEST, out));
        }
    }

    /// Sends the GOAWAY with the first stream that is not served.
    pub fn finish_shutdown(&mut self) {
        if self.go_away.last_stream().is_none() && self.broken.is_none() {
            let first = self.next_request;
            self.go_away = GoAway::Final(first);
            self.write_own(Target::Control, |out| encode::go_away(first, out));
        }
    }

    /// Whether the peer was asked to open no more streams, and may not know it yet.
    pub fn announces_shutdown(&self) -> bool {
        self.go_away == GoAway::Announced && self.broken.is_none()
    }
}
