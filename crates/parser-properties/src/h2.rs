//! Properties of HTTP/2 header blocks, frames, and stream operations in any order.

use htx::{Head, Version};
use mux::h2::{H2Conn, H2ConnSettings, Key};
use mux::{BodyKind, Side};
use std::io::IoSlice;
use wire::h2::frame::HEADER_LEN;
use wire::h2::hpack::{self, Decoder};
use wire::h2::{FrameHeader, FrameType, PREFACE, encode};

/// Decodes a header block with two decoders: both give the same result, no table exceeds its limit,
/// and the decoded fields can be encoded and decoded again.
pub fn header_block(data: &[u8]) {
    let Some((size, block)) = data.split_first() else { return };
    let allowed = u32::from(*size) * 32;
    let (mut one, mut two) = (Decoder::new(allowed), Decoder::new(allowed));
    let mut fields = Vec::new();
    // Beyond this size no caller would keep the fields.
    let mut left = 1 << 20;
    let result = one.decode(block, |name, value| {
        if name.len() + value.len() < left {
            left -= name.len() + value.len();
            fields.push((name.to_vec(), value.to_vec()));
        }
    });
    assert_eq!(result, two.decode(block, |_, _| ()));
    assert!(one.table_size() == two.table_size() && one.table_size() <= allowed as usize);
    let mut again = Vec::new();
    for (name, value) in &fields {
        let id = htx::HeaderId::from_lower(name);
        hpack::field(id, name, value, &mut again);
    }
    let mut all = fields.iter();
    let result = Decoder::new(0).decode(&again, |name, value| {
        let (expected, text) = all.next().expect("as many as were encoded");
        assert!(name == expected && value == text);
    });
    assert!(result.is_ok() && all.next().is_none());
}

/// A connection whose peer has sent its SETTINGS.
fn greeted(side: Side) -> H2Conn {
    let mut conn = H2Conn::new(side, H2ConnSettings::default());
    let mut hello = if side == Side::Client { PREFACE.to_vec() } else { Vec::new() };
    encode::settings(&wire::h2::Settings::default(), &mut hello);
    let taken = conn.handle_input(&hello, 0).expect("a peer may say hello");
    assert_eq!(taken, hello.len());
    conn
}

/// Asserts that the output consists of whole frames.
fn check_output(conn: &mut H2Conn) {
    let mut rest = conn.output().strip_prefix(PREFACE).unwrap_or(conn.output());
    while let Some(header) = FrameHeader::parse(rest) {
        assert!(!matches!(header.kind, FrameType::Unknown(_)) && header.check(16_384).is_ok());
        rest = &rest[HEADER_LEN + header.len as usize..];
    }
    assert!(rest.is_empty(), "a frame was cut off");
    conn.advance_output(conn.output().len());
}

/// The frames of an output without window updates, which depend on how the input is split.
fn without_windows(conn: &H2Conn) -> Vec<u8> {
    let mut rest = conn.output().strip_prefix(PREFACE).unwrap_or(conn.output());
    let mut kept = Vec::new();
    while let Some(header) = FrameHeader::parse(rest) {
        let (frame, next) = rest.split_at((HEADER_LEN + header.len as usize).min(rest.len()));
        if header.kind != FrameType::WindowUpdate {
            kept.extend_from_slice(frame);
        }
        rest = next;
    }
    kept
}

/// Feeds a connection at once and in pieces: the outputs are equal, and the kept state is bounded.
pub fn frames(data: &[u8]) {
    let Some((choice, input)) = data.split_first() else { return };
    let side = if choice & 1 == 0 { Side::Client } else { Side::Server };
    let step = 1 + usize::from(choice >> 1) % 63;
    let (mut whole, mut pieces) = (greeted(side), greeted(side));
    let at_once = whole.handle_input(input, 0);
    let (mut slowly, mut kept) = (Ok(0), Vec::new());
    for piece in input.chunks(step) {
        kept.extend_from_slice(piece);
        slowly = pieces.handle_input(&kept, 0);
        let Ok(taken) = slowly else { break };
        kept.drain(..taken);
    }
    assert_eq!(at_once.is_err(), slowly.is_err(), "{at_once:?} {slowly:?}");
    assert_eq!(without_windows(&whole), without_windows(&pieces));
    assert_eq!(whole.streams(), pieces.streams());
    assert!(whole.streams() <= 1 + input.len() / HEADER_LEN);
    check_output(&mut whole);
}

/// Does one operation of a proxy on a stream.
fn act(conn: &mut H2Conn, key: Key, what: u8, amount: usize) {
    let (mut head, mut buffer) = (Head::default(), [0; 300]);
    match what % 8 {
        0 => drop(conn.handle_head(key, &mut head)),
        1 => drop(conn.read(key, &mut buffer[..amount])),
        2 if !conn.has_sent_head(key) => {
            head.set_response(
                Version::Http11,
                if amount.is_multiple_of(5) { 103 } else { 200 },
                b"",
            );
            let body = if amount.is_multiple_of(2) { BodyKind::Chunked } else { BodyKind::None };
            conn.encode_head(key, &mut head, body, b"http");
        }
        3 if conn.has_sent_head(key) && !conn.has_sent_all(key) => {
            conn.encode_data(key, amount as u64);
            let _ = conn.send(key, &[IoSlice::new(&buffer[..amount])]);
        }
        4 => conn.encode_end(key, None),
        5 => conn.release(key),
        6 => conn.reset(key, wire::h2::ErrorCode::CANCEL),
        _ => drop(conn.want(key, mux::h2::Ready::READ, 1)),
    }
}

/// Mixes bytes from the peer with operations of a proxy in any order: nothing panics, the output
/// consists of frames, and in the end no stream is left.
pub fn operations(data: &[u8]) {
    let mut conn = greeted(Side::Client);
    let (mut keys, mut input, mut rest) = (Vec::new(), Vec::new(), data);
    while let [what, amount, tail @ ..] = rest {
        rest = tail;
        let count = usize::from(*amount).min(rest.len());
        if what & 0x80 != 0 {
            input.extend_from_slice(&rest[..count]);
            rest = &rest[count..];
            match conn.handle_input(&input, u64::from(*what)) {
                Ok(taken) => drop(input.drain(..taken)),
                Err(_) => input.clear(),
            }
        } else if let Some(key) = keys.get(usize::from(what >> 3) % keys.len().max(1)) {
            act(&mut conn, *key, *what, usize::from(*amount));
        }
        while let Some(key) = conn.poll_opened() {
            keys.push(key);
        }
        if what & 0x40 != 0 {
            check_output(&mut conn);
        }
        while conn.take_woken().is_some() {}
    }
    keys.iter().for_each(|key| conn.release(*key));
    assert_eq!(conn.streams(), 0);
    check_output(&mut conn);
}
