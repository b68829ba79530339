//! Frame headers, and the payloads other than header blocks (RFC 9113 sections 4.1 and 6).

use super::error::ErrorCode;

/// Bytes of a frame header.
pub const HEADER_LEN: usize = 9;

/// A frame type. Recipients ignore unknown ones (RFC 9113 section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant is the frame of the same name")]
pub enum FrameType {
    Data,
    Headers,
    Priority,
    RstStream,
    Settings,
    PushPromise,
    Ping,
    GoAway,
    WindowUpdate,
    Continuation,
    Unknown(u8),
}

impl FrameType {
    const KNOWN: [Self; 10] = [
        Self::Data,
        Self::Headers,
        Self::Priority,
        Self::RstStream,
        Self::Settings,
        Self::PushPromise,
        Self::Ping,
        Self::GoAway,
        Self::WindowUpdate,
        Self::Continuation,
    ];

    /// The type with this number.
    pub fn of(number: u8) -> Self {
        Self::KNOWN.get(usize::from(number)).copied().unwrap_or(Self::Unknown(number))
    }

    /// The number of this type.
    pub fn number(self) -> u8 {
        match self {
            Self::Unknown(number) => number,
            known => Self::KNOWN.iter().position(|it| *it == known).unwrap_or_default() as u8,
        }
    }
}

/// Flag of DATA and HEADERS: the sender's side of the stream ends.
pub const END_STREAM: u8 = 0x1;
/// Flag of SETTINGS and PING: an acknowledgement.
pub const ACK: u8 = 0x1;
/// Flag of HEADERS and CONTINUATION: the header block ends.
pub const END_HEADERS: u8 = 0x4;
/// Flag of DATA and HEADERS: the payload is padded.
pub const PADDED: u8 = 0x8;
/// Flag of HEADERS: five bytes of priority come first, which are ignored.
pub const PRIORITY: u8 = 0x20;

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// Bytes of payload.
    pub len: u32,
    /// Type of the frame.
    pub kind: FrameType,
    /// Flags of the frame.
    pub flags: u8,
    /// Stream of the frame; 0 is the connection.
    pub stream: u32,
}

impl FrameHeader {
    /// Reads a header from the front of `input`; `None` when more bytes are needed.
    #[inline]
    pub fn parse(input: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEADER_LEN] = input.first_chunk()?;
        let len = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]);
        let stream = u32::from_be_bytes([bytes[5], bytes[6], bytes[7], bytes[8]]);
        let stream = stream & super::MAX_STREAM_ID;
        Some(Self { len, kind: FrameType::of(bytes[3]), flags: bytes[4], stream })
    }

    /// Whether a flag is set.
    #[inline]
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The header as bytes.
    #[inline]
    pub fn bytes(&self) -> [u8; HEADER_LEN] {
        let (len, stream) = (self.len.to_be_bytes(), self.stream.to_be_bytes());
        let kind = self.kind.number();
        let [_, a, b, c] = len;
        let [d, e, f, g] = stream;
        [a, b, c, kind, self.flags, d, e, f, g]
    }

    /// Checks stream and length of a frame, independently of the connection's state (RFC 9113
    /// section 6). `max` is the largest payload that was announced.
    ///
    /// # Errors
    /// The connection ends with this code.
    pub fn check(&self, max: u32) -> Result<(), ErrorCode> {
        let sized = |right: bool| if right { Ok(()) } else { Err(ErrorCode::FRAME_SIZE_ERROR) };
        sized(self.len <= max)?;
        let on_stream = match self.kind {
            FrameType::Data
            | FrameType::Headers
            | FrameType::Continuation
            | FrameType::PushPromise => true,
            FrameType::Priority | FrameType::RstStream => true,
            FrameType::Settings | FrameType::Ping | FrameType::GoAway => false,
            FrameType::WindowUpdate | FrameType::Unknown(_) => self.stream != 0,
        };
        if on_stream != (self.stream != 0) {
            return Err(ErrorCode::PROTOCOL_ERROR);
        }
        match self.kind {
            FrameType::RstStream | FrameType::WindowUpdate => sized(self.len == 4),
            FrameType::Ping => sized(self.len == 8),
            FrameType::GoAway => sized(self.len >= 8),
            FrameType::Settings if self.has(ACK) => sized(self.len == 0),
            FrameType::Settings => sized(self.len.is_multiple_of(6)),
            _ => Ok(()),
        }
    }
}

/// The first four bytes of a payload as a number, such as an error code; 0 if there are fewer.
pub fn number(payload: &[u8]) -> u32 {
    payload.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// As [`number`] without the reserved bit, for stream ids and window increments.
pub fn number31(payload: &[u8]) -> u32 {
    number(payload) & super::MAX_STREAM_ID
}

/// The header block of a HEADERS frame, without padding and priority (RFC 9113 section 6.2), and
/// the stream that it depends on.
///
/// # Errors
/// The padding is longer than the frame.
pub fn headers_block<'a>(
    header: &FrameHeader,
    payload: &'a [u8],
) -> Result<(&'a [u8], Option<u32>), ErrorCode> {
    let mut block = payload;
    let mut padding = 0;
    if header.has(PADDED) {
        let (first, rest) = block.split_first().ok_or(ErrorCode::FRAME_SIZE_ERROR)?;
        (padding, block) = (usize::from(*first), rest);
    }
    let mut parent = None;
    if header.has(PRIORITY) {
        parent = Some(number31(block));
        block = block.get(5..).ok_or(ErrorCode::FRAME_SIZE_ERROR)?;
    }
    let end = block.len().checked_sub(padding).ok_or(ErrorCode::PROTOCOL_ERROR)?;
    Ok((&block[..end], parent))
}
