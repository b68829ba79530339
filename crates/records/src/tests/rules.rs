//! The rules of RFC 8446 sections 4.6.3, 5, 6 and 7.2 and of RFC 5246 section 6.2.3.3, one by one
//! (`docs/tls-records.md` names them).

use super::{Pair, Version, opened, sessions};
use crate::header::{ContentType, Header, additional_data};
use crate::schedule::{Hmac, expand_label};
use crate::{HEADER, MOST_PLAIN, Opened, RecordError, RecordLayer};
use ffi::TAG;
use proptest::prelude::*;

const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;

/// A record with any content of any type, and any padding with TLS 1.3, that is authentic.
fn forged(layer: &mut RecordLayer, content: u8, plain: &[u8], padding: usize) -> Vec<u8> {
    let mut out = Vec::new();
    layer.forge(content, plain, padding, &mut out).unwrap();
    out
}

/// The result of the server for a record of the client with this content.
fn result(version: Version, content: u8, plain: &[u8]) -> Result<Opened, RecordError> {
    let mut pair = Pair::new(version, "TLS_AES_128_GCM_SHA256");
    let record = forged(&mut pair.client, content, plain, 0);
    pair.server.first_length(&record)?;
    opened(&mut pair.server, &record).map(|(opened, _)| opened)
}

#[test]
fn data_of_every_length_arrives_in_both_ways_of_opening() {
    for (version, suite) in sessions() {
        let mut pair = Pair::new(version, suite);
        for length in (0..600).step_by(7).chain([511, 512, 513, MOST_PLAIN - 1, MOST_PLAIN]) {
            let data: Vec<u8> = (0..length).map(|place| place as u8).collect();
            let record = pair.client_record(&data);
            assert_eq!(record.len(), length + pair.client.overhead());
            assert_eq!(
                opened(&mut pair.server, &record).unwrap(),
                (Opened::Data(length), data.clone())
            );
            let record = pair.client_record(&data);
            let mut out = vec![9; record.len() - HEADER - TAG];
            assert!(pair.server.fits(record.len(), out.len()));
            assert_eq!(pair.server.open(&record, &mut out), Ok(Opened::Data(length)));
            assert_eq!(out[..length], data);
        }
    }
}

#[test]
fn parts_share_a_record() {
    for (version, suite) in sessions() {
        let mut pair = Pair::new(version, suite);
        for length in [3, 400, 4_000] {
            let part = vec![5; length];
            let mut record = Vec::new();
            pair.client.seal(&[b"head", b"", &part, b"tail"], &mut record).unwrap();
            let expected = [b"head", &part[..], b"tail"].concat();
            assert_eq!(opened(&mut pair.server, &record).unwrap().1, expected);
        }
    }
}

#[test]
fn more_than_a_record_takes_is_refused() {
    for (version, suite) in sessions() {
        let mut pair = Pair::new(version, suite);
        let mut out = Vec::new();
        let long = vec![0; MOST_PLAIN + 1];
        assert_eq!(pair.client.seal(&[&long], &mut out), Err(RecordError::Library));
        assert_eq!((out.len(), pair.client.sequences().1), (0, 0));
    }
}

#[test]
fn records_in_another_order_or_twice_are_not_authentic() {
    for (version, suite) in sessions() {
        let mut pair = Pair::new(version, suite);
        let (first, second) = (pair.client_record(b"first"), pair.client_record(b"second"));
        assert_eq!(opened(&mut pair.server, &second), Err(RecordError::BadMac));
        let mut pair = Pair::new(version, suite);
        assert!(opened(&mut pair.server, &first).is_ok());
        assert_eq!(opened(&mut pair.server, &first), Err(RecordError::BadMac));
    }
}

#[test]
fn every_changed_bit_is_found() {
    for (version, suite) in sessions() {
        let record = Pair::new(version, suite).client_record(b"data");
        for bit in 0..record.len() * 8 {
            let mut changed = record.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let mut pair = Pair::new(version, suite);
            let result = opened(&mut pair.server, &changed);
            assert!(result.is_err(), "{version:?} {suite} {bit} {result:?}");
        }
    }
}

