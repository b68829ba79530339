//! Nonces: no two records of a direction share one, and counters do not wrap.

use super::{Pair, Version, opened, sessions};
use crate::direction::MOST_RECORDS;
use crate::{Opened, RecordError};
use proptest::prelude::*;
use std::collections::HashSet;

/// Steps of a session.
#[derive(Clone, Copy, Debug)]
enum Action {
    Data(usize),
    Close,
    UpdateKeys(bool),
    /// The counter continues at another number, as after so many records.
    Skip(u64),
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        8 => (0usize..2_000).prop_map(Action::Data),
        1 => Just(Action::Close),
        2 => any::<bool>().prop_map(Action::UpdateKeys),
        1 => (0u64..MOST_RECORDS / 8).prop_map(Action::Skip),
    ]
}

proptest! {
    #[test]
    fn nonces_never_repeat_under_a_key(actions in prop::collection::vec(action(), 1..60)) {
        for (version, suite) in sessions() {
            let mut pair = Pair::new(version, suite);
            let mut seen = HashSet::new();
            for action in &actions {
                let (before, mut out) = (pair.client.writer.sequence, Vec::new());
                let key = pair.client.writer.key().to_vec();
                match *action {
                    Action::Data(count) => pair.client.seal(&[&vec![7; count]], &mut out).unwrap(),
                    Action::Close => pair.client.close(&mut out).unwrap(),
                    Action::UpdateKeys(request) => pair.client.update_keys(request, &mut out).unwrap(),
                    Action::Skip(count) => pair.client.writer.sequence += count,
                }
                if out.is_empty() {
                    continue;
                }
                let explicit = pair.client.writer.is_explicit();
                let nonce = pair.client.writer.nonce(
                    before,
                    explicit.then(|| *out[5..].first_chunk().unwrap()),
                );
                // After new keys the static nonce is another one, and so is the key.
                let sealed = (key.clone(), if key == pair.client.writer.key() { nonce.to_vec() } else {
                    before.to_be_bytes().to_vec()
                });
                prop_assert!(seen.insert(sealed), "{version:?} {suite} {action:?}");
            }
        }
    }
}

#[test]
fn explicit_nonces_count_from_the_first_one() {
    let mut pair = Pair::new(Version::Tls12, "TLS_AES_128_GCM_SHA256");
    let mut out = Vec::new();
    pair.server.writer.sequence = 1;
    pair.server.seal(&[b"x"], &mut out).unwrap();
    assert_eq!(out[5..13], 78u64.to_be_bytes(), "the library has used number 0 of 77");
}

#[test]
fn sequence_numbers_do_not_wrap() {
    for (version, suite) in sessions() {
        let mut pair = Pair::new(version, suite);
        pair.client.writer.sequence = u64::MAX - 1;
        pair.server.reader.sequence = u64::MAX - 1;
        if pair.client.writer.is_worn() {
            // These get new keys long before.
            continue;
        }
        let record = pair.client_record(b"the last one");
        assert_eq!(opened(&mut pair.server, &record).unwrap().1, b"the last one");
        let mut out = Vec::new();
        assert_eq!(pair.client.seal(&[b"x"], &mut out), Err(RecordError::Exhausted));
        assert_eq!(pair.client.close(&mut out), Err(RecordError::Exhausted));
        assert_eq!(out, b"");
        assert_eq!(opened(&mut pair.server, &record), Err(RecordError::Exhausted));
    }
}

#[test]
fn keys_of_aes_gcm_are_replaced_before_they_wear_out() {
    for suite in ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"] {
        let mut pair = Pair::new(Version::Tls13, suite);
        for layer in [&mut pair.client.writer, &mut pair.server.reader] {
            layer.sequence = MOST_RECORDS - 1;
        }
        let last = pair.client_record(b"last");
        assert_eq!(opened(&mut pair.server, &last).unwrap().1, b"last");
        let both = pair.client_record(b"first");
        let update = pair.server.first_length(&both).unwrap().unwrap();
        assert_eq!(opened(&mut pair.server, &both[..update]).unwrap().0, Opened::Aside);
        assert_eq!(opened(&mut pair.server, &both[update..]).unwrap().1, b"first");
        assert_eq!((pair.client.sequences().1, pair.server.sequences().0), (1, 1));
        assert!(!pair.server.owes());
    }
}

#[test]
fn a_peer_whose_keys_wear_out_is_asked_for_new_ones_once() {
    let mut pair = Pair::new(Version::Tls13, "TLS_AES_128_GCM_SHA256");
    pair.server.reader.sequence = MOST_RECORDS;
    pair.client.writer.sequence = MOST_RECORDS;
    let mut out = Vec::new();
    pair.server.seal(&[b"one"], &mut out).unwrap();
    pair.server.seal(&[b"two"], &mut out).unwrap();
    let mut seen = Vec::new();
    let mut rest = &out[..];
    while let Some(length) = pair.client.first_length(rest).unwrap() {
        seen.push(opened(&mut pair.client, &rest[..length]).unwrap());
        rest = &rest[length..];
    }
    let data = |data: &[u8]| (Opened::Data(data.len()), data.to_vec());
    assert_eq!(seen, [(Opened::Aside, vec![]), data(b"one"), data(b"two")]);
    assert!(pair.client.owes());
    let both = pair.client_record(b"new");
    let update = pair.server.first_length(&both).unwrap().unwrap();
    assert_eq!(opened(&mut pair.server, &both[..update]).unwrap().0, Opened::Aside);
    assert_eq!(opened(&mut pair.server, &both[update..]).unwrap().1, b"new");
    assert!(!pair.server.reader.is_worn() && !pair.server.requested);
}

#[test]
fn chacha20_and_tls12_have_no_new_keys() {
    for (version, suite) in sessions() {
        if version == Version::Tls13 && suite != "TLS_CHACHA20_POLY1305_SHA256" {
            continue;
        }
        let mut pair = Pair::new(version, suite);
        pair.client.writer.sequence = MOST_RECORDS + 9;
        pair.server.reader.sequence = MOST_RECORDS + 9;
        let record = pair.client_record(b"data");
        assert_eq!(opened(&mut pair.server, &record).unwrap().1, b"data");
    }
}
