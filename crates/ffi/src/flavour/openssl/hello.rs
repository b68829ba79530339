//! The client's first message, with OpenSSL.

use super::raw;
use crate::hello::{FirstMessage, Refused};
use foreign_types::ForeignTypeRef as _;
use openssl::ssl::{ClientHelloResponse, SslAlert, SslContextBuilder, SslRef};
use std::ffi::{c_char, c_int, c_uchar, c_uint};

/// The library's type that a first message is read from.
pub(crate) use openssl::ssl::SslRef as HelloSource;

impl FirstMessage<'_> {
    /// The numbers of its ciphers, two bytes each.
    pub fn ciphers(&self) -> &[u8] {
        self.0.client_hello_ciphers().unwrap_or_default()
    }

    /// The contents of an extension; `None` without one of this type.
    pub fn extension(&self, kind: u16) -> Option<&[u8]> {
        let mut bytes: *const c_uchar = std::ptr::null();
        let mut length = 0;
        // SAFETY: the session is valid, and its first message is there; the library writes to both
        // places, or to neither.
        let found = unsafe {
            openssl_sys::SSL_client_hello_get0_ext(
                self.0.as_ptr(),
                c_uint::from(kind),
                &mut bytes,
                &mut length,
            )
        };
        if found != 1 || bytes.is_null() {
            return None;
        }
        // SAFETY: the library says so many bytes are there, and they stay as long as the message.
        Some(unsafe { std::slice::from_raw_parts(bytes, length) })
    }
}

/// The name of the nth cipher that a session may choose.
pub(crate) fn enabled_cipher(ssl: &SslRef, place: c_int) -> *const c_char {
    // SAFETY: the session is valid; there is nothing behind the last place.
    unsafe { raw::SSL_get_cipher_list(ssl.as_ptr(), place) }
}

/// Shows the client's first message of each session of the context before anything is decided, and
/// then the session with what has been read of it.
pub fn choose_by_hello<H, R, F>(context: &mut SslContextBuilder, read: R, choose: F)
where
    R: Fn(&FirstMessage<'_>) -> H + Send + Sync + 'static,
    F: Fn(&mut SslRef, H) -> Result<(), Refused> + Send + Sync + 'static,
{
    context.set_client_hello_callback(move |ssl, alert| {
        let heard = read(&FirstMessage(ssl));
        match choose(ssl, heard) {
            Ok(()) => Ok(ClientHelloResponse::SUCCESS),
            Err(Refused::UnknownName) => {
                *alert = SslAlert::UNRECOGNIZED_NAME;
                Err(openssl::error::ErrorStack::get())
            }
            Err(Refused::Broken(error)) => Err(error),
        }
    });
}

/// The name of a cipher by its number on the wire.
pub fn cipher_name(ssl: &SslRef, number: [u8; 2]) -> Option<String> {
    let known = ssl.bytes_to_cipher_list(&number, false).ok()?;
    let cipher = known.suites.iter().chain(&known.signalling_suites).next()?;
    Some(cipher.name().to_owned())
}
