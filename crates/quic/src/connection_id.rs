//! Connection IDs that say which process and thread a connection belongs to.
//!
//! An ID has ten bytes: six of them are random. A mask that follows from them and the key hides the
//! other four (a check byte, the number of the process and the thread's number), so that IDs of a
//! connection cannot be linked. The check byte and the zeroes in a thread's number tell IDs of ours
//! from those that clients draw for their first packets.

use quinn_proto::{ConnectionId, ConnectionIdGenerator, InvalidCid};
use std::time::Duration;
use stdx::siphash::{SipKey, siphash};

/// Bytes of an ID.
pub(crate) const LEN: usize = 10;

/// Random bytes of an ID.
const RANDOM: usize = 6;

/// The value of the check byte.
const CHECK: u8 = 0xc5;

/// The process and the thread that a connection belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionOwner {
    /// The process: a successor has another number than the processes before it that still run.
    pub process: u8,
    /// The thread, from 0.
    pub thread: u16,
}

/// Reads the owner of connections from the IDs of packets.
#[derive(Clone, Copy, Debug)]
pub struct Steering {
    key: SipKey,
}

impl Steering {
    /// For IDs that are made with the key that belongs to this secret.
    pub fn new(secret: &[u8]) -> Self {
        let made = crate::derive::Hash::Sha256.hmac(secret, &[b"weir quic ids"]);
        let word = |at: usize| made[at..at + 8].iter().fold(0, |all, it| all << 8 | u64::from(*it));
        Self { key: [word(0), word(8)] }
    }

    /// For IDs that are made with this key.
    pub fn with_key(key: SipKey) -> Self {
        Self { key }
    }

    /// The owner of the connection that a datagram belongs to; `None` if the ID of its first packet
    /// is not of ours, as is the case for the first packets of a connection.
    pub fn owner_of(&self, datagram: &[u8]) -> Option<ConnectionOwner> {
        let first = *datagram.first()?;
        let id = match first & 0x80 {
            0 => datagram.get(1..1 + LEN)?,
            _ => Some(destination(datagram)?).filter(|id| id.len() == LEN)?,
        };
        let (random, hidden) = id.split_at_checked(RANDOM)?;
        let mask = self.mask(random);
        let [check, process, high, low] = [0, 1, 2, 3].map(|n| hidden[n] ^ mask[n]);
        let thread = u16::from_be_bytes([high, low]);
        (check == CHECK).then_some(ConnectionOwner { process, thread })
    }

    /// The place, below `count`, of a connection that begins with this datagram: the same for all
    /// packets with the ID that the client has drawn. `None` for packets that begin no connection.
    pub fn place_of(&self, datagram: &[u8], count: usize) -> Option<usize> {
        let is_long = datagram.first()? & 0x80 != 0;
        let id = destination(datagram).filter(|_| is_long && count > 0)?;
        Some((siphash(self.key, id) % count as u64) as usize)
    }

    fn mask(&self, random: &[u8]) -> [u8; 8] {
        siphash(self.key, random).to_le_bytes()
    }
}

/// The destination connection ID of a packet with a long header.
fn destination(datagram: &[u8]) -> Option<&[u8]> {
    let len = usize::from(*datagram.get(5)?);
    datagram.get(6..6 + len)
}

/// The IDs of one thread.
pub(crate) struct ThreadIds {
    steering: Steering,
    owner: ConnectionOwner,
    /// The key of the random bytes, which follow from a counter.
    seed: SipKey,
    count: u64,
}

impl ThreadIds {
    pub(crate) fn new(steering: Steering, owner: ConnectionOwner, seed: SipKey) -> Self {
        Self { steering, owner, seed, count: 0 }
    }
}

impl ConnectionIdGenerator for ThreadIds {
    fn generate_cid(&mut self) -> ConnectionId {
        self.count = self.count.wrapping_add(1);
        let mut id = [0; LEN];
        let random = siphash(self.seed, &self.count.to_le_bytes()).to_le_bytes();
        id[..RANDOM].copy_from_slice(&random[..RANDOM]);
        let mask = self.steering.mask(&id[..RANDOM]);
        let [high, low] = self.owner.thread.to_be_bytes();
        let hidden = [CHECK, self.owner.process, high, low];
        for (n, byte) in hidden.into_iter().enumerate() {
            id[RANDOM + n] = byte ^ mask[n];
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const KEY: SipKey = [3, 4];

    fn ids(process: u8, thread: u16) -> ThreadIds {
        let owner = ConnectionOwner { process, thread };
        ThreadIds::new(Steering::with_key(KEY), owner, [u64::from(thread), 9])
    }

    fn packet(first: u8, id: &[u8]) -> Vec<u8> {
        let mut bytes = vec![first];
        if first & 0x80 != 0 {
            bytes.extend_from_slice(&[0, 0, 0, 1, id.len() as u8]);
        }
        bytes.extend_from_slice(id);
        bytes.extend_from_slice(&[0; 30]);
        bytes
    }

    #[test]
    fn owners_are_read_from_packets_of_all_kinds() {
        let steering = Steering::with_key(KEY);
        let mut seen = HashSet::new();
        for (process, thread) in [(0, 0), (1, 7), (255, 1_023)] {
            let mut ids = ids(process, thread);
            for _ in 0..1_000 {
                let id = ids.generate_cid();
                assert!(seen.insert(id), "IDs differ");
                let owner = Some(ConnectionOwner { process, thread });
                for first in [0x40, 0xc0, 0xd0, 0xe0, 0xf0] {
                    assert_eq!(steering.owner_of(&packet(first, &id)), owner);
                }
            }
        }
        let foreign = packet(0x40, &ids(1, 1).generate_cid());
        assert_eq!(Steering::with_key([3, 5]).owner_of(&foreign), None);
    }

    #[test]
    fn ids_of_clients_and_pieces_of_packets_have_no_owner() {
        let steering = Steering::with_key(KEY);
        let id = ids(2, 2).generate_cid();
        for first in [0x40, 0xc0] {
            let whole = packet(first, &id);
            let most = whole.len() - 30;
            assert!((0..most).all(|len| steering.owner_of(&whole[..len]).is_none()));
        }
        for len in [0, 8, 9, 11, 20, 255] {
            assert_eq!(steering.owner_of(&packet(0xc0, &vec![7; len])), None);
        }
        let drawn = (0..100_000u64).filter(|n| {
            let random = siphash([1, 1], &n.to_le_bytes()).to_le_bytes();
            let id = [&random[..], &[1, 2]].concat();
            let owner = steering.owner_of(&packet(0xc0, &id));
            owner.is_some_and(|owner| owner.process < 2 && owner.thread < 64)
        });
        assert_eq!(drawn.count(), 0, "IDs that clients draw look like ours once in 2^25");
    }

    #[test]
    fn packets_that_begin_a_connection_share_a_place() {
        let steering = Steering::with_key(KEY);
        let mut places = HashSet::new();
        for n in 0..100 {
            let id = [n; 8];
            let place = steering.place_of(&packet(0xc0, &id), 4);
            assert_eq!(place, steering.place_of(&packet(0xd0, &id), 4), "early data");
            places.insert(place);
        }
        assert_eq!(places.len(), 4);
        assert_eq!(steering.place_of(&packet(0x40, &[1; 10]), 4), None);
        assert_eq!(steering.place_of(&packet(0xc0, &[1; 10]), 0), None);
    }
}
