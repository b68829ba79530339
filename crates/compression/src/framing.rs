//! The framings around a deflate stream: gzip (RFC 1952), zlib (RFC 1950), none.

use zlib_rs::adler32::adler32;
use zlib_rs::crc32::crc32;

/// Header and trailer around a deflate stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framing {
    /// RFC 1952: CRC-32 and length modulo 2^32 at the end.
    Gzip,
    /// RFC 1950: Adler-32 at the end.
    Zlib,
    /// No header, no trailer.
    Raw,
}

/// No name, no time, the fastest method, Unix.
const GZIP_HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3];

/// A window of 32 KiB, the fastest method, the check bits.
const ZLIB_HEADER: [u8; 2] = [0x78, 0x01];

impl Framing {
    /// The bytes in front of the deflate stream.
    pub(crate) fn header(self) -> &'static [u8] {
        match self {
            Self::Gzip => &GZIP_HEADER,
            Self::Zlib => &ZLIB_HEADER,
            Self::Raw => &[],
        }
    }
}

/// The checksum of a body so far.
#[derive(Clone, Copy)]
pub(crate) enum Checksum {
    Gzip { crc: u32, length: u32 },
    Zlib { adler: u32 },
    Raw,
}

impl Checksum {
    pub(crate) fn new(framing: Framing) -> Self {
        match framing {
            Framing::Gzip => Self::Gzip { crc: 0, length: 0 },
            Framing::Zlib => Self::Zlib { adler: 1 },
            Framing::Raw => Self::Raw,
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Gzip { crc, length } => {
                *crc = crc32(*crc, bytes);
                *length = length.wrapping_add(bytes.len() as u32);
            }
            Self::Zlib { adler } => *adler = adler32(*adler, bytes),
            Self::Raw => {}
        }
    }

    /// The bytes behind the deflate stream, and their number.
    pub(crate) fn trailer(self) -> ([u8; 8], usize) {
        let mut bytes = [0; 8];
        let length = match self {
            Self::Gzip { crc, length } => {
                bytes[..4].copy_from_slice(&crc.to_le_bytes());
                bytes[4..].copy_from_slice(&length.to_le_bytes());
                8
            }
            Self::Zlib { adler } => {
                bytes[..4].copy_from_slice(&adler.to_be_bytes());
                4
            }
            Self::Raw => 0,
        };
        (bytes, length)
    }
}
