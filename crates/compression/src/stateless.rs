//! A deflate encoder (RFC 1951) that keeps no history: a match lies within the input of one call.
//!
//! Between calls a stream holds a checksum, the bits of an unfinished byte and a few bytes that the
//! output had no room for. The hash table belongs to the thread and is passed in. All blocks have
//! the fixed codes or are stored, so there is nothing to collect before the first output.

mod bits;
mod codes;
mod piece;
mod scratch;

use crate::framing::{Checksum, Framing};
use crate::progress::{Flush, Progress};
use crate::waiting::{ROOM, Sink, Waiting};
use bits::BitWriter;
use codes::Code;
use piece::{SLACK, Stream};
pub use scratch::Scratch;

/// Bytes of input that one call looks at; a longer input is consumed in several calls.
const LONGEST_INPUT: usize = 1 << 20;

/// Room below which a call that has produced something returns instead of encoding a tiny piece.
const WORTHWHILE: usize = 512;

/// Bytes that are encoded at once when the output is tiny.
const TINY: usize = 8;

/// The last block: an empty block with fixed codes.
const LAST_BLOCK: Code = Code { bits: 0b011, count: 3 };

/// One stream. Its size is a promise: see `size_of_a_stream` in the tests.
pub struct Stateless {
    framing: Framing,
    checksum: Checksum,
    stream: Stream,
    /// Output that waits for room.
    waiting: Waiting,
    stage: Stage,
    /// The output so far decodes to less than the input so far.
    dirty: bool,
    /// The level is 0: no attempt to compress.
    stores: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Header,
    Body,
    Finished,
}

impl Stateless {
    /// A stream at its beginning.
    #[must_use]
    pub fn new(framing: Framing) -> Self {
        Self {
            framing,
            checksum: Checksum::new(framing),
            stream: Stream::default(),
            waiting: Waiting::default(),
            stage: Stage::Header,
            dirty: false,
            stores: false,
        }
    }

    /// Level 0 stores the following input, any other level compresses it.
    pub fn set_level(&mut self, level: u8) {
        self.stores = level == 0;
    }

    /// See [`crate::Encoder::write`].
    pub fn write(
        &mut self,
        input: &[u8],
        output: &mut [u8],
        flush: Flush,
        scratch: &mut Scratch,
    ) -> Progress {
        let mut sink = Sink::new(output);
        let consumed = self.body(input, &mut sink, scratch);
        let complete = consumed == input.len() && self.waiting.is_empty();
        if complete {
            self.end(flush, &mut sink);
        }
        let done = complete && self.waiting.is_empty();
        Progress { consumed, produced: sink.at, done }
    }

    fn body(&mut self, input: &[u8], sink: &mut Sink<'_>, scratch: &mut Scratch) -> usize {
        if self.stage == Stage::Header {
            self.waiting.extend(self.framing.header());
            self.stage = Stage::Body;
        }
        self.waiting.drain(sink);
        if self.stage == Stage::Finished {
            return 0;
        }
        let input = &input[..input.len().min(LONGEST_INPUT)];
        let consumed = self.pieces(input, sink, scratch);
        self.checksum.update(&input[..consumed]);
        self.dirty |= consumed > 0;
        consumed
    }

    /// Encodes as much of the input as the output has room for.
    fn pieces(&mut self, input: &[u8], sink: &mut Sink<'_>, scratch: &mut Scratch) -> usize {
        let mut positions = scratch.begin(input.len());
        let mut consumed = 0;
        while consumed < input.len() && self.waiting.is_empty() {
            let left = input.len() - consumed;
            let out = sink.rest();
            if out.len() <= SLACK {
                if consumed > 0 || out.is_empty() {
                    break;
                }
                consumed += self.tiny(&input[consumed..], sink);
                continue;
            }
            let length = left.min(out.len() - SLACK).min(piece::LONGEST);
            if length < left && consumed > 0 && out.len() < WORTHWHILE {
                break;
            }
            let range = (consumed, consumed + length);
            let encoded = if self.stores {
                let produced = piece::store(&mut self.stream, &input[range.0..range.1], out);
                piece::Encoded { consumed: length, produced }
            } else {
                piece::encode(&mut self.stream, &mut positions, input, range, out)
            };
            consumed += encoded.consumed;
            sink.at += encoded.produced;
        }
        consumed
    }

    /// Encodes a few literals by way of the waiting bytes, because the output has no room for a
    /// piece.
    fn tiny(&mut self, input: &[u8], sink: &mut Sink<'_>) -> usize {
        let count = input.len().min(TINY);
        self.encode_waiting(|stream, writer| {
            stream.open(writer);
            writer.flush();
            writer.literals(input, 0, count);
        });
        self.waiting.drain(sink);
        count
    }

    /// Carries out the caller's flush, once all input is encoded.
    fn end(&mut self, flush: Flush, sink: &mut Sink<'_>) {
        match flush {
            Flush::None => {}
            Flush::Sync => self.sync(),
            Flush::Finish => self.finish(),
        }
        self.waiting.drain(sink);
    }

    /// Aligns the output so that a decoder has all of the input so far: an empty stored block.
    fn sync(&mut self) {
        if !std::mem::take(&mut self.dirty) {
            return;
        }
        self.encode_waiting(|stream, writer| {
            stream.close(writer);
            piece::put_stored(writer, &[]);
        });
    }

    fn finish(&mut self) {
        if self.stage == Stage::Finished {
            return;
        }
        self.encode_waiting(|stream, writer| {
            stream.close(writer);
            writer.put(LAST_BLOCK);
            writer.put(codes::END_OF_BLOCK);
            writer.align();
        });
        let (trailer, length) = self.checksum.trailer();
        self.waiting.extend(&trailer[..length]);
        self.stage = Stage::Finished;
        self.dirty = false;
    }

    fn encode_waiting(&mut self, encode: impl FnOnce(&mut Stream, &mut BitWriter<'_>)) {
        let mut room = [0; ROOM];
        let mut writer = BitWriter::new(&mut room, self.stream.remainder);
        encode(&mut self.stream, &mut writer);
        writer.flush();
        self.stream.remainder = writer.remainder();
        let written = writer.written();
        self.waiting.extend(&room[..written]);
    }
}

#[cfg(test)]
mod tests;
