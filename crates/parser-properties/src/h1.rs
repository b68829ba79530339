//! Properties of HTTP/1 heads and chunked bodies, whole and in pieces.

use htx::{Fields, Head};
use wire::h1::{ChunkDecoder, HeadKind, HeadParser, Limits, SyntaxError, TrailersParser};

/// Result of a head parser on input that grows at each of `cuts`.
fn parse(
    kind: HeadKind,
    input: &[u8],
    cuts: impl Iterator<Item = usize>,
    head: &mut Head,
) -> Result<Option<usize>, SyntaxError> {
    let mut parser = HeadParser::new();
    for end in cuts {
        if let Some(len) = parser.parse(kind, &input[..end], Limits::default(), head)? {
            return Ok(Some(len));
        }
    }
    Ok(None)
}

/// Parses a request or a response at once and byte by byte: both results are equal, and no field
/// contains a line end.
pub fn head(data: &[u8]) {
    let Some((choice, input)) = data.split_first() else { return };
    let kind = if choice & 1 == 0 { HeadKind::Request } else { HeadKind::Response };
    let input = &input[..input.len().min(20_000)];
    let (mut whole, mut pieces) = (Head::default(), Head::default());
    let at_once = parse(kind, input, std::iter::once(input.len()), &mut whole);
    let step = 1 + usize::from(choice >> 1) % 7;
    let cuts = (0..input.len()).step_by(step).chain([input.len()]);
    let slowly = parse(kind, input, cuts, &mut pieces);
    assert_eq!(at_once.is_ok(), slowly.is_ok(), "{at_once:?} {slowly:?}");
    for error in [&at_once, &slowly].into_iter().filter_map(|it| it.as_ref().err()) {
        assert!(error.at <= input.len(), "{error:?}");
    }
    let (Ok(Some(len)), Ok(Some(other))) = (at_once, slowly) else { return };
    assert!(len == other && len <= input.len());
    assert!(whole.fields().eq(pieces.fields()), "pieces made another head");
    for field in whole.fields() {
        assert!(!field.name.is_empty() && field.name.iter().all(u8::is_ascii_graphic));
        assert!(!field.value.iter().any(|byte| matches!(byte, b'\r' | b'\n')));
    }
    // A line grows by at most two bytes, for a bare line feed.
    assert!(whole.wire_len() <= 2 * input.len() + 4);
}

/// Body and length of a chunked message that arrives in pieces of `step` bytes; `None` if it is
/// incomplete.
fn decode(input: &[u8], step: usize) -> Result<Option<(Vec<u8>, usize)>, SyntaxError> {
    let (mut decoder, mut body, mut at) = (ChunkDecoder::default(), Vec::new(), 0);
    for end in (0..input.len()).step_by(step).chain([input.len()]) {
        while at <= end {
            let step = decoder.decode(&input[at..end], Limits::default())?;
            at += step.skip;
            body.extend_from_slice(&input[at..at + step.data]);
            at += step.data;
            if step.last {
                return trailers(&input[at..]).map(|len| len.map(|len| (body, at + len)));
            }
            if step.data == 0 {
                break;
            }
        }
    }
    Ok(None)
}

fn trailers(input: &[u8]) -> Result<Option<usize>, SyntaxError> {
    let mut fields = Fields::default();
    let step = TrailersParser::default().parse(input, Limits::default(), &mut fields)?;
    assert!(step.consumed <= input.len());
    Ok(step.done.then_some(step.consumed))
}

/// Decodes a chunked body at once and in pieces: both give the same bytes, and not more than the
/// input.
pub fn chunks(data: &[u8]) {
    let Some((choice, input)) = data.split_first() else { return };
    let whole = decode(input, input.len().max(1));
    let pieces = decode(input, 1 + usize::from(*choice) % 9);
    match (&whole, &pieces) {
        (Ok(one), Ok(other)) => assert_eq!(one, other),
        (Err(one), Err(other)) => assert_eq!(one.reason, other.reason),
        _ => panic!("{whole:?} at once, {pieces:?} in pieces"),
    }
    if let Ok(Some((body, len))) = whole {
        assert!(body.len() <= input.len() && len <= input.len());
    }
}
