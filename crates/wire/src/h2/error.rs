//! Error codes (RFC 9113 section 7), and malformed messages. The mux decides whether a stream or
//! the connection ends.

use std::fmt;

/// An error code. Unknown codes are preserved.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub u32);

#[allow(missing_docs, reason = "each constant is the code of the same name in the RFC")]
impl ErrorCode {
    pub const NO_ERROR: Self = Self(0x0);
    pub const PROTOCOL_ERROR: Self = Self(0x1);
    pub const INTERNAL_ERROR: Self = Self(0x2);
    pub const FLOW_CONTROL_ERROR: Self = Self(0x3);
    pub const SETTINGS_TIMEOUT: Self = Self(0x4);
    pub const STREAM_CLOSED: Self = Self(0x5);
    pub const FRAME_SIZE_ERROR: Self = Self(0x6);
    pub const REFUSED_STREAM: Self = Self(0x7);
    pub const CANCEL: Self = Self(0x8);
    pub const COMPRESSION_ERROR: Self = Self(0x9);
    pub const CONNECT_ERROR: Self = Self(0xa);
    pub const ENHANCE_YOUR_CALM: Self = Self(0xb);
    pub const INADEQUATE_SECURITY: Self = Self(0xc);
    pub const HTTP_1_1_REQUIRED: Self = Self(0xd);

    /// The name in the RFC; empty for an unknown one.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 14] = [
            "NO_ERROR",
            "PROTOCOL_ERROR",
            "INTERNAL_ERROR",
            "FLOW_CONTROL_ERROR",
            "SETTINGS_TIMEOUT",
            "STREAM_CLOSED",
            "FRAME_SIZE_ERROR",
            "REFUSED_STREAM",
            "CANCEL",
            "COMPRESSION_ERROR",
            "CONNECT_ERROR",
            "ENHANCE_YOUR_CALM",
            "INADEQUATE_SECURITY",
            "HTTP_1_1_REQUIRED",
        ];
        NAMES.get(self.0 as usize).copied().unwrap_or_default()
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            "" => write!(f, "{:#x}", self.0),
            name => f.write_str(name),
        }
    }
}

/// A header list that is not a valid message (RFC 9113 section 8.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MalformedMessage {
    /// A violation of HTTP/2: the stream is reset with PROTOCOL_ERROR.
    Stream(&'static str),
    /// Valid HTTP/2, but not a valid request: the client gets this status.
    Status(u16, &'static str),
    /// The list exceeds its limits.
    TooLarge(&'static str),
}

impl MalformedMessage {
    /// A short text for logs.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Stream(reason) | Self::Status(_, reason) | Self::TooLarge(reason) => reason,
        }
    }
}
