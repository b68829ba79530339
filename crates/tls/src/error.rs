//! The error that ends a handshake, and the conversion from the library's errors.

use openssl::ssl::{Error, ErrorCode};
use std::io;

/// The library's words for any failure below its state machine.
const RECORD: &str = "record layer failure";

/// The kind of error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The peer closed the connection.
    Closed,
    /// The connection broke.
    Broken,
    /// An authority of the peer's certificate was not accepted.
    Authority,
    /// The peer's certificate was not accepted.
    Certificate,
    /// The peer's certificate is for another name.
    Name,
    /// The peers found nothing in common, or one broke the protocol.
    Handshake,
    /// There are as many sessions as there may be.
    TooMany,
}

/// A handshake that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandshakeError {
    /// The kind of error.
    pub reason: Reason,
    /// The library's number for it; 0 without one.
    pub code: u64,
    /// The library's words for it.
    pub text: String,
    /// The part of the library that has found it.
    pub part: &'static str,
}

impl HandshakeError {
    /// An error that the library has not reported.
    pub fn new(reason: Reason) -> Self {
        Self { reason, code: 0, text: String::new(), part: "" }
    }

    /// The error that the library reports, other than a wait for input or output.
    pub(crate) fn of(error: &Error) -> Self {
        if let Some(stack) = error.ssl_error() {
            // OpenSSL puts an unspecific entry above the one with the cause.
            let tells = |error: &&openssl::error::Error| error.reason() != Some(RECORD);
            let last = stack.errors().iter().rev().find(tells).or(stack.errors().last());
            return Self {
                reason: Reason::Handshake,
                code: last.map_or(0, ffi::error_code),
                text: last.and_then(|error| error.reason()).unwrap_or_default().to_owned(),
                part: last.and_then(|error| error.library()).unwrap_or_default(),
            };
        }
        match error.io_error() {
            Some(_) => Self::new(Reason::Broken),
            None => Self::new(Reason::Closed),
        }
    }
}

impl HandshakeError {
    /// Number and words in the library's own form (`ssl_fc_err_str`).
    pub fn line(&self) -> String {
        format!("error:{:08X}:{}::{}", self.code, self.part, self.text)
    }
}

impl std::fmt::Display for HandshakeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.text.is_empty() {
            true => write!(f, "{:?}", self.reason),
            false => f.write_str(&self.text),
        }
    }
}

/// Whether the library only waits, and for what: `Some(true)` to write.
pub(crate) fn waits(error: &Error) -> Option<bool> {
    match error.code() {
        ErrorCode::WANT_READ => Some(false),
        ErrorCode::WANT_WRITE => Some(true),
        _ => None,
    }
}

/// An error of the library as one of reading or writing.
pub(crate) fn io_error(error: Error) -> io::Error {
    match error.into_io_error() {
        Ok(error) => error,
        Err(error) => io::Error::new(io::ErrorKind::InvalidData, error),
    }
}
