//! Tests of chunked bodies and trailers: accepted and refused framing, split input, limits.

use htx::Fields;
use proptest::prelude::*;

use crate::h1::{ChunkDecoder, Limits, Reason, SyntaxError, TrailersParser, encode};
use crate::sink::{Sink, SliceSink};

/// Decodes pieces that end at `cuts`; returns the body, whether it ended, and the bytes after it.
fn decode(input: &[u8], cuts: &[usize]) -> Result<(Vec<u8>, bool, usize), Reason> {
    let (mut decoder, mut body, mut at) = (ChunkDecoder::default(), Vec::new(), 0);
    for end in cuts.iter().map(|&c| c.min(input.len())).chain([input.len()]) {
        while at <= end {
            let step = decoder.decode(&input[at..end], Limits::default()).map_err(|e| e.reason)?;
            at += step.skip;
            body.extend_from_slice(&input[at..at + step.data]);
            at += step.data;
            if step.last {
                return Ok((body, true, at));
            }
            if step.data == 0 {
                break;
            }
        }
    }
    Ok((body, false, at))
}

#[test]
fn accepted_framing() {
    let rows = [
        ("2\r\nab\r\n0\r\n", "ab"),
        ("2 \r\nab\r\n00\r\n", "ab"),
        ("2\t;x=y\r\nab\r\n1;q=\"a\\\"\tb\"\r\nc\r\n0;z\r\n", "abc"),
        ("0000000000000002\r\nab\r\n0\r\n", "ab"),
        ("a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n", "01234567890123456789"),
    ];
    for (input, body) in rows {
        let got = decode(input.as_bytes(), &[]);
        assert_eq!(got, Ok((body.as_bytes().to_vec(), true, input.len())), "{input:?}");
    }
}

#[test]
fn refused_framing() {
    let rows = [
        (" 2\r\n", Reason::ChunkSize),
        ("\r\n", Reason::ChunkSize),
        (";x\r\n", Reason::ChunkSize),
        ("0x2\r\n", Reason::ChunkSize),
        ("2x\r\n", Reason::ChunkSize),
        ("2 x\r\n", Reason::ChunkSize),
        ("10000000000000002\r\n", Reason::ChunkSize),
        ("10000000000000\r\n", Reason::ChunkSize),
        ("2\n", Reason::BareLf),
        ("2;a\n", Reason::BareLf),
        ("2 \n", Reason::BareLf),
        ("2\r\nab\n", Reason::BareLf),
        ("2\rX", Reason::StrayCr),
        ("2;a\rb\r\n", Reason::StrayCr),
        ("2;a=\"\r\nab\r\n0\r\n", Reason::ChunkExtension),
        ("2;a=\"b\\\"\r\nab\r\n0\r\n", Reason::ChunkExtension),
        ("2;a=\"b\\\r\nab\r\n0\r\n", Reason::ChunkExtension),
        ("2;a=\"b\"c\"\r\n", Reason::ChunkExtension),
        ("2;a=\"\n", Reason::ChunkExtension),
        ("2;a=\0\r\n", Reason::ChunkExtension),
        ("2;\x0b\r\n", Reason::ChunkExtension),
        ("2;a=\"\x7f\"\r\n", Reason::ChunkExtension),
        ("2\r\nabX", Reason::ChunkEnd),
        ("2\r\nab\rX", Reason::ChunkEnd),
    ];
    for (input, reason) in rows {
        assert_eq!(decode(input.as_bytes(), &[]), Err(reason), "{input:?}");
    }
    let long = format!("2;{}\r\n", "x".repeat(20_000));
    assert_eq!(decode(long.as_bytes(), &[]), Err(Reason::TooLarge));
}

#[test]
fn lenient_readers_take_bare_line_feeds() {
    let limits = Limits { lenient: true, ..Limits::default() };
    let mut decoder = ChunkDecoder::default();
    let step = decoder.decode(b"2;x\nab\n0\n", limits).unwrap();
    assert_eq!((step.skip, step.data), (4, 2));
    assert!(decoder.decode(b"\n0\n", limits).unwrap().last);
    let step = ChunkDecoder::default().decode(b"2;x=\"\0\r\nab", limits).unwrap();
    assert_eq!((step.skip, step.data), (8, 2), "an open quotation mark");
}

