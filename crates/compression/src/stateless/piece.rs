//! Encodes one piece of a body into blocks, without memory of the pieces before.

use super::bits::{BitWriter, Remainder};
use super::codes::{self, Code, MAX_MATCH, WINDOW};
use super::scratch::Positions;

/// Most bytes in one piece.
pub(super) const LONGEST: usize = 32_768;

/// Bytes of room that a piece needs beside its own length.
pub(super) const SLACK: usize = 64;

/// Bytes by which a piece may outgrow its input before it is stored instead.
const TOLERANCE: usize = 8;

/// Literals that are encoded at once. Nine-bit codes make them longer by an eighth at most, which
/// together with the tolerance stays within the slack.
const LITERALS: usize = 256;

/// Bytes that are stored before the next attempt to compress.
const STORED: usize = 8_192;

/// Literals after which the search takes longer steps.
const PATIENCE: usize = 7;

const FIXED_BLOCK: Code = Code { bits: 0b010, count: 3 };
const STORED_BLOCK: Code = Code { bits: 0b000, count: 3 };

/// State of the bit stream between pieces.
#[derive(Clone, Copy, Default)]
pub(super) struct Stream {
    pub(super) remainder: Remainder,
    /// A block with fixed codes has begun and not ended.
    pub(super) open: bool,
}

impl Stream {
    /// Ends the block that is open.
    pub(super) fn close(&mut self, writer: &mut BitWriter<'_>) {
        if std::mem::take(&mut self.open) {
            writer.put(codes::END_OF_BLOCK);
        }
    }

    /// Begins a block unless one is open.
    pub(super) fn open(&mut self, writer: &mut BitWriter<'_>) {
        if !std::mem::replace(&mut self.open, true) {
            writer.put(FIXED_BLOCK);
        }
    }
}

/// Bytes of a piece that were encoded, and bytes of output.
pub(super) struct Encoded {
    pub(super) consumed: usize,
    pub(super) produced: usize,
}

/// Encodes `input[from..to]`, or a part of it if that does not compress. `out` has room for the
/// piece and [`SLACK`]; the output is at most [`TOLERANCE`] bytes longer than what was consumed.
pub(super) fn encode(
    stream: &mut Stream,
    positions: &mut Positions<'_>,
    input: &[u8],
    (from, to): (usize, usize),
    out: &mut [u8],
) -> Encoded {
    let before = *stream;
    let mut writer = BitWriter::new(out, stream.remainder);
    stream.open(&mut writer);
    writer.flush();
    match compress(&mut writer, positions, &input[..to], from) {
        Ok(()) => {
            stream.remainder = writer.remainder();
            Encoded { consumed: to - from, produced: writer.written() }
        }
        Err(Incompressible { reached }) => {
            *stream = before;
            let to = to.min(reached.max(from + STORED));
            let produced = store(stream, &input[from..to], out);
            Encoded { consumed: to - from, produced }
        }
    }
}

/// Writes a stored block of at most [`LONGEST`] bytes: at most 7 bytes more than them.
pub(super) fn store(stream: &mut Stream, bytes: &[u8], out: &mut [u8]) -> usize {
    let mut writer = BitWriter::new(out, stream.remainder);
    stream.close(&mut writer);
    put_stored(&mut writer, bytes);
    stream.remainder = Remainder::default();
    writer.written()
}

/// Writes a stored block; with no bytes it only aligns the stream.
pub(super) fn put_stored(writer: &mut BitWriter<'_>, bytes: &[u8]) {
    writer.put(STORED_BLOCK);
    writer.align();
    let length = bytes.len() as u16;
    writer.bytes(&length.to_le_bytes());
    writer.bytes(&(!length).to_le_bytes());
    writer.bytes(bytes);
}

/// The output has become longer than the input up to `reached`.
struct Incompressible {
    reached: usize,
}

fn compress(
    writer: &mut BitWriter<'_>,
    positions: &mut Positions<'_>,
    input: &[u8],
    from: usize,
) -> Result<(), Incompressible> {
    let mut literals = from;
    let mut at = from;
    // The last position with four bytes of its own.
    while at + 4 <= input.len() {
        let bytes = four(input, at);
        let distance = positions.replace(at, bytes);
        // One branch instead of two: a hash that was not seen is as frequent as one that was.
        let candidate = if distance <= at.min(WINDOW) { distance } else { 0 };
        if (four(input, at - candidate) == bytes) & (candidate != 0) {
            emit(writer, input, literals, at, from)?;
            let length = 4 + common(input, at + 4 - distance, at + 4, MAX_MATCH - 4);
            writer.put(codes::length(length));
            writer.put(codes::distance(distance));
            writer.flush();
            at += length;
            literals = at;
            insert_end(positions, input, at);
        } else {
            at += 1 + ((at - literals) >> PATIENCE);
            if at - literals >= LITERALS {
                let to = at.min(input.len());
                emit(writer, input, literals, to, from)?;
                literals = to;
            }
        }
    }
    emit(writer, input, literals, input.len(), from)
}

/// Records the last position of a match: what follows a match often repeats with its end.
#[inline]
fn insert_end(positions: &mut Positions<'_>, input: &[u8], at: usize) {
    if at + 3 <= input.len() {
        positions.insert(at - 1, four(input, at - 1));
    }
}

/// Encodes literals, and gives up when the piece has become longer than its input.
#[inline]
fn emit(
    writer: &mut BitWriter<'_>,
    input: &[u8],
    literals: usize,
    to: usize,
    from: usize,
) -> Result<(), Incompressible> {
    writer.literals(input, literals, to);
    if writer.written() > to - from + TOLERANCE {
        return Err(Incompressible { reached: to });
    }
    Ok(())
}

/// The number of equal bytes from two positions on, `limit` at most.
#[inline]
fn common(input: &[u8], earlier: usize, later: usize, limit: usize) -> usize {
    let end = input.len().min(later + limit);
    let mut at = later;
    let mut behind = earlier;
    while at + 8 <= end {
        let difference = eight(input, at) ^ eight(input, behind);
        if difference != 0 {
            return at - later + (difference.trailing_zeros() / 8) as usize;
        }
        at += 8;
        behind += 8;
    }
    while at < end && input[at] == input[behind] {
        at += 1;
        behind += 1;
    }
    at - later
}

#[inline]
fn four(input: &[u8], at: usize) -> u32 {
    input[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

#[inline]
fn eight(input: &[u8], at: usize) -> u64 {
    input[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
