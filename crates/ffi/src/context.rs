//! Functions on contexts and sessions that the openssl crate does not offer.

use crate::flavour::{option_bits, raw, session_error_number};
use foreign_types::ForeignTypeRef as _;
use openssl::nid::Nid;
use openssl::ssl::{SslOptions, SslRef};
use std::ffi::{CStr, c_char, c_int};

/// Whether the session holds bytes that have arrived and not been read, understood or not.
pub fn has_pending(ssl: &SslRef) -> bool {
    // SAFETY: the session is valid as long as its reference, and only looked at.
    unsafe { raw::SSL_has_pending(ssl.as_ptr()) == 1 }
}

/// The library's number and words for an error of a session, and the name of its part.
pub fn session_error(reason: u32) -> (u64, &'static str, &'static str) {
    let number = session_error_number(reason);
    let text = |text: *const c_char| match text.is_null() {
        true => "",
        // SAFETY: the functions below return terminated constants or nothing.
        false => unsafe { CStr::from_ptr(text) }.to_str().unwrap_or_default(),
    };
    // SAFETY: the functions take any number.
    let (words, part) = unsafe {
        (
            openssl_sys::ERR_reason_error_string(number as _),
            openssl_sys::ERR_lib_error_string(number as _),
        )
    };
    (number, text(words), text(part))
}

/// Sets options of one session.
pub fn set_options(ssl: &mut SslRef, options: SslOptions) {
    // SAFETY: the session is valid and exclusively borrowed.
    unsafe { raw::SSL_set_options(ssl.as_ptr(), option_bits(options)) };
}

/// Clears options of one session.
pub fn clear_options(ssl: &mut SslRef, options: SslOptions) {
    // SAFETY: the session is valid and exclusively borrowed.
    unsafe { raw::SSL_clear_options(ssl.as_ptr(), option_bits(options)) };
}

/// The kind of signature that the peer has proved its key with.
pub fn peer_signature(ssl: &SslRef) -> Option<Nid> {
    let mut nid: c_int = 0;
    // SAFETY: the session is valid; the number is written to during the call only.
    let known = unsafe { raw::SSL_get_peer_signature_type_nid(ssl.as_ptr(), &mut nid) } == 1;
    known.then(|| Nid::from_raw(nid))
}

/// The random bytes of the client, as far as they are known.
pub fn client_random(ssl: &SslRef) -> Vec<u8> {
    // SAFETY: the session is valid; the library writes no more than there is room for.
    filled(|to, room| unsafe { openssl_sys::SSL_get_client_random(ssl.as_ptr(), to, room) })
}

/// The random bytes of the server, as far as they are known.
pub fn server_random(ssl: &SslRef) -> Vec<u8> {
    // SAFETY: as above.
    filled(|to, room| unsafe { openssl_sys::SSL_get_server_random(ssl.as_ptr(), to, room) })
}

fn filled(fill: impl FnOnce(*mut u8, usize) -> usize) -> Vec<u8> {
    let mut bytes = vec![0; 32];
    let length = fill(bytes.as_mut_ptr(), bytes.len());
    bytes.truncate(length);
    bytes
}
