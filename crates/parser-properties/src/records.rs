//! Properties of the records that a client sends after its handshake.

use ::records::{Direction, HEADER, MOST_CIPHERTEXT, Opened, RecordLayer, Suite};

const SUITES: [&str; 3] =
    ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"];

/// The most bytes of answers to one record.
const MOST_ANSWER: usize = 64;

/// A first byte that chooses the session, then records: three bytes with type, padding and length,
/// and the content, which a peer with the keys seals, or which are bytes as they are. Nothing
/// panics, both ways of opening agree, lengths are bounded, and answers are short.
pub fn session(data: &[u8]) {
    let Some((&chosen, mut rest)) = data.split_first() else { return };
    let [Some(mut client), Some(mut server), Some(mut other)] =
        [true, false, false].map(|is_client| layer(chosen, is_client))
    else {
        return;
    };
    while let Some((&[kind, padding, length], bytes)) = rest.split_first_chunk() {
        let (content, behind) = bytes.split_at(bytes.len().min(length.into()));
        rest = behind;
        let mut record = Vec::new();
        if padding == 255 {
            record.extend_from_slice(content);
        } else if client.forge(kind, content, padding.into(), &mut record).is_err() {
            return;
        }
        if !receive(&mut server, &mut other, record) {
            return;
        }
        let mut answer = Vec::new();
        let _ = server.answer(&mut answer);
        let _ = other.answer(&mut Vec::new());
        assert!(answer.len() <= MOST_ANSWER && !server.owes());
    }
}

/// Whether the session continues after a record.
fn receive(server: &mut RecordLayer, other: &mut RecordLayer, mut record: Vec<u8>) -> bool {
    let short = record.len().min(HEADER - 1);
    assert_eq!(server.first_length(&record[..short]), Ok(None));
    let Ok(Some(length)) = server.first_length(&record) else { return false };
    assert!(length <= HEADER + MOST_CIPHERTEXT);
    let Some(whole) = record.get_mut(..length) else { return false };
    let mut out = vec![0; length];
    let opened = server.open(whole, &mut out);
    let place = other.open_in_place(whole);
    assert_eq!(opened, place.map(|(opened, _)| opened));
    if let (Ok(Opened::Data(count)), Ok((_, offset))) = (opened, place) {
        assert_eq!(out[..count], whole[offset..offset + count]);
    }
    matches!(opened, Ok(Opened::Data(_) | Opened::Aside))
}

fn layer(chosen: u8, is_client: bool) -> Option<RecordLayer> {
    let suite = Suite::of_name(SUITES[usize::from(chosen) % SUITES.len()])?;
    let (client, server) = if chosen < 128 {
        let secret = |byte| vec![byte; suite.hash.length()];
        (Direction::tls13(suite, &secret(1), 0)?, Direction::tls13(suite, &secret(2), 0)?)
    } else {
        Direction::tls12(suite, &[3; 48], (&[4; 32], &[5; 32]), (0, 0), Some(7))?
    };
    Some(match is_client {
        true => RecordLayer::new(server, client),
        false => RecordLayer::new(client, server),
    })
}
