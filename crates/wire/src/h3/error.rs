//! Error codes (RFC 9114 section 8.1, RFC 9204 section 6).

use std::fmt;

/// An error code of a stream or of a connection. Unknown codes are preserved.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct H3ErrorCode(pub u64);

#[allow(missing_docs, reason = "each constant is the code of the same name in the RFC")]
impl H3ErrorCode {
    pub const NO_ERROR: Self = Self(0x100);
    pub const GENERAL_PROTOCOL_ERROR: Self = Self(0x101);
    pub const INTERNAL_ERROR: Self = Self(0x102);
    pub const STREAM_CREATION_ERROR: Self = Self(0x103);
    pub const CLOSED_CRITICAL_STREAM: Self = Self(0x104);
    pub const FRAME_UNEXPECTED: Self = Self(0x105);
    pub const FRAME_ERROR: Self = Self(0x106);
    pub const EXCESSIVE_LOAD: Self = Self(0x107);
    pub const ID_ERROR: Self = Self(0x108);
    pub const SETTINGS_ERROR: Self = Self(0x109);
    pub const MISSING_SETTINGS: Self = Self(0x10a);
    pub const REQUEST_REJECTED: Self = Self(0x10b);
    pub const REQUEST_CANCELLED: Self = Self(0x10c);
    pub const REQUEST_INCOMPLETE: Self = Self(0x10d);
    pub const MESSAGE_ERROR: Self = Self(0x10e);
    pub const CONNECT_ERROR: Self = Self(0x10f);
    pub const VERSION_FALLBACK: Self = Self(0x110);
    pub const QPACK_DECOMPRESSION_FAILED: Self = Self(0x200);
    pub const QPACK_ENCODER_STREAM_ERROR: Self = Self(0x201);
    pub const QPACK_DECODER_STREAM_ERROR: Self = Self(0x202);

    /// The name in the RFC; empty for an unknown one.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 17] = [
            "H3_NO_ERROR",
            "H3_GENERAL_PROTOCOL_ERROR",
            "H3_INTERNAL_ERROR",
            "H3_STREAM_CREATION_ERROR",
            "H3_CLOSED_CRITICAL_STREAM",
            "H3_FRAME_UNEXPECTED",
            "H3_FRAME_ERROR",
            "H3_EXCESSIVE_LOAD",
            "H3_ID_ERROR",
            "H3_SETTINGS_ERROR",
            "H3_MISSING_SETTINGS",
            "H3_REQUEST_REJECTED",
            "H3_REQUEST_CANCELLED",
            "H3_REQUEST_INCOMPLETE",
            "H3_MESSAGE_ERROR",
            "H3_CONNECT_ERROR",
            "H3_VERSION_FALLBACK",
        ];
        match self {
            Self::QPACK_DECOMPRESSION_FAILED => "QPACK_DECOMPRESSION_FAILED",
            Self::QPACK_ENCODER_STREAM_ERROR => "QPACK_ENCODER_STREAM_ERROR",
            Self::QPACK_DECODER_STREAM_ERROR => "QPACK_DECODER_STREAM_ERROR",
            Self(code) => {
                let at = code.checked_sub(Self::NO_ERROR.0).and_then(|at| usize::try_from(at).ok());
                at.and_then(|at| NAMES.get(at)).copied().unwrap_or_default()
            }
        }
    }
}

impl fmt::Debug for H3ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            "" => write!(f, "{:#x}", self.0),
            name => f.write_str(name),
        }
    }
}
