//! Headers of records (RFC 8446 section 5.1, RFC 5246 section 6.2.1) and limits of lengths.

use crate::direction::EXPLICIT;
use crate::error::RecordError;
use ffi::TAG;

/// Bytes of a header.
pub const HEADER: usize = 5;
/// The most bytes of content in one record.
pub const MOST_PLAIN: usize = 1 << 14;
/// The most bytes of a record behind its header, in any version (RFC 5246 section 6.2.3).
pub const MOST_CIPHERTEXT: usize = MOST_PLAIN + 2_048;

/// `TLSCiphertext.length` of TLS 1.3 (RFC 8446 section 5.2).
const MOST_CIPHERTEXT_13: usize = MOST_PLAIN + 256;

/// The version in headers of TLS 1.2 and later.
pub(crate) const VERSION: [u8; 2] = [3, 3];

/// The type of a record's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ContentType {
    Alert = 21,
    Handshake = 22,
    ApplicationData = 23,
}

impl ContentType {
    /// The type of a number that a session may see after its handshake.
    pub(crate) fn of(number: u8) -> Result<Self, RecordError> {
        match number {
            21 => Ok(Self::Alert),
            22 => Ok(Self::Handshake),
            23 => Ok(Self::ApplicationData),
            // ChangeCipherSpec ends with the handshake (RFC 8446 section 5).
            _ => Err(RecordError::Unexpected),
        }
    }
}

/// The header of a record of a protocol version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) content: ContentType,
    /// Bytes behind the header.
    pub(crate) length: usize,
}

impl Header {
    /// Reads a header.
    ///
    /// # Errors
    /// A record of this type or length cannot follow.
    pub(crate) fn read(bytes: &[u8; HEADER], tls13: bool) -> Result<Self, RecordError> {
        let content = ContentType::of(bytes[0])?;
        let length = usize::from(u16::from_be_bytes([bytes[3], bytes[4]]));
        // The version of TLS 1.3 is ignored (RFC 8446 section 5.1).
        let most = match tls13 {
            true if content != ContentType::ApplicationData => return Err(RecordError::Unexpected),
            true => MOST_CIPHERTEXT_13,
            false if bytes[1..3] != VERSION => return Err(RecordError::Version),
            false => MOST_CIPHERTEXT,
        };
        match length {
            0..TAG => Err(RecordError::BadMac),
            length if length > most => Err(RecordError::Overflow),
            length => Ok(Self { content, length }),
        }
    }

    /// The header of a record with so many bytes.
    pub(crate) fn write(content: ContentType, length: usize) -> [u8; HEADER] {
        let [high, low] = (length as u16).to_be_bytes();
        [content as u8, VERSION[0], VERSION[1], high, low]
    }
}

/// The additional data of a record of TLS 1.2 (RFC 5246 section 6.2.3.3).
pub(crate) fn additional_data(number: u64, content: ContentType, length: usize) -> [u8; 13] {
    let mut data = [0; 13];
    data[..8].copy_from_slice(&number.to_be_bytes());
    data[8..].copy_from_slice(&Header::write(content, length));
    data
}

/// Bytes that a record has beside its content, header included, without padding.
pub(crate) fn overhead(tls13: bool, explicit: bool) -> usize {
    HEADER
        + TAG
        + if tls13 {
            1
        } else if explicit {
            EXPLICIT
        } else {
            0
        }
}
