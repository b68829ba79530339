//! Errors that end a session, with their alerts and with the library's numbers for them.

use std::fmt;

/// An error of the record layer; nothing is read after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordError {
    /// A record is not authentic.
    BadMac,
    /// A record is longer than the limit.
    Overflow,
    /// The version in a record's header is not that of the session.
    Version,
    /// A record or message is of a type that is not expected.
    Unexpected,
    /// A message is malformed.
    Decode,
    /// A field of a message has a value that it cannot have.
    IllegalParameter,
    /// The peer has sent an alert that ends the session: its number.
    Alert(u8),
    /// The peer has sent too many warnings.
    TooManyWarnings,
    /// The numbers of records are used up.
    Exhausted,
    /// The library has failed.
    Library,
}

impl RecordError {
    /// The alert that tells the peer, unless the peer has ended the session itself (RFC 8446
    /// section 6.2).
    pub fn alert(self) -> Option<u8> {
        Some(match self {
            Self::BadMac => 20,
            Self::Overflow => 22,
            Self::Version => 70,
            Self::Unexpected | Self::TooManyWarnings => 10,
            Self::Decode => 50,
            Self::IllegalParameter => 47,
            Self::Exhausted | Self::Library => 80,
            Self::Alert(_) => return None,
        })
    }

    /// The reason that OpenSSL reports for it (`sslerr.h`).
    pub fn reason(self) -> u32 {
        match self {
            // SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC
            Self::BadMac => 281,
            // SSL_R_ENCRYPTED_LENGTH_TOO_LONG
            Self::Overflow => 150,
            // SSL_R_WRONG_VERSION_NUMBER
            Self::Version => 267,
            // SSL_R_UNEXPECTED_MESSAGE
            Self::Unexpected => 244,
            // SSL_R_BAD_LENGTH
            Self::Decode => 271,
            // SSL_R_BAD_KEY_UPDATE
            Self::IllegalParameter => 122,
            // SSL_AD_REASON_OFFSET
            Self::Alert(number) => 1_000 + u32::from(number),
            // SSL_R_TOO_MANY_WARN_ALERTS
            Self::TooManyWarnings => 409,
            // ERR_R_INTERNAL_ERROR
            Self::Exhausted | Self::Library => 0xC0103,
        }
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadMac => f.write_str("a record is not authentic"),
            Self::Overflow => f.write_str("a record is too long"),
            Self::Version => f.write_str("a record has another version"),
            Self::Unexpected => f.write_str("unexpected message"),
            Self::Decode => f.write_str("malformed message"),
            Self::IllegalParameter => f.write_str("illegal parameter"),
            Self::Alert(number) => write!(f, "the peer has sent alert {number}"),
            Self::TooManyWarnings => f.write_str("too many warnings"),
            Self::Exhausted => f.write_str("no record number is left"),
            Self::Library => f.write_str("the library has failed"),
        }
    }
}

impl std::error::Error for RecordError {}
