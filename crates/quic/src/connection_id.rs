//! Connection IDs that say which thread a connection belongs to.
//!
//! An ID has 8 bytes: seven of them are random, and the thread's number is hidden in the last one,
//! by a byte that follows from the others and the secret, so that IDs of a connection cannot be
//! linked.

use crate::derive::Hash;
use quinn_proto::{ConnectionId, ConnectionIdGenerator, InvalidCid};
use std::time::Duration;

/// Bytes of an ID.
pub(crate) const LEN: usize = 8;

/// The IDs of one thread.
pub(crate) struct ThreadIds {
    secret: Vec<u8>,
    thread: u8,
    state: u64,
}

impl ThreadIds {
    pub(crate) fn new(secret: &[u8], thread: u8, seed: u64) -> Self {
        Self { secret: Hash::Sha256.hmac(secret, &[b"weir quic ids"]), thread, state: seed }
    }
}

fn mask(secret: &[u8], random: &[u8]) -> u8 {
    Hash::Sha256.hmac(secret, &[random])[0]
}

impl ConnectionIdGenerator for ThreadIds {
    fn generate_cid(&mut self) -> ConnectionId {
        // SplitMix64: the IDs have to differ, and their bytes say nothing without the seed.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mut id = (z ^ z >> 31).to_be_bytes();
        id[LEN - 1] = self.thread ^ mask(&self.secret, &id[..LEN - 1]);
        ConnectionId::new(&id)
    }

    fn validate(&self, _: &ConnectionId) -> Result<(), InvalidCid> {
        Ok(())
    }

    fn cid_len(&self) -> usize {
        LEN
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// Reads the thread from the IDs of packets.
#[derive(Debug)]
pub struct Steering {
    secret: Vec<u8>,
}

impl Steering {
    /// For IDs that were made with this secret.
    pub fn new(secret: &[u8]) -> Self {
        Self { secret: Hash::Sha256.hmac(secret, &[b"weir quic ids"]) }
    }

    /// The thread that a datagram belongs to; `None` for one that begins a connection, or has no
    /// ID of ours.
    pub fn thread_of(&self, datagram: &[u8]) -> Option<u8> {
        let first = *datagram.first()?;
        let id = match first & 0x80 {
            0 => datagram.get(1..1 + LEN)?,
            // Of the long headers, those of Handshake packets always have an ID of ours.
            _ if first & 0x30 == 0x20 && datagram.get(5) == Some(&(LEN as u8)) => {
                datagram.get(6..6 + LEN)?
            }
            _ => return None,
        };
        Some(id[LEN - 1] ^ mask(&self.secret, &id[..LEN - 1]))
    }
}
