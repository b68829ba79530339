//! Tickets of AWS-LC, which authenticates by HMAC alone. Never a key of its own.

use crate::ticket::{BLOCK, Seal, Tickets, answer, begin};
use foreign_types::ForeignTypeRef as _;
use openssl::ssl::{SslContextBuilder, SslRef};
use std::ffi::c_int;

/// Seals tickets of the context's sessions with keys of `T`; the context is the one that sessions
/// begin with.
pub fn seal_tickets<T: Tickets>(context: &mut SslContextBuilder) {
    // SAFETY: the context is valid and exclusively borrowed; the function lives for ever.
    unsafe {
        openssl_sys::SSL_CTX_set_tlsext_ticket_key_cb(context.as_ptr(), Some(called::<T>));
    }
}

unsafe extern "C" fn called<T: Tickets>(
    ssl: *mut openssl_sys::SSL,
    name: *mut u8,
    iv: *mut u8,
    cipher: *mut openssl_sys::EVP_CIPHER_CTX,
    mac: *mut openssl_sys::HMAC_CTX,
    seals: c_int,
) -> c_int {
    if ssl.is_null() || name.is_null() || iv.is_null() {
        return crate::ticket::FAILED;
    }
    // SAFETY: the library lends the session, 16 bytes for the name, at least as many for the
    // first block, and both contexts, for the length of the call; it copies what it needs of the
    // keys.
    unsafe {
        let ticket = Seal {
            name: &mut *name.cast::<[u8; 16]>(),
            first: std::slice::from_raw_parts_mut(iv, BLOCK),
        };
        answer::<T>(SslRef::from_ptr(ssl), ticket, seals != 0, |key, first, seals| {
            begin(cipher, key, first, seals)
                && openssl_sys::HMAC_Init_ex(
                    mac,
                    key.mac.as_ptr().cast(),
                    key.mac.len(),
                    openssl_sys::EVP_sha256(),
                    std::ptr::null_mut(),
                ) == 1
        })
    }
}