#[test]
fn ciphertext_beyond_its_limit_is_an_overflow() {
    for (version, most) in
        [(Version::Tls13, MOST_PLAIN + 256), (Version::Tls12, MOST_PLAIN + 2_048)]
    {
        let pair = Pair::new(version, "TLS_AES_128_GCM_SHA256");
        let header = |length| Header::write(ContentType::ApplicationData, length);
        assert_eq!(pair.server.first_length(&header(most)), Ok(Some(most + HEADER)));
        assert_eq!(pair.server.first_length(&header(most + 1)), Err(RecordError::Overflow));
        assert_eq!(pair.server.first_length(&header(TAG - 1)), Err(RecordError::BadMac));
        assert_eq!(pair.server.first_length(&header(most)[..4]), Ok(None));
    }
    assert_eq!(RecordError::Overflow.alert(), Some(22));
}

#[test]
fn plaintext_beyond_its_limit_is_an_overflow() {
    for version in [Version::Tls12, Version::Tls13] {
        assert_eq!(result(version, DATA, &vec![1; MOST_PLAIN]), Ok(Opened::Data(MOST_PLAIN)));
        assert_eq!(result(version, DATA, &vec![1; MOST_PLAIN + 1]), Err(RecordError::Overflow));
    }
}

#[test]
fn padding_is_removed_and_counts_for_the_limit() {
    let mut pair = Pair::new(Version::Tls13, "TLS_AES_128_GCM_SHA256");
    for (data, padding) in [(&b"data"[..], 1), (b"", 100), (b"\0\0", 3), (b"x", MOST_PLAIN - 1)] {
        let record = forged(&mut pair.client, DATA, data, padding);
        let expected = (Opened::Data(data.len()), data.to_vec());
        assert_eq!(opened(&mut pair.server, &record).unwrap(), expected);
    }
    let record = forged(&mut pair.client, DATA, b"x", MOST_PLAIN);
    assert_eq!(opened(&mut pair.server, &record), Err(RecordError::Overflow));
}

#[test]
fn padding_alone_is_an_unexpected_message() {
    let mut pair = Pair::new(Version::Tls13, "TLS_AES_128_GCM_SHA256");
    let record = forged(&mut pair.client, 0, b"", 20);
    assert_eq!(opened(&mut pair.server, &record), Err(RecordError::Unexpected));
    assert_eq!(RecordError::Unexpected.alert(), Some(10));
}

#[test]
fn other_types_of_content_are_unexpected() {
    for version in [Version::Tls12, Version::Tls13] {
        for content in [1, 20, 24, 25, 255] {
            let result = result(version, content, b"\x01");
            assert_eq!(result, Err(RecordError::Unexpected), "{version:?} {content}");
        }
    }
}

#[test]
fn unprotected_records_are_unexpected_after_a_handshake() {
    let server = Pair::new(Version::Tls13, "TLS_AES_128_GCM_SHA256").server;
    for content in [20, 21, 22, 24] {
        let record = [content, 3, 3, 0, 20];
        assert_eq!(server.first_length(&record), Err(RecordError::Unexpected), "{content}");
    }
}

#[test]
fn the_version_of_a_record_matters_up_to_tls12_only() {
    let record = |minor| [23, 3, minor, 0, 30];
    let server = Pair::new(Version::Tls12, "TLS_AES_128_GCM_SHA256").server;
    assert_eq!(server.first_length(&record(1)), Err(RecordError::Version));
    let server = Pair::new(Version::Tls13, "TLS_AES_128_GCM_SHA256").server;
    assert_eq!(server.first_length(&record(1)), Ok(Some(35)));
}

#[test]
fn empty_data_is_read_and_empty_messages_are_unexpected() {
    for version in [Version::Tls12, Version::Tls13] {
        assert_eq!(result(version, DATA, b""), Ok(Opened::Data(0)));
        assert_eq!(result(version, HANDSHAKE, b""), Err(RecordError::Unexpected));
        assert_eq!(result(version, ALERT, b""), Err(RecordError::Unexpected));
    }
}

#[test]
fn alerts_end_the_session_except_for_harmless_ones() {
    use Version::{Tls12, Tls13};
    for (version, alert, expected) in [
        (Tls12, [1, 0], Ok(Opened::Closed)),
        (Tls13, [1, 0], Ok(Opened::Closed)),
        (Tls13, [2, 0], Ok(Opened::Closed)),
        (Tls13, [1, 90], Ok(Opened::Aside)),
        (Tls12, [1, 90], Ok(Opened::Aside)),
        (Tls12, [1, 42], Ok(Opened::Aside)),
        (Tls12, [1, 100], Err(RecordError::Alert(100))),
        (Tls13, [1, 42], Err(RecordError::Alert(42))),
        (Tls13, [2, 40], Err(RecordError::Alert(40))),
        (Tls12, [2, 40], Err(RecordError::Alert(40))),
        (Tls13, [9, 40], Err(RecordError::Alert(40))),
        (Tls12, [9, 40], Err(RecordError::IllegalParameter)),
    ] {
        assert_eq!(result(version, ALERT, &alert), expected, "{version:?} {alert:?}");
    }
    assert_eq!(RecordError::Alert(40).alert(), None, "an alert is not answered");
    assert_eq!(RecordError::Alert(40).reason(), 1_040);
}

