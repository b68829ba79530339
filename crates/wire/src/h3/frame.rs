//! Frame headers and stream types (RFC 9114 sections 6.2 and 7).

use super::varint;

/// A frame type. Unknown types are ignored by recipients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct H3FrameType(pub u64);

#[allow(missing_docs, reason = "each constant is the frame of the same name in the RFC")]
impl H3FrameType {
    pub const DATA: Self = Self(0x0);
    pub const HEADERS: Self = Self(0x1);
    pub const CANCEL_PUSH: Self = Self(0x3);
    pub const SETTINGS: Self = Self(0x4);
    pub const PUSH_PROMISE: Self = Self(0x5);
    pub const GOAWAY: Self = Self(0x7);
    pub const MAX_PUSH_ID: Self = Self(0xd);
    /// PRIORITY_UPDATE of a request stream (RFC 9218 section 7.2).
    pub const PRIORITY_UPDATE: Self = Self(0xf_0700);
    /// PRIORITY_UPDATE of a push.
    pub const PRIORITY_UPDATE_PUSH: Self = Self(0xf_0701);

    /// Whether the type is one of HTTP/2 without a successor, which is an error (RFC 9114 section
    /// 7.2.8).
    pub fn is_of_h2(self) -> bool {
        matches!(self.0, 0x2 | 0x6 | 0x8 | 0x9)
    }

    /// Whether the type is known here.
    pub fn is_known(self) -> bool {
        matches!(
            self,
            Self::DATA
                | Self::HEADERS
                | Self::CANCEL_PUSH
                | Self::SETTINGS
                | Self::PUSH_PROMISE
                | Self::GOAWAY
                | Self::MAX_PUSH_ID
                | Self::PRIORITY_UPDATE
                | Self::PRIORITY_UPDATE_PUSH
        )
    }
}

/// The type of a unidirectional stream, at its front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamType(pub u64);

#[allow(missing_docs, reason = "each constant is the stream of the same name in the RFC")]
impl StreamType {
    pub const CONTROL: Self = Self(0x0);
    pub const PUSH: Self = Self(0x1);
    pub const QPACK_ENCODER: Self = Self(0x2);
    pub const QPACK_DECODER: Self = Self(0x3);
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct H3FrameHeader {
    /// Its type.
    pub kind: H3FrameType,
    /// Bytes of payload that follow.
    pub len: u64,
}

/// Most bytes of a frame header.
pub const MAX_HEADER: usize = 16;

impl H3FrameHeader {
    /// Decodes the header at the front of `input`, with its size; `None` if it is truncated.
    #[inline]
    pub fn decode(input: &[u8]) -> Option<(Self, usize)> {
        let (kind, kind_size) = varint::decode(input)?;
        let (len, len_size) = varint::decode(&input[kind_size..])?;
        Some((Self { kind: H3FrameType(kind), len }, kind_size + len_size))
    }
}
