//! Tests of peers that send session messages only.

use super::hand::{Hand, by_hand};
use super::pair::Pair;
use crate::Wire;
use std::io::{self, ErrorKind};

/// Records that arrive together.
const TOGETHER: usize = 20;
/// More session messages than an endpoint may accept.
const TOO_MANY: usize = 10_000;

/// A wire on which there is always more: changes of keys, and a word behind some of them.
struct Endless {
    hand: Hand,
    speaks: bool,
    /// Whether the wire accepts output.
    takes: bool,
    read: usize,
    sent: usize,
}

impl Wire for Endless {
    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        assert!(self.read < TOO_MANY, "it is listened to for ever");
        self.read += TOGETHER;
        let mut bytes: Vec<u8> = (0..TOGETHER).flat_map(|_| self.hand.change_keys()).collect();
        if self.speaks {
            bytes.extend(self.hand.say(b"x"));
        }
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.takes {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.sent += bytes.len();
        Ok(bytes.len())
    }
}

/// A wire that delivers no more bytes.
struct Silent;

impl Wire for Silent {
    fn recv(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(ErrorKind::WouldBlock.into())
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }
}

fn endless(speaks: bool, takes: bool) -> (Pair, Endless) {
    let (pair, hand) = by_hand();
    (pair, Endless { hand, speaks, takes, read: 0, sent: 0 })
}

#[test]
fn endless_key_updates_close_the_connection() {
    let (mut pair, mut wire) = endless(false, true);
    let end = pair.server.recv(&mut wire, &pair.scratch, &mut [0; 64]);
    assert_eq!(end.unwrap_err().kind(), ErrorKind::InvalidData);
    let again = pair.server.recv(&mut wire, &pair.scratch, &mut [0; 64]);
    assert_eq!(again.unwrap_err().kind(), ErrorKind::InvalidData);
}

#[test]
fn a_connection_of_which_nothing_is_expected_is_not_looked_at_for_ever() {
    let (mut pair, mut wire) = endless(false, true);
    assert!(!pair.server.is_quiet(&mut wire, &pair.scratch));
}

#[test]
fn answers_to_a_peer_that_does_not_read_are_bounded() {
    let (mut pair, mut wire) = endless(true, false);
    let mut read = 0;
    if ffi::NAME != "OpenSSL" || pair.server.library().is_none() {
        // At most one answer waits, however many are asked for.
        for _ in 0..TOO_MANY / TOGETHER / 64 {
            assert_eq!(pair.server.recv(&mut wire, &pair.scratch, &mut [0; 64]).unwrap(), 64);
        }
        wire.takes = true;
        pair.server.recv(&mut wire, &pair.scratch, &mut [0; 1]).unwrap();
        assert!(wire.sent < 100, "{}", wire.sent);
        return;
    }
    let end = loop {
        match pair.server.recv(&mut wire, &pair.scratch, &mut [0; 64]) {
            Ok(count) => read += count,
            end => break end,
        }
    };
    assert_eq!(end.unwrap_err().kind(), ErrorKind::InvalidData);
    assert!(read > 10);
}

#[test]
fn a_reading_peer_may_update_its_keys_without_limit() {
    let (mut pair, mut wire) = endless(true, true);
    for _ in 0..TOO_MANY / TOGETHER {
        let read = pair.server.recv(&mut wire, &pair.scratch, &mut [0; 1]);
        assert_eq!(read.unwrap(), 1);
    }
}

#[test]
fn data_behind_a_key_update_is_read() {
    let (mut pair, mut hand) = by_hand();
    let mut buffer = [0; 16];
    pair.up.bytes.extend(hand.change_keys());
    pair.up.bytes.extend(hand.say(b"abc"));
    assert_eq!(pair.server_recv(&mut buffer).unwrap(), 3);
    pair.up.bytes.extend(hand.change_keys());
    assert_eq!(pair.server_recv(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
    pair.up.bytes.extend(hand.say(b"defg"));
    assert_eq!(pair.server_recv(&mut buffer).unwrap(), 4);
    assert_eq!(&buffer[..4], b"defg");
}

#[test]
fn new_keys_behind_the_last_words_leave_a_connection_quiet() {
    let (mut pair, mut hand) = by_hand();
    pair.up.bytes.extend(hand.say(b"abc"));
    pair.up.bytes.extend(hand.change_keys());
    assert_eq!(pair.server_recv(&mut [0; 16]).unwrap(), 3);
    assert!(pair.server.is_quiet(&mut Silent, &pair.scratch));
}
