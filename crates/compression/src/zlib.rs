//! The deflate encoder with history, for levels above 1 and a tuned window: `zlib-rs`.
//!
//! The library makes a raw deflate stream; header, checksum and trailer are made here. So a new
//! level can begin with a new stream at the end of a flush: blocks of deflate streams can be joined
//! there.

use crate::framing::{Checksum, Framing};
use crate::progress::{EncodeError, Flush, Progress};
use crate::tuning::Tuning;
use crate::waiting::{Sink, Waiting};
use zlib_rs::{Deflate, DeflateConfig, DeflateError, DeflateFlush, Status};

/// The smallest window that the library takes.
const MIN_WINDOW_BITS: u8 = 9;
const MAX_WINDOW_BITS: u8 = 15;

/// Room below which output goes through the waiting bytes. A flush needs more than six bytes in one
/// piece, or the library begins it again in the next call.
const MIN_ROOM: usize = 32;

/// One stream.
pub struct Zlib {
    deflate: Deflate,
    checksum: Checksum,
    waiting: Waiting,
    stage: ZlibStage,
    /// Input was consumed since the last completed flush.
    dirty: bool,
    level: u8,
    /// The level from the next completed flush on.
    next_level: u8,
    memory: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ZlibStage {
    Body,
    /// The deflate stream is complete, the trailer may wait.
    Finished,
}

/// Bytes that a stream with these settings allocates, rounded up.
pub(crate) fn most_memory(window_bits: u8, memory_level: u8) -> usize {
    const HEADS: usize = 128 * 1024;
    /// The state of the library and the value here.
    const STATE: usize = 18 * 1024;
    let window = 1_usize << window_bits.clamp(MIN_WINDOW_BITS, MAX_WINDOW_BITS);
    let symbols = 1_usize << (memory_level.clamp(1, 9) + 6);
    // The window twice, with two bytes of history links for each position; four bytes of pending
    // output and three of symbols for each symbol.
    window * 4 + symbols * 7 + HEADS + STATE
}

impl Zlib {
    /// A stream at its beginning.
    #[must_use]
    pub fn new(framing: Framing, tuning: &Tuning) -> Self {
        let window_bits = tuning.window_bits.clamp(MIN_WINDOW_BITS, MAX_WINDOW_BITS);
        let level = tuning.level.min(9);
        let config = DeflateConfig {
            level: i32::from(level),
            // Negative: without framing.
            window_bits: -i32::from(window_bits),
            mem_level: i32::from(tuning.memory_level.clamp(1, 9)),
            ..DeflateConfig::default()
        };
        let mut waiting = Waiting::default();
        waiting.extend(framing.header());
        Self {
            deflate: Deflate::new_with_config(config),
            checksum: Checksum::new(framing),
            waiting,
            stage: ZlibStage::Body,
            dirty: false,
            level,
            next_level: level,
            memory: most_memory(tuning.window_bits, tuning.memory_level),
        }
    }

    /// Changes the level at the end of the next flush.
    pub fn set_level(&mut self, level: u8) {
        self.next_level = level.min(9);
    }

    /// Bytes allocated, rounded up.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// See [`crate::Encoder::write`].
    pub fn write(
        &mut self,
        input: &[u8],
        output: &mut [u8],
        flush: Flush,
    ) -> Result<Progress, EncodeError> {
        let mut sink = Sink::new(output);
        self.waiting.drain(&mut sink);
        let (consumed, done) = match self.stage {
            ZlibStage::Body if self.is_idle(input, flush) => (0, true),
            ZlibStage::Body => self.body(input, &mut sink, flush)?,
            ZlibStage::Finished => (0, input.is_empty()),
        };
        self.waiting.drain(&mut sink);
        Ok(Progress { consumed, produced: sink.at, done: done && self.waiting.is_empty() })
    }

    /// A flush without input since the last one has nothing to do.
    fn is_idle(&self, input: &[u8], flush: Flush) -> bool {
        input.is_empty() && flush != Flush::Finish && !(self.dirty && flush == Flush::Sync)
    }

    fn body(
        &mut self,
        input: &[u8],
        sink: &mut Sink<'_>,
        flush: Flush,
    ) -> Result<(usize, bool), EncodeError> {
        let room = sink.rest();
        if room.is_empty() || !self.waiting.is_empty() {
            return Ok((0, false));
        }
        let (consumed, complete) = if room.len() < MIN_ROOM {
            let mut small = [0; MIN_ROOM];
            let (consumed, produced, complete) = self.compress(input, &mut small, flush)?;
            self.waiting.extend(&small[..produced]);
            self.waiting.drain(sink);
            (consumed, complete)
        } else {
            let (consumed, produced, complete) = self.compress(input, room, flush)?;
            sink.at += produced;
            (consumed, complete)
        };
        self.checksum.update(&input[..consumed]);
        self.dirty |= consumed > 0;
        if complete && flush != Flush::None {
            self.flushed(flush)?;
        }
        Ok((consumed, complete))
    }

    /// Returns the bytes of input and of output, and whether the flush is complete.
    fn compress(
        &mut self,
        input: &[u8],
        room: &mut [u8],
        flush: Flush,
    ) -> Result<(usize, usize, bool), EncodeError> {
        let (before_in, before_out) = (self.deflate.total_in(), self.deflate.total_out());
        let status = self.deflate.compress(input, room, how(flush)).map_err(fault)?;
        let consumed = (self.deflate.total_in() - before_in) as usize;
        let produced = (self.deflate.total_out() - before_out) as usize;
        let complete = match flush {
            Flush::None => consumed == input.len(),
            // A full output may hide that more output follows: the next call shows.
            Flush::Sync => consumed == input.len() && produced < room.len(),
            Flush::Finish => status == Status::StreamEnd,
        };
        Ok((consumed, produced, complete))
    }

    fn flushed(&mut self, flush: Flush) -> Result<(), EncodeError> {
        self.dirty = false;
        if flush == Flush::Finish {
            let (trailer, length) = self.checksum.trailer();
            self.waiting.extend(&trailer[..length]);
            self.stage = ZlibStage::Finished;
        } else if self.level != self.next_level {
            self.level = self.next_level;
            self.deflate.reset();
            self.deflate.set_level(i32::from(self.level)).map_err(fault)?;
        }
        Ok(())
    }
}

fn how(flush: Flush) -> DeflateFlush {
    match flush {
        Flush::None => DeflateFlush::NoFlush,
        Flush::Sync => DeflateFlush::SyncFlush,
        Flush::Finish => DeflateFlush::Finish,
    }
}

fn fault(error: DeflateError) -> EncodeError {
    match error {
        DeflateError::MemError => EncodeError::Memory,
        DeflateError::StreamError | DeflateError::DataError => EncodeError::Library,
    }
}
