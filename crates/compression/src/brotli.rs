//! The brotli encoder (RFC 7932): the crate `brotli`.

use crate::progress::{EncodeError, Flush, Progress};
use crate::tuning::Tuning;
use brotli::enc::encode::{
    BrotliEncoderOperation as Operation, BrotliEncoderParameter as Parameter,
    BrotliEncoderStateStruct, BrotliEncoderStreamState as StreamState,
};
use brotli::enc::{BrotliAlloc, StandardAlloc};
use brotli::{Allocator, SliceWrapper};

/// The memory limit of a stream, at any level.
pub(crate) const MOST_MEMORY: usize = 3 * 1024 * 1024;

/// Logarithm of the window. Below 17 the crate takes a hash table of 32 MiB at most qualities.
const WINDOW_BITS: u32 = 17;

/// One stream.
pub struct Brotli {
    state: Box<BrotliEncoderStateStruct<CountingAllocator>>,
    /// The flush that has begun and whose output is not drained.
    flushing: Option<Flush>,
    /// Input was consumed since the last completed flush.
    dirty: bool,
    finished: bool,
}

impl Brotli {
    /// A stream at its beginning.
    #[must_use]
    pub fn new(tuning: &Tuning) -> Self {
        let mut state = Box::new(BrotliEncoderStateStruct::new(CountingAllocator::default()));
        let parameters = [
            (Parameter::BROTLI_PARAM_QUALITY, quality(tuning.level)),
            (Parameter::BROTLI_PARAM_LGWIN, WINDOW_BITS),
        ];
        for (parameter, value) in parameters {
            state.set_parameter(parameter, value);
        }
        Self { state, flushing: None, dirty: false, finished: false }
    }

    /// Bytes allocated so far.
    #[must_use]
    pub fn memory(&self) -> usize {
        size_of_val(&*self.state) + self.state.m8.used
    }

    /// See [`crate::Encoder::write`].
    pub fn write(
        &mut self,
        input: &[u8],
        output: &mut [u8],
        flush: Flush,
    ) -> Result<Progress, EncodeError> {
        let mut progress = Progress::default();
        // The library takes no input while the output of a flush waits.
        if let Some(flushing) = self.flushing {
            self.step(&[], output, flushing, &mut progress)?;
            if self.flushing.is_some() {
                return Ok(progress);
            }
        }
        if self.finished || self.is_idle(input, flush) {
            progress.done = input.is_empty();
            return Ok(progress);
        }
        self.step(input, output, flush, &mut progress)?;
        Ok(progress)
    }

    /// A flush without input since the last one has nothing to do.
    fn is_idle(&self, input: &[u8], flush: Flush) -> bool {
        input.is_empty() && flush != Flush::Finish && !(self.dirty && flush == Flush::Sync)
    }

    fn step(
        &mut self,
        input: &[u8],
        output: &mut [u8],
        flush: Flush,
        progress: &mut Progress,
    ) -> Result<(), EncodeError> {
        let mut left = input.len();
        let mut room = output.len() - progress.produced;
        let went = self.state.compress_stream(
            how(flush),
            &mut left,
            input,
            &mut progress.consumed,
            &mut room,
            output,
            &mut progress.produced,
            &mut None,
            &mut |_, _, _, _| (),
        );
        if !went {
            return Err(EncodeError::Library);
        }
        self.dirty |= progress.consumed > 0;
        progress.done = left == 0 && self.is_complete(flush);
        if progress.done && flush != Flush::None {
            self.dirty = false;
            self.finished = flush == Flush::Finish;
        }
        let begun = self.state.stream_state_ != StreamState::BROTLI_STREAM_PROCESSING;
        self.flushing = (begun && !progress.done).then_some(flush);
        Ok(())
    }

    fn is_complete(&self, flush: Flush) -> bool {
        match flush {
            Flush::None => true,
            Flush::Sync => !self.state.has_more_output(),
            Flush::Finish => self.state.is_finished(),
        }
    }
}

/// Qualities above 6 need 8 MiB and more, and seconds for a large body.
fn quality(level: u8) -> u32 {
    match level {
        0..=1 => 2,
        2 => 3,
        3 => 4,
        4..=5 => 5,
        _ => 6,
    }
}

fn how(flush: Flush) -> Operation {
    match flush {
        Flush::None => Operation::BROTLI_OPERATION_PROCESS,
        Flush::Sync => Operation::BROTLI_OPERATION_FLUSH,
        Flush::Finish => Operation::BROTLI_OPERATION_FINISH,
    }
}

/// The standard allocator with a count of the bytes in use.
#[derive(Clone, Copy, Default)]
struct CountingAllocator {
    used: usize,
}

impl<T: Clone + Default> Allocator<T> for CountingAllocator {
    type AllocatedMemory = <StandardAlloc as Allocator<T>>::AllocatedMemory;

    fn alloc_cell(&mut self, length: usize) -> Self::AllocatedMemory {
        self.used += length * size_of::<T>();
        StandardAlloc::default().alloc_cell(length)
    }

    fn free_cell(&mut self, data: Self::AllocatedMemory) {
        self.used = self.used.saturating_sub(data.len() * size_of::<T>());
    }
}

impl BrotliAlloc for CountingAllocator {}