#[test]
fn an_alert_is_two_bytes_in_a_record_of_its_own() {
    for version in [Version::Tls12, Version::Tls13] {
        assert_eq!(result(version, ALERT, &[1]), Err(RecordError::Decode));
        assert_eq!(result(version, ALERT, &[1, 0, 1, 0]), Err(RecordError::Decode));
    }
}

#[test]
fn warnings_have_a_limit_in_a_row() {
    for (version, suite) in sessions() {
        let mut pair = Pair::new(version, suite);
        for round in 0..3 {
            for _ in 0..5 {
                let record = forged(&mut pair.client, ALERT, &[1, 90], 0);
                assert_eq!(opened(&mut pair.server, &record).unwrap().0, Opened::Aside, "{round}");
            }
            let record = pair.client_record(b"data");
            assert!(opened(&mut pair.server, &record).is_ok());
        }
        let results = [(); 6].map(|()| {
            let record = forged(&mut pair.client, ALERT, &[1, 90], 0);
            opened(&mut pair.server, &record).map(|(opened, _)| opened)
        });
        assert_eq!(results[5], Err(RecordError::TooManyWarnings));
    }
}

#[test]
fn new_keys_are_used_for_what_follows_and_answered_once() {
    for suite in super::SUITES {
        let mut pair = Pair::new(Version::Tls13, suite);
        for round in 0..4 {
            let mut out = Vec::new();
            pair.client.update_keys(true, &mut out).unwrap();
            assert_eq!(opened(&mut pair.server, &out).unwrap().0, Opened::Aside);
            assert!(pair.server.owes());
            out.clear();
            pair.client.update_keys(true, &mut out).unwrap();
            assert_eq!(opened(&mut pair.server, &out).unwrap().0, Opened::Aside);
            let record = pair.client_record(b"after");
            assert_eq!(opened(&mut pair.server, &record).unwrap().1, b"after", "{round}");
            out.clear();
            pair.server.seal(&[b"answer"], &mut out).unwrap();
            let update = pair.client.first_length(&out).unwrap().unwrap();
            assert_eq!(opened(&mut pair.client, &out[..update]).unwrap().0, Opened::Aside);
            assert_eq!(opened(&mut pair.client, &out[update..]).unwrap().1, b"answer");
            assert!(!pair.server.owes() && !pair.client.owes());
        }
    }
}

#[test]
fn updated_secrets_are_derived_from_the_ones_before() {
    // RFC 8446 section 7.2, beside a derivation by hand.
    let mut pair = Pair::new(Version::Tls13, "TLS_AES_128_GCM_SHA256");
    let mut next = [0; 32];
    let hmac = |secret: &[u8]| Hmac::new(crate::Hash::Sha256, secret);
    expand_label(&hmac(&[1; 32]), b"traffic upd", &mut next);
    let mut key = [0; 16];
    expand_label(&hmac(&next), b"key", &mut key);
    pair.client.update_keys(false, &mut Vec::new()).unwrap();
    assert_eq!(pair.client.writer.key(), key);
    assert_eq!(pair.client.sequences().1, 0, "the counter begins again");
}

#[test]
fn malformed_key_updates_end_the_session() {
    let update = |bytes: &[u8]| result(Version::Tls13, HANDSHAKE, bytes);
    assert_eq!(update(&[24, 0, 0, 1, 0]), Ok(Opened::Aside));
    assert_eq!(update(&[24, 0, 0, 1, 1]), Ok(Opened::Aside));
    assert_eq!(update(&[24, 0, 0, 1, 2]), Err(RecordError::IllegalParameter));
    assert_eq!(update(&[24, 0, 0, 0]), Err(RecordError::Decode));
    assert_eq!(update(&[24, 0, 0, 2, 0, 0]), Err(RecordError::Decode));
    assert_eq!(update(&[24, 0, 0, 1, 0, 24]), Err(RecordError::Unexpected), "keys change after it");
    assert_eq!(RecordError::IllegalParameter.alert(), Some(47));
    assert_eq!(RecordError::Decode.alert(), Some(50));
}

