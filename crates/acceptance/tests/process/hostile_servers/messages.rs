//! Malformed answers: h2spec's generic/4 and http2/8.

use super::*;

/// A header list that is no answer: the stream ends, and the connection continues.
const fn malformed(what: &'static str, says: &'static [Frame]) -> Case {
    case("http2/8.1.2", what, says, Told::Reset(PROTOCOL_ERROR), Got::Failed)
}

/// The same, after the head of a valid response.
const fn cut(what: &'static str, says: &'static [Frame]) -> Case {
    case("http2/8.1.2", what, says, Told::Reset(PROTOCOL_ERROR), Got::Cut)
}

const fn head(block: &'static [u8]) -> Frame {
    Frame(HEADERS, END_STREAM | END_HEADERS, 1, block)
}

const fn trailers(block: &'static [u8]) -> Frame {
    Frame(HEADERS, END_STREAM | END_HEADERS, 1, block)
}

/// A field of 16,000 bytes.
const LONG: [u8; 16_007] = {
    let mut block = [b'a'; 16_007];
    let start = *b"\x88\x00\x01a\x7f\x81\x7c";
    let mut at = 0;
    while at < start.len() {
        block[at] = start[at];
        at += 1;
    }
    block
};

pub(super) const CASES: &[Case] = &[
    fine("generic/4", "an answer without a body", &[ANSWER]),
    fine("generic/4", "an answer with a body", &[HEAD, END]),
    fine("generic/4", "trailers", &[HEAD, Frame(DATA, 0, 1, b"a"), trailers(b"\0\x01a\x01b")]),
    fine(
        "generic/4",
        "interim answers",
        &[Frame(HEADERS, 4, 1, b"\x08\x03103"), Frame(HEADERS, 4, 1, b"\x08\x03100"), ANSWER],
    ),
    malformed("upper case", &[head(b"\x88\0\x03X-A\x01b")]),
    malformed("a name that is no token", &[head(b"\x88\0\x03x a\x01b")]),
    malformed("an empty name", &[head(b"\x88\0\0\x01b")]),
    malformed("a line break in a value", &[head(b"\x88\0\x01x\x04a\r\nb")]),
    malformed("a NUL in a value", &[head(b"\x88\0\x01x\x03a\0b")]),
    malformed("an unknown pseudo-field", &[head(b"\x88\0\x05:test\x02ok")]),
    malformed("a pseudo-field of requests", &[head(b"\x88\x84")]),
    malformed("a pseudo-field behind a field", &[head(b"\0\x01a\x01b\x88")]),
    malformed("no :status", &[head(b"\0\x01a\x01b")]),
    malformed("an empty list", &[head(b"")]),
    malformed("two :status", &[head(b"\x88\x88")]),
    malformed(":status of two digits", &[head(b"\x08\x0220")]),
    malformed(":status that is no number", &[head(b"\x08\x03abc")]),
    malformed(":status 101", &[head(b"\x08\x03101")]),
    malformed("an interim answer that ends", &[head(b"\x08\x03103")]),
    malformed("connection", &[head(b"\x88\0\x0aconnection\x05close")]),
    malformed("keep-alive", &[head(b"\x88\0\x0akeep-alive\x01a")]),
    malformed("proxy-connection", &[head(b"\x88\0\x10proxy-connection\x01a")]),
    malformed("transfer-encoding", &[head(b"\x88\0\x11transfer-encoding\x07chunked")]),
    malformed("upgrade", &[head(b"\x88\0\x07upgrade\x03h2c")]),
    malformed(
        "a list beyond the limit",
        &[Frame(HEADERS, 1, 1, &LONG), Frame(CONTINUATION, 4, 1, &LONG)],
    ),
    malformed("DATA before a head", &[Frame(DATA, 1, 1, b"a")]),
    malformed("content-length without a body", &[head(b"\x88\x0f\x0d\x013")]),
    cut("less than content-length", &[Frame(HEADERS, 4, 1, b"\x88\x0f\x0d\x013"), END]),
    cut("more than content-length", &[Frame(HEADERS, 4, 1, b"\x88\x0f\x0d\x011"), END]),
    cut(
        "more than content-length in two frames",
        &[Frame(HEADERS, 4, 1, b"\x88\x0f\x0d\x012"), Frame(DATA, 0, 1, b"a"), END],
    ),
    malformed("two lengths", &[Frame(HEADERS, 4, 1, b"\x88\x0f\x0d\x011\x0f\x0d\x012")]),
    malformed("a length that is no number", &[Frame(HEADERS, 4, 1, b"\x88\x0f\x0d\x01a")]),
    cut("trailers that do not end", &[HEAD, Frame(HEADERS, 4, 1, b"\0\x01a\x01b")]),
    cut("a pseudo-field in trailers", &[HEAD, trailers(b"\x88")]),
    cut("upper case in trailers", &[HEAD, trailers(b"\0\x01A\x01b")]),
    fatal("abuse", "empty DATA", &EMPTY, ENHANCE_YOUR_CALM).cut(),
    fatal("abuse", "empty CONTINUATION", &ENDLESS, ENHANCE_YOUR_CALM),
    fatal("abuse", "a header block without end", &ENORMOUS, ENHANCE_YOUR_CALM),
];

const EMPTY: [Frame; 300] = {
    let mut frames = [Frame(DATA, 0, 1, b""); 300];
    frames[0] = HEAD;
    frames
};

const ENDLESS: [Frame; 300] = {
    let mut frames = [Frame(CONTINUATION, 0, 1, b""); 300];
    frames[0] = Frame(HEADERS, 1, 1, b"\x88");
    frames
};

const ENORMOUS: [Frame; 10] = {
    let mut frames = [Frame(CONTINUATION, 0, 1, &[0; 16_000]); 10];
    frames[0] = Frame(HEADERS, 1, 1, b"\x88");
    frames
};
