//! Early data with AWS-LC, which lets a handshake begin, and then reads and writes as usual.

use foreign_types::ForeignTypeRef as _;
use openssl::error::ErrorStack;
use openssl::ssl::{Error, ErrorCode, SslRef, SslSessionRef, SslStream};
use std::ffi::c_int;
use std::io::{Read, Write};

/// `SSL_ERROR_EARLY_DATA_REJECTED`
const REFUSED: c_int = 15;

/// Number of the field of an encoded session with the bytes of early data that its server takes.
const ROOM: u8 = 24;
/// Number of the field of an encoded session with its protocol.
const PROTOCOL: u8 = 26;

/// Whether early data is exchanged and the handshake is not over.
fn is_early(ssl: &SslRef) -> bool {
    // SAFETY: the session is valid as long as its reference, and only looked at.
    unsafe { openssl_sys::SSL_in_early_data(ssl.as_ptr()) == 1 }
}

pub(crate) fn handshake<S: Read + Write>(stream: &mut SslStream<S>) -> Result<(), Error> {
    match stream.do_handshake() {
        Err(error) if error.code().as_raw() == REFUSED => {
            // SAFETY: the session is valid and exclusively borrowed, and its server has just
            // refused early data, which is when this call is allowed. The early data is dropped.
            unsafe { openssl_sys::SSL_reset_early_data_reject(stream.ssl().as_ptr()) };
            stream.do_handshake()
        }
        done => done,
    }
}

pub(crate) fn is_over(ssl: &SslRef) -> bool {
    // SAFETY: the session is valid as long as its reference, and only looked at.
    unsafe { openssl_sys::SSL_in_init(ssl.as_ptr()) == 0 }
}

/// Takes steps of a server's handshake until it is over or something can be read early.
pub(crate) fn begin_early<S: Read + Write>(stream: &mut SslStream<S>) -> Result<(), Error> {
    if is_early(stream.ssl()) { Ok(()) } else { stream.do_handshake() }
}

/// The library continues the handshake while it reads: the end of the handshake is the end of early
/// data.
pub(crate) fn read_early<S: Read + Write>(
    stream: &mut SslStream<S>,
    buffer: &mut [u8],
) -> Result<usize, Error> {
    begin_early(stream)?;
    if !is_early(stream.ssl()) {
        return Ok(0);
    }
    match stream.ssl_read(buffer) {
        Err(error) if error.code() == ErrorCode::WANT_READ && !is_early(stream.ssl()) => Ok(0),
        read => read,
    }
}

pub(crate) fn write_early<S: Read + Write>(
    stream: &mut SslStream<S>,
    bytes: &[u8],
) -> Result<usize, Error> {
    if !stream.ssl().is_server() && !is_early(stream.ssl()) {
        // SAFETY: the session is valid and exclusively borrowed. Only here: with early data
        // enabled, the library would report an unfinished handshake as done, although there is
        // nothing to send early.
        unsafe { openssl_sys::SSL_set_early_data_enabled(stream.ssl().as_ptr(), 1) };
        stream.do_handshake()?;
        if !is_early(stream.ssl()) {
            return Err(ErrorStack::get().into());
        }
    }
    stream.ssl_write(bytes)
}

pub(crate) fn was_early_taken(ssl: &SslRef) -> bool {
    // SAFETY: as above.
    unsafe { openssl_sys::SSL_early_data_accepted(ssl.as_ptr()) == 1 }
}

/// How many bytes the server of a session takes early, in this second since 1970, and the protocol
/// that was chosen (RFC 7301). The library tells neither, but writes them down.
pub(crate) fn early_terms(session: &SslSessionRef, now: u64) -> (usize, Option<Vec<u8>>) {
    let lifetime = u64::try_from(session.timeout()).unwrap_or(0);
    let fresh = now.saturating_sub(session.time()) < lifetime;
    let mut written = session.to_der().unwrap_or_default();
    let room = field(&written, ROOM).and_then(number).filter(|_| fresh).unwrap_or(0);
    let protocol = field(&written, PROTOCOL).map(<[u8]>::to_vec);
    // SAFETY: the bytes are ours. A secret is among them.
    unsafe { openssl_sys::OPENSSL_cleanse(written.as_mut_ptr().cast(), written.len()) };
    (room, protocol)
}

fn number(bytes: &[u8]) -> Option<usize> {
    bytes.iter().try_fold(0_usize, |sum, byte| Some(sum.checked_mul(256)? | usize::from(*byte)))
}

/// The value of an optional field in the encoded session.
fn field(der: &[u8], number: u8) -> Option<&[u8]> {
    let (_, mut rest, _) = element(der)?;
    while let Some((tag, contents, others)) = element(rest) {
        if tag == 0xa0 | number {
            return element(contents).map(|(_, value, _)| value);
        }
        rest = others;
    }
    None
}

/// The first element: its tag, its content, and the bytes behind it.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let [tag, first, rest @ ..] = der else { return None };
    let (length, rest) = match first.checked_sub(0x80) {
        None => (usize::from(*first), rest),
        Some(digits) => {
            let (digits, rest) = rest.split_at_checked(digits.into())?;
            (number(digits)?, rest)
        }
    };
    let (contents, rest) = rest.split_at_checked(length)?;
    Some((*tag, contents, rest))
}
