//! Chunked transfer coding (RFC 9112 section 7.1), decoded in place: the decoder returns where the
//! data is.

use super::Limits;
use super::error::{Reason, SyntaxError};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ChunkState {
    /// Before the first digit of a size.
    #[default]
    Size,
    /// Within a size.
    Digits,
    /// Blanks after a size.
    Blanks,
    /// Extensions, which are skipped.
    Extension,
    /// In a quoted string of an extension.
    Quoted,
    /// After a backslash in a quoted string.
    Escaped,
    /// After the CR that ends a size line.
    SizeLf,
    Data,
    /// Before the line end after data.
    DataCr,
    DataLf,
    /// After the last chunk: trailers follow.
    Last,
}

/// An incremental decoder, 16 bytes. Sizes from 2^52 on are refused, as HAProxy does.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChunkDecoder {
    /// Bytes left in the chunk, or its size so far.
    left: u64,
    /// Bytes of the size line so far.
    line_len: u32,
    state: ChunkState,
}

/// Result of decoding some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkStep {
    /// Bytes of framing at the front of the input, to drop.
    pub skip: usize,
    /// Bytes of data after them, which count as consumed.
    pub data: usize,
    /// Whether the last chunk was reached; the trailer section follows.
    pub last: bool,
}

impl ChunkDecoder {
    /// Decodes up to the end of the next piece of data. A step without data that is not the last
    /// one means that more bytes are needed.
    pub fn decode(&mut self, input: &[u8], limits: Limits) -> Result<ChunkStep, SyntaxError> {
        let mut at = 0;
        while self.state != ChunkState::Last {
            if self.state == ChunkState::Data {
                let data = self.take_data(input.len() - at);
                return Ok(ChunkStep { skip: at, data, last: false });
            }
            let Some(&byte) = input.get(at) else { break };
            self.framing(byte, limits).map_err(|reason| reason.at(at))?;
            at += 1;
        }
        Ok(ChunkStep { skip: at, data: 0, last: self.state == ChunkState::Last })
    }

    /// Bytes left in the current chunk, which may be forwarded without decoding.
    pub fn data_left(&self) -> u64 {
        if self.state == ChunkState::Data { self.left } else { 0 }
    }

    /// Counts data that was forwarded without `decode`; at most [`ChunkDecoder::data_left`].
    pub fn skip_data(&mut self, bytes: u64) {
        debug_assert!(bytes <= self.data_left(), "more than the chunk holds");
        if self.state == ChunkState::Data {
            self.left = self.left.saturating_sub(bytes);
            self.end_data();
        }
    }

    fn take_data(&mut self, available: usize) -> usize {
        let taken = usize::try_from(self.left).unwrap_or(usize::MAX).min(available);
        self.left -= taken as u64;
        self.end_data();
        taken
    }

    fn end_data(&mut self) {
        if self.left == 0 {
            self.state = ChunkState::DataCr;
        }
    }

    /// Handles one byte of framing.
    fn framing(&mut self, byte: u8, limits: Limits) -> Result<(), Reason> {
        self.state = match (self.state, byte) {
            (ChunkState::DataCr, b'\r') => ChunkState::DataLf,
            (ChunkState::DataLf, b'\n') => ChunkState::Size,
            (ChunkState::DataCr, b'\n') if limits.lenient => ChunkState::Size,
            (ChunkState::DataCr, b'\n') => return Err(Reason::BareLf),
            (ChunkState::DataCr | ChunkState::DataLf, _) => return Err(Reason::ChunkEnd),
            (ChunkState::Size | ChunkState::Digits, b) if b.is_ascii_hexdigit() => self.digit(b)?,
            (ChunkState::Size, _) => return Err(Reason::ChunkSize),
            (ChunkState::SizeLf, b'\n') => self.end_size(),
            (ChunkState::SizeLf, _) => return Err(Reason::StrayCr),
            (ChunkState::Quoted | ChunkState::Escaped, b'\r' | b'\n') if !limits.lenient => {
                return Err(Reason::ChunkExtension);
            }
            (_, b'\n') if limits.lenient => self.end_size(),
            (_, b'\n') => return Err(Reason::BareLf),
            (_, b'\r') => ChunkState::SizeLf,
            (ChunkState::Digits | ChunkState::Blanks, b';') => ChunkState::Extension,
            (ChunkState::Extension | ChunkState::Quoted | ChunkState::Escaped, b) => {
                extension(self.state, b, limits)?
            }
            (ChunkState::Digits | ChunkState::Blanks, b' ' | b'\t') => ChunkState::Blanks,
            _ => return Err(Reason::ChunkSize),
        };
        self.line_len += 1;
        if self.line_len > limits.head_bytes {
            return Err(Reason::TooLarge);
        }
        Ok(())
    }

    fn digit(&mut self, byte: u8) -> Result<ChunkState, Reason> {
        let value = char::from(byte).to_digit(16).ok_or(Reason::ChunkSize)?;
        if self.state == ChunkState::Size {
            self.left = 0;
        }
        if self.left >> 48 != 0 {
            return Err(Reason::ChunkSize);
        }
        self.left = self.left << 4 | u64::from(value);
        Ok(ChunkState::Digits)
    }

    fn end_size(&mut self) -> ChunkState {
        self.line_len = 0;
        if self.left == 0 { ChunkState::Last } else { ChunkState::Data }
    }
}

/// Handles one byte of an extension (RFC 9112 section 7.1.1); extensions are dropped.
fn extension(state: ChunkState, byte: u8, limits: Limits) -> Result<ChunkState, Reason> {
    if byte.is_ascii_control() && byte != b'\t' && !limits.lenient {
        return Err(Reason::ChunkExtension);
    }
    Ok(match (state, byte) {
        (ChunkState::Escaped, _) => ChunkState::Quoted,
        (ChunkState::Quoted, b'\\') => ChunkState::Escaped,
        (ChunkState::Extension, b'"') => ChunkState::Quoted,
        (ChunkState::Quoted, b'"') => ChunkState::Extension,
        (state, _) => state,
    })
}
