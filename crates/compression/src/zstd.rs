//! The Zstandard encoder (RFC 8878): the library `zstd`.

use crate::progress::{EncodeError, Flush, Progress};
use crate::tuning::Tuning;
use zstd_safe::zstd_sys::ZSTD_EndDirective;
use zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer};

/// The memory limit of a stream, at any level.
pub(crate) const MOST_MEMORY: usize = 1_200 * 1024;

/// Logarithm of the window.
const WINDOW_BITS: u32 = 16;

/// Logarithm of the bound of both tables: entries are four bytes.
const TABLE_BITS: u32 = 16;

/// One stream.
pub struct Zstd {
    context: CCtx<'static>,
    /// Input was consumed since the last completed flush.
    dirty: bool,
    finished: bool,
}

impl Zstd {
    /// A stream at its beginning.
    ///
    /// # Errors
    ///
    /// If there is no memory for it.
    pub fn new(tuning: &Tuning) -> Result<Self, EncodeError> {
        let mut context = CCtx::try_create().ok_or(EncodeError::Memory)?;
        let parameters = [
            CParameter::CompressionLevel(i32::from(tuning.level.clamp(1, 9))),
            CParameter::WindowLog(WINDOW_BITS),
            CParameter::HashLog(TABLE_BITS),
            CParameter::ChainLog(TABLE_BITS),
            CParameter::ContentSizeFlag(false),
        ];
        for parameter in parameters {
            context.set_parameter(parameter).map_err(|_| EncodeError::Library)?;
        }
        Ok(Self { context, dirty: false, finished: false })
    }

    /// Bytes allocated so far.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.context.sizeof()
    }

    /// See [`crate::Encoder::write`].
    pub fn write(
        &mut self,
        input: &[u8],
        output: &mut [u8],
        flush: Flush,
    ) -> Result<Progress, EncodeError> {
        if self.finished || self.is_idle(input, flush) {
            return Ok(Progress { done: input.is_empty(), ..Progress::default() });
        }
        if output.is_empty() {
            return Ok(Progress::default());
        }
        let mut from = InBuffer::around(input);
        let mut to = OutBuffer::around(output);
        let left = self.context.compress_stream2(&mut to, &mut from, how(flush));
        let left = left.map_err(|_| EncodeError::Library)?;
        let (consumed, produced) = (from.pos(), to.pos());
        self.dirty |= consumed > 0;
        let complete = consumed == input.len() && (flush == Flush::None || left == 0);
        if complete && flush != Flush::None {
            self.dirty = false;
            self.finished = flush == Flush::Finish;
        }
        Ok(Progress { consumed, produced, done: complete })
    }

    /// A flush without input since the last one has nothing to do.
    fn is_idle(&self, input: &[u8], flush: Flush) -> bool {
        input.is_empty() && flush != Flush::Finish && !(self.dirty && flush == Flush::Sync)
    }
}

fn how(flush: Flush) -> ZSTD_EndDirective {
    match flush {
        Flush::None => ZSTD_EndDirective::ZSTD_e_continue,
        Flush::Sync => ZSTD_EndDirective::ZSTD_e_flush,
        Flush::Finish => ZSTD_EndDirective::ZSTD_e_end,
    }
}