#[test]
fn other_handshake_messages_are_unexpected() {
    for kind in [0, 1, 2, 4, 8, 11, 13, 15, 20, 254] {
        let message = [kind, 0, 0, 1, 0];
        assert_eq!(result(Version::Tls13, HANDSHAKE, &message), Err(RecordError::Unexpected));
        let expected = match kind {
            1 => Ok(Opened::Aside),
            _ => Err(RecordError::Unexpected),
        };
        assert_eq!(result(Version::Tls12, HANDSHAKE, &message), expected, "{kind}");
    }
}

#[test]
fn key_updates_may_arrive_in_pieces_with_nothing_in_between() {
    let mut pair = Pair::new(Version::Tls13, "TLS_AES_128_GCM_SHA256");
    for byte in [24, 0, 0, 1] {
        let record = forged(&mut pair.client, HANDSHAKE, &[byte], 0);
        assert_eq!(opened(&mut pair.server, &record).unwrap().0, Opened::Aside);
        assert!(!pair.server.owes());
    }
    let mut last = forged(&mut pair.client, HANDSHAKE, &[1], 3);
    assert_eq!(opened(&mut pair.server, &last).unwrap().0, Opened::Aside);
    assert!(pair.server.owes());
    for (content, plain) in [(DATA, &b"x"[..]), (ALERT, &[1, 90])] {
        let mut pair = Pair::new(Version::Tls13, "TLS_AES_128_GCM_SHA256");
        last = forged(&mut pair.client, HANDSHAKE, &[24, 0], 0);
        assert!(opened(&mut pair.server, &last).is_ok());
        let record = forged(&mut pair.client, content, plain, 0);
        assert_eq!(opened(&mut pair.server, &record), Err(RecordError::Unexpected));
    }
}

#[test]
fn renegotiation_is_refused_with_a_warning() {
    for suite in super::SUITES {
        let mut pair = Pair::new(Version::Tls12, suite);
        let mut hello = vec![1, 0, 1, 0];
        hello.extend([7; 256]);
        for part in hello.chunks(100) {
            let record = forged(&mut pair.client, HANDSHAKE, part, 0);
            assert_eq!(opened(&mut pair.server, &record).unwrap().0, Opened::Aside);
        }
        let mut out = Vec::new();
        assert!(pair.server.owes());
        pair.server.answer(&mut out).unwrap();
        assert!(!pair.server.owes());
        assert_eq!(pair.server.sequences().1, 1, "one answer");
        assert_eq!(out[0], ALERT);
        assert_eq!(opened(&mut pair.client, &out), Err(RecordError::Alert(100)));
        let record = pair.client_record(b"goes on");
        assert_eq!(opened(&mut pair.server, &record).unwrap().1, b"goes on");
    }
}

#[test]
fn closing_and_failing_are_told_by_alerts() {
    for (version, suite) in sessions() {
        let mut pair = Pair::new(version, suite);
        let mut out = Vec::new();
        pair.server.close(&mut out).unwrap();
        assert_eq!(opened(&mut pair.client, &out).unwrap().0, Opened::Closed);
        out.clear();
        pair.server.fail(RecordError::Alert(40), &mut out).unwrap();
        assert_eq!(out, b"");
        pair.server.fail(RecordError::BadMac, &mut out).unwrap();
        assert_eq!(opened(&mut pair.client, &out), Err(RecordError::Alert(20)));
    }
}

/// RFC 5246 section 6.2.3.3: `seq_num + type + version + length`.
#[test]
fn additional_data_of_tls12_has_number_type_version_and_length() {
    let data = additional_data(0x0102_0304_0506_0708, ContentType::ApplicationData, 0x0a0b);
    assert_eq!(data, [1, 2, 3, 4, 5, 6, 7, 8, 23, 3, 3, 0x0a, 0x0b]);
}

proptest! {
    #[test]
    fn no_input_panics(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 20u8..25) {
        for (version, suite) in sessions() {
            let mut pair = Pair::new(version, suite);
            let _ = pair.server.first_length(&bytes);
            let _ = opened(&mut pair.server, &bytes);
            let _ = pair.server.open(&bytes, &mut [0; 50]);
            let mut pair = Pair::new(version, suite);
            let record = forged(&mut pair.client, kind, &bytes, bytes.len());
            let _ = opened(&mut pair.server, &record);
            let _ = pair.server.answer(&mut Vec::new());
        }
    }
}
