//! The record layer of one session.

use crate::contexts::{self, Lease};
use crate::direction::Direction;
use crate::handshake_messages::HandshakeMessages;
use crate::header;

/// The record layer of a session whose handshake is over.
#[derive(Debug)]
pub struct RecordLayer {
    pub(crate) reader: Direction,
    pub(crate) writer: Direction,
    pub(crate) lease: Lease,
    pub(crate) messages: HandshakeMessages,
    /// Warnings in a row.
    pub(crate) warnings: u8,
    /// The answer that the peer gets before the next data.
    pub(crate) owed: Owed,
    /// New keys were requested from the peer, and it has not sent them.
    pub(crate) requested: bool,
}

/// An answer that is owed to the peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Owed {
    #[default]
    Nothing,
    /// New keys, which it has asked for (RFC 8446 section 4.6.3).
    KeyUpdate,
    /// The refusal to renegotiate (RFC 5246 section 7.2.2).
    Refusal,
}

impl RecordLayer {
    /// A layer that reads and writes with these keys, which are of the same version.
    pub fn new(reader: Direction, writer: Direction) -> Self {
        Self {
            reader,
            writer,
            lease: Lease::default(),
            messages: HandshakeMessages::default(),
            warnings: 0,
            owed: Owed::Nothing,
            requested: false,
        }
    }

    /// Bytes that a record has beside its content, header included.
    #[inline]
    pub fn overhead(&self) -> usize {
        header::overhead(self.writer.is_tls13(), self.writer.is_explicit())
    }

    /// The numbers of the next records, read and written, under the current keys.
    pub fn sequences(&self) -> (u64, u64) {
        (self.reader.sequence, self.writer.sequence)
    }
}

impl Drop for RecordLayer {
    fn drop(&mut self) {
        contexts::forget(&mut self.lease);
    }
}
