//! Header blocks: h2spec's generic/5 and hpack.

use super::*;

const fn block(what: &'static str, says: &'static [Frame]) -> Case {
    fine("generic/5", what, says)
}

/// A block that cannot be decoded ends the connection.
const fn broken(class: &'static str, what: &'static str, says: &'static [Frame]) -> Case {
    fatal(class, what, says, COMPRESSION_ERROR)
}

const fn head(block: &'static [u8]) -> Frame {
    Frame(HEADERS, END_STREAM | END_HEADERS, 1, block)
}

pub(super) const CASES: &[Case] = &[
    block("indexed", &[head(b"\x88")]),
    block("literal, indexed from now on, known name", &[head(b"\x88\x61\x01a")]),
    block("literal, indexed from now on", &[head(b"\x88\x40\x01a\x01b\xbe")]),
    block("literal, known name", &[head(b"\x88\x0f\x12\x01a")]),
    block("literal", &[head(b"\x88\x00\x01a\x01b")]),
    block("literal, never indexed, known name", &[head(b"\x88\x1f\x12\x01a")]),
    block("literal, never indexed", &[head(b"\x88\x10\x01a\x01b")]),
    block("Huffman", &[head(b"\x88\x00\x01a\x81\x1f")]),
    block("the table shrinks", &[head(b"\x20\x88")]),
    block("the table shrinks and grows", &[head(b"\x20\x3f\xe1\x1f\x88\x40\x01a\x01b\xbe")]),
    block(
        "the table is used by trailers",
        &[
            Frame(HEADERS, END_HEADERS, 1, b"\x88\x40\x01a\x01b"),
            Frame(HEADERS, END_STREAM | END_HEADERS, 1, b"\xbe"),
        ],
    ),
    broken("hpack/2.3.3", "no such entry", &[head(b"\xc6")]),
    broken("hpack/2.3.3", "no such name", &[head(b"\x88\x7f\x07\x01a")]),
    broken("hpack/4.2", "the size of the table comes last", &[head(b"\x88\x20")]),
    broken(
        "hpack/5.1",
        "a number without end",
        &[head(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")],
    ),
    broken("hpack/5.2", "padding of more than seven bits", &[head(b"\x88\0\x01x\x82\x1f\xff")]),
    broken("hpack/5.2", "padding with zeros", &[head(b"\x88\0\x01x\x81\x18")]),
    broken(
        "hpack/5.2",
        "the end of a string within it",
        &[head(b"\x88\0\x01x\x84\xff\xff\xff\xff")],
    ),
    broken("hpack/5.2", "a string that is cut off", &[head(b"\x88\0\x05x")]),
    broken("hpack/6.1", "entry 0", &[head(b"\x80")]),
    broken("hpack/6.3", "a table larger than allowed", &[head(b"\x3f\xe2\x1f\x88")]),
    fatal(
        "http2/4.3",
        "a block that cannot be decoded, in trailers",
        &[HEAD, Frame(HEADERS, END_STREAM | END_HEADERS, 1, b"\xc6")],
        COMPRESSION_ERROR,
    )
    .cut(),
];
