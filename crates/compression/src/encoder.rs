//! One interface to all encoders.

use crate::algorithm::Algorithm;
use crate::brotli::{self, Brotli};
use crate::progress::{EncodeError, Flush, Progress};
use crate::stateless::{Scratch, Stateless};
use crate::tuning::Tuning;
use crate::zlib::{self, Zlib};
use crate::zstd::{self, Zstd};

/// The encoder of one body.
pub enum Encoder {
    /// Deflate without history; the default.
    Stateless(Stateless),
    /// Deflate with history.
    Zlib(Box<Zlib>),
    /// Brotli.
    Brotli(Box<Brotli>),
    /// Zstandard.
    Zstd(Box<Zstd>),
}

impl Encoder {
    /// The encoder of an algorithm: the one without history unless the settings ask for more.
    ///
    /// # Errors
    ///
    /// If the algorithm is `identity`, or there is no memory.
    pub fn new(algorithm: Algorithm, tuning: &Tuning) -> Result<Self, EncodeError> {
        if let Some(framing) = algorithm.framing() {
            return Ok(if tuning.is_stateless() {
                let mut stateless = Stateless::new(framing);
                stateless.set_level(tuning.level);
                Self::Stateless(stateless)
            } else {
                Self::Zlib(Box::new(Zlib::new(framing, tuning)))
            });
        }
        match algorithm {
            Algorithm::Brotli => Ok(Self::Brotli(Box::new(Brotli::new(tuning)))),
            Algorithm::Zstd => Ok(Self::Zstd(Box::new(Zstd::new(tuning)?))),
            _ => Err(EncodeError::Identity),
        }
    }

    /// Most bytes that an encoder of this algorithm allocates, for `maxzlibmem`: a bound that is
    /// known before there is one.
    #[must_use]
    pub fn most_memory(algorithm: Algorithm, tuning: &Tuning) -> usize {
        match algorithm {
            Algorithm::Identity => 0,
            Algorithm::Gzip | Algorithm::Deflate | Algorithm::RawDeflate => {
                if tuning.is_stateless() {
                    0
                } else {
                    zlib::most_memory(tuning.window_bits, tuning.memory_level)
                }
            }
            Algorithm::Brotli => brotli::MOST_MEMORY,
            Algorithm::Zstd => zstd::MOST_MEMORY,
        }
    }

    /// Encodes as much of `input` as `output` has room for.
    ///
    /// While the result is not `done`, call again with the rest of the input, room in the output
    /// and the same flush. Input and output may be split anywhere. An output of less than 1 KiB
    /// works, but costs compression: matches end with the piece of input that the output has room
    /// for. After a finished body, a call produces nothing.
    ///
    /// The stateless encoder adds at most 8 bytes to each 8 KiB that do not compress, 6 to each
    /// sync, and 20 for framing and end; in outputs below 72 bytes an eighth of the input instead.
    ///
    /// # Errors
    ///
    /// If the library fails; the stream is of no use then.
    pub fn write(
        &mut self,
        input: &[u8],
        output: &mut [u8],
        flush: Flush,
        scratch: &mut Scratch,
    ) -> Result<Progress, EncodeError> {
        match self {
            Self::Stateless(stateless) => Ok(stateless.write(input, output, flush, scratch)),
            Self::Zlib(zlib) => zlib.write(input, output, flush),
            Self::Brotli(brotli) => brotli.write(input, output, flush),
            Self::Zstd(zstd) => zstd.write(input, output, flush),
        }
    }

    /// Encodes a piece whole and appends it; the output grows as needed.
    ///
    /// # Errors
    ///
    /// As [`Encoder::write`].
    pub fn append(
        &mut self,
        mut input: &[u8],
        output: &mut Vec<u8>,
        flush: Flush,
        scratch: &mut Scratch,
    ) -> Result<(), EncodeError> {
        loop {
            let start = output.len();
            output.resize(start + input.len() / 2 + 1_024, 0);
            let progress = self.write(input, &mut output[start..], flush, scratch)?;
            output.truncate(start + progress.produced);
            input = &input[progress.consumed..];
            if progress.done {
                return Ok(());
            }
            if progress.consumed + progress.produced == 0 {
                return Err(EncodeError::Library);
            }
        }
    }

    /// Changes the level of deflate for what follows the next completed flush; level 0 stores.
    /// Brotli and Zstandard keep theirs.
    pub fn set_level(&mut self, level: u8) {
        match self {
            Self::Stateless(stateless) => stateless.set_level(level),
            Self::Zlib(zlib) => zlib.set_level(level),
            Self::Brotli(_) | Self::Zstd(_) => {}
        }
    }

    /// Bytes allocated for this stream, beside the value itself.
    #[must_use]
    pub fn memory(&self) -> usize {
        match self {
            Self::Stateless(_) => 0,
            Self::Zlib(zlib) => zlib.memory(),
            Self::Brotli(brotli) => size_of::<Brotli>() + brotli.memory(),
            Self::Zstd(zstd) => size_of::<Zstd>() + zstd.memory(),
        }
    }
}
