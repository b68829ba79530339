//! Chunked transfer coding (RFC 9112 section 7.1), decoded in place: the decoder returns where the
//! data is.

use super::Limits;
use super::error::{Error, Reason};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
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
    state: State,
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
    pub fn decode(&mut self, input: &[u8], limits: Limits) -> Result<ChunkStep, Error> {
        let mut at = 0;
        while self.state != State::Last {
            if self.state == State::Data {
                let data = self.take_data(input.len() - at);
                return Ok(ChunkStep { skip: at, data, last: false });
            }
            let Some(&byte) = input.get(at) else { break };
            self.framing(byte, limits).map_err(|reason| reason.at(at))?;
            at += 1;
        }
        Ok(ChunkStep { skip: at, data: 0, last: self.state == State::Last })
    }

    /// Bytes left in the current chunk, which may be forwarded without decoding.
    pub fn data_left(&self) -> u64 {
        if self.state == State::Data { self.left } else { 0 }
    }

    /// Counts data that was forwarded without `decode`; at most [`ChunkDecoder::data_left`].
    pub fn skip_data(&mut self, bytes: u64) {
        debug_assert!(bytes <= self.data_left(), "more than the chunk holds");
        if self.state == State::Data {
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
            self.state = State::DataCr;
        }
    }

    /// Handles one byte of framing.
    fn framing(&mut self, byte: u8, limits: Limits) -> Result<(), Reason> {
        self.state = match (self.state, byte) {
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => State::Size,
            (State::DataCr, b'\n') if limits.lenient => State::Size,
            (State::DataCr, b'\n') => return Err(Reason::BareLf),
            (State::DataCr | State::DataLf, _) => return Err(Reason::ChunkEnd),
            (State::Size | State::Digits, b) if b.is_ascii_hexdigit() => self.digit(b)?,
            (State::Size, _) => return Err(Reason::ChunkSize),
            (State::SizeLf, b'\n') => self.end_size(),
            (State::SizeLf, _) => return Err(Reason::StrayCr),
            (State::Quoted | State::Escaped, b'\r' | b'\n') if !limits.lenient => {
                return Err(Reason::ChunkExtension);
            }
            (_, b'\n') if limits.lenient => self.end_size(),
            (_, b'\n') => return Err(Reason::BareLf),
            (_, b'\r') => State::SizeLf,
            (State::Digits | State::Blanks, b';') => State::Extension,
            (State::Extension | State::Quoted | State::Escaped, b) => {
                extension(self.state, b, limits)?
            }
            (State::Digits | State::Blanks, b' ' | b'\t') => State::Blanks,
            _ => return Err(Reason::ChunkSize),
        };
        self.line_len += 1;
        if self.line_len > limits.head_bytes {
            return Err(Reason::TooLarge);
        }
        Ok(())
    }

    fn digit(&mut self, byte: u8) -> Result<State, Reason> {
        let value = char::from(byte).to_digit(16).ok_or(Reason::ChunkSize)?;
        if self.state == State::Size {
            self.left = 0;
        }
        if self.left >> 48 != 0 {
            return Err(Reason::ChunkSize);
        }
        self.left = self.left << 4 | u64::from(value);
        Ok(State::Digits)
    }

    fn end_size(&mut self) -> State {
        self.line_len = 0;
        if self.left == 0 { State::Last } else { State::Data }
    }
}

/// Handles one byte of an extension (RFC 9112 section 7.1.1); extensions are dropped.
fn extension(state: State, byte: u8, limits: Limits) -> Result<State, Reason> {
    if byte.is_ascii_control() && byte != b'\t' && !limits.lenient {
        return Err(Reason::ChunkExtension);
    }
    Ok(match (state, byte) {
        (State::Escaped, _) => State::Quoted,
        (State::Quoted, b'\\') => State::Escaped,
        (State::Extension, b'"') => State::Quoted,
        (State::Quoted, b'"') => State::Extension,
        (state, _) => state,
    })
}
