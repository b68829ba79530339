//! Early data with OpenSSL.

use super::raw;
use foreign_types::ForeignTypeRef as _;
use openssl::ssl::{Error, SslRef, SslSessionRef, SslStream};
use std::ffi::c_int;
use std::io::{Read, Write};

pub(crate) fn handshake<S: Read + Write>(stream: &mut SslStream<S>) -> Result<(), Error> {
    stream.do_handshake()
}

pub(crate) fn is_over(ssl: &SslRef) -> bool {
    ssl.is_init_finished()
}

/// Reading does that here.
pub(crate) fn begin_early<S: Read + Write>(_: &mut SslStream<S>) -> Result<(), Error> {
    Ok(())
}

pub(crate) fn read_early<S: Read + Write>(
    stream: &mut SslStream<S>,
    buffer: &mut [u8],
) -> Result<usize, Error> {
    stream.read_early_data(buffer)
}

pub(crate) fn write_early<S: Read + Write>(
    stream: &mut SslStream<S>,
    bytes: &[u8],
) -> Result<usize, Error> {
    stream.write_early_data(bytes)
}

/// `SSL_EARLY_DATA_ACCEPTED`
const ACCEPTED: c_int = 2;

pub(crate) fn was_early_taken(ssl: &SslRef) -> bool {
    // SAFETY: the session is valid as long as its reference, and only looked at.
    unsafe { raw::SSL_get_early_data_status(ssl.as_ptr()) == ACCEPTED }
}

/// How many bytes the server of a session takes early, in this second since 1970, and the protocol
/// that was chosen (RFC 7301). The library would offer bytes with a ticket whose time is over, too,
/// though the ticket stays at home then and the server can only refuse.
pub(crate) fn early_terms(session: &SslSessionRef, now: u64) -> (usize, Option<Vec<u8>>) {
    let room = if is_stale(session, now) { 0 } else { session.max_early_data() as usize };
    (room, protocol(session).map(<[u8]>::to_vec))
}

/// Whether the time is over that the server has given the ticket (RFC 8446 section 4.6.1).
fn is_stale(session: &SslSessionRef, now: u64) -> bool {
    let since = u64::try_from(session.time()).unwrap_or(0);
    // SAFETY: the session is valid as long as its reference, and only looked at.
    let lifetime = unsafe { raw::SSL_SESSION_get_ticket_lifetime_hint(session.as_ptr()) };
    now.saturating_sub(since) >= lifetime
}

fn protocol(session: &SslSessionRef) -> Option<&[u8]> {
    let (mut name, mut length) = (std::ptr::null(), 0);
    // SAFETY: the session is valid as long as its reference, and so is the name, which the library
    // says the length of.
    unsafe {
        raw::SSL_SESSION_get0_alpn_selected(session.as_ptr(), &mut name, &mut length);
        (!name.is_null() && length > 0).then(|| std::slice::from_raw_parts(name, length))
    }
}