#[test]
fn data_can_be_forwarded_without_decoding() {
    let mut decoder = ChunkDecoder::default();
    let step = decoder.decode(b"64\r\n", Limits::default()).unwrap();
    assert_eq!((step.skip, step.data, decoder.data_left()), (4, 0, 100));
    decoder.skip_data(100);
    assert_eq!(decoder.data_left(), 0);
    assert!(decoder.decode(b"\r\n0\r\n", Limits::default()).unwrap().last);
}

fn trailers(input: &[u8]) -> Result<(Vec<u8>, usize, bool), SyntaxError> {
    let mut fields = Fields::default();
    let step = TrailersParser::default().parse(input, Limits::default(), &mut fields)?;
    Ok((fields.runs().flatten().copied().collect(), step.consumed, step.done))
}

#[test]
fn trailer_sections() {
    assert_eq!(trailers(b"\r\nX"), Ok((b"".to_vec(), 2, true)));
    assert_eq!(trailers(b"Foo:a\r\n b\r\n\n"), Ok((b"foo: a   b\r\n".to_vec(), 12, true)));
    assert_eq!(trailers(b"Foo: a\r\nBar"), Ok((b"foo: a\r\n".to_vec(), 8, false)));
    assert_eq!(trailers(b"foo : a\r\n").map_err(|e| e.reason), Err(Reason::FieldName));
    assert_eq!(trailers(b" foo: a\r\n").map_err(|e| e.reason), Err(Reason::FoldWithoutField));
    let many = "a: b\r\n".repeat(102);
    assert_eq!(trailers(many.as_bytes()).map_err(|e| e.reason), Err(Reason::TooManyLines));
    assert_eq!(trailers(b"foo: \0\r\n").map_err(|e| e.reason), Err(Reason::Nul));
    let long = [&[b'a'; 256][..], b": b\r\n"].concat();
    assert_eq!(trailers(&long).map_err(|e| e.reason), Err(Reason::FieldName));
    let large = vec![b'a'; 15_361];
    assert_eq!(trailers(&large).map_err(|e| e.reason), Err(Reason::TooLarge));
}

#[test]
fn chunk_size_lines() {
    for (size, line) in
        [(1, "1\r\n"), (16, "10\r\n"), (0xabc, "ABC\r\n"), (u64::MAX, "FFFFFFFFFFFFFFFF\r\n")]
    {
        assert_eq!(encode::ChunkSize::new(size).as_bytes(), line.as_bytes());
    }
    let mut fields = Fields::default();
    fields.push(b"A", b"b");
    let mut out = Vec::new();
    encode::last_chunk(Some(&fields), &mut out);
    assert_eq!(out, b"0\r\na: b\r\n\r\n");
    assert_eq!(out.len(), encode::last_chunk_len(Some(&fields)));
}

#[test]
fn a_full_sink_returns_an_error() {
    let mut buffer = [0; 4];
    let mut sink = SliceSink::new(&mut buffer);
    sink.put(b"abc");
    assert_eq!(sink.len(), 3);
    sink.put(b"de");
    assert_eq!(sink.finish(), None);
}

proptest! {
    #[test]
    fn any_body_in_any_pieces(
        chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..40), 0..6),
        cuts in proptest::collection::vec(0usize..260, 0..10),
    ) {
        let mut wire = Vec::new();
        for chunk in &chunks {
            wire.put(encode::ChunkSize::new(chunk.len() as u64).as_bytes());
            wire.put(chunk);
            wire.put(encode::CHUNK_END);
        }
        let end = wire.len() + 3;
        encode::last_chunk(None, &mut wire);
        let mut cuts = cuts;
        cuts.sort_unstable();
        let every: Vec<usize> = (0..wire.len()).collect();
        for cuts in [cuts, every] {
            prop_assert_eq!(decode(&wire, &cuts), Ok((chunks.concat(), true, end)));
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(input in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&input, &[]);
        let _ = trailers(&input);
    }
}
