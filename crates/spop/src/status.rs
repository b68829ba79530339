//! Status codes of DISCONNECT frames (SPOE.txt, section 3.5).

/// Why a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// Normal end.
    Normal = 0,
    /// Input or output failed.
    Io = 1,
    /// A timeout.
    Timeout = 2,
    /// A frame exceeds the agreed size.
    TooBig = 3,
    /// A malformed frame.
    Invalid = 4,
    /// HELLO has no version.
    NoVersion = 5,
    /// HELLO has no maximum frame size.
    NoFrameSize = 6,
    /// HELLO has no capabilities.
    NoCapabilities = 7,
    /// No common version.
    BadVersion = 8,
    /// The maximum frame size is too small or too large.
    BadFrameSize = 9,
    /// Fragments without the capability.
    Fragmentation = 10,
    /// Fragments of several payloads mixed.
    Interlaced = 11,
    /// An ACK of no NOTIFY.
    UnknownFrame = 12,
    /// A resource is exhausted.
    Resources = 13,
    /// Any other reason.
    Unknown = 99,
}

impl Status {
    const ALL: [Self; 15] = [
        Self::Normal,
        Self::Io,
        Self::Timeout,
        Self::TooBig,
        Self::Invalid,
        Self::NoVersion,
        Self::NoFrameSize,
        Self::NoCapabilities,
        Self::BadVersion,
        Self::BadFrameSize,
        Self::Fragmentation,
        Self::Interlaced,
        Self::UnknownFrame,
        Self::Resources,
        Self::Unknown,
    ];

    /// The status with this code; codes that are not defined are [`Status::Unknown`].
    pub fn of(code: u64) -> Self {
        let is = |status: &Self| u64::from(status.code()) == code;
        Self::ALL.into_iter().find(is).unwrap_or(Self::Unknown)
    }

    /// The code on the wire.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The text of the status.
    pub fn message(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Io => "I/O error",
            Self::Timeout => "a timeout occurred",
            Self::TooBig => "frame is too big",
            Self::Invalid => "invalid frame received",
            Self::NoVersion => "version value not found",
            Self::NoFrameSize => "max-frame-size value not found",
            Self::NoCapabilities => "capabilities value not found",
            Self::BadVersion => "unsupported version",
            Self::BadFrameSize => "max-frame-size too big or too small",
            Self::Fragmentation => "fragmentation not supported",
            Self::Interlaced => "invalid interlaced frames",
            Self::UnknownFrame => "frame-id not found",
            Self::Resources => "resource allocation error",
            Self::Unknown => "an unknown error occurred",
        }
    }
}
