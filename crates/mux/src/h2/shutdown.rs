//! The graceful end of a connection in two steps (RFC 9113 section 6.8).
//!
//! A server that names the last stream at once would lose requests in flight. So the first GOAWAY
//! names no last stream: the client opens no more streams, and those opened before it knew are
//! served. A PING is sent with it, whose answer arrives after all of these; then, or when the
//! caller has waited long enough, a second GOAWAY names the last stream. Servers open no streams,
//! so one GOAWAY is enough towards them.

use super::conn::H2Conn;
use crate::Side;
use wire::h2::{ErrorCode, MAX_STREAM_ID, encode};

/// The payload of the PING that goes with the first GOAWAY.
const PING: [u8; 8] = *b"goodbye?";

/// Phase of the graceful shutdown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Shutdown {
    #[default]
    NotBegun,
    /// The peer was asked to open no more streams; streams opened meanwhile are served.
    Announced,
    /// Streams above this one are ignored.
    Final(u32),
}

impl Shutdown {
    /// The last stream that is served, once it is known.
    pub(super) fn last_stream(self) -> Option<u32> {
        match self {
            Self::Final(last) => Some(last),
            Self::NotBegun | Self::Announced => None,
        }
    }

    /// Makes this stream the last one served, unless there is a last one already.
    pub(super) fn close_at(&mut self, last: u32) {
        if self.last_stream().is_none() {
            *self = Self::Final(last);
        }
    }
}

impl H2Conn {
    /// Begins a graceful shutdown: open streams continue, and streams opened before the peer learns
    /// of it are served. The answer to the PING continues the shutdown; the caller bounds that wait
    /// with [`H2Conn::finish_shutdown`].
    pub fn begin_shutdown(&mut self) {
        if self.shutdown != Shutdown::NotBegun || self.broken.is_some() {
            return;
        }
        self.shutdown = Shutdown::Announced;
        if self.side == Side::Server {
            return self.finish_shutdown();
        }
        encode::go_away(MAX_STREAM_ID, ErrorCode::NO_ERROR, &mut self.out);
        encode::ping(&PING, &mut self.out);
    }

    /// Sends the GOAWAY with the last stream that is served.
    pub fn finish_shutdown(&mut self) {
        if self.shutdown.last_stream().is_none() && self.broken.is_none() {
            self.shutdown = Shutdown::Final(self.last_peer);
            encode::go_away(self.last_peer, ErrorCode::NO_ERROR, &mut self.out);
        }
    }

    /// Whether the peer was asked to open no more streams, and may not know it yet.
    pub fn announces_shutdown(&self) -> bool {
        self.shutdown == Shutdown::Announced && self.broken.is_none()
    }

    /// Whether this PING answer shows that the peer has received the announcement.
    pub(super) fn ends_announcement(&self, payload: &[u8]) -> bool {
        self.announces_shutdown() && payload == PING
    }

    /// Counts a stream of the peer; the last one that the settings allow begins the shutdown.
    pub(super) fn count_accepted(&mut self) {
        self.accepted = self.accepted.saturating_add(1);
        if self.accepted == self.settings.max_total_streams {
            self.begin_shutdown();
        }
    }
}
