//! Tickets of OpenSSL, which authenticates by contexts of its newer kind.

use super::raw;
use crate::ticket::{TicketKey, Tickets, answer};
use openssl::ssl::SslContextBuilder;
use std::ffi::{CStr, c_int, c_uchar};

type Callback = unsafe extern "C" fn(
    *mut openssl_sys::SSL,
    *mut c_uchar,
    *mut c_uchar,
    *mut openssl_sys::EVP_CIPHER_CTX,
    *mut openssl_sys::EVP_MAC_CTX,
    c_int,
) -> c_int;

unsafe extern "C" {
    fn SSL_CTX_set_tlsext_ticket_key_evp_cb(
        ctx: *mut openssl_sys::SSL_CTX,
        callback: Callback,
    ) -> c_int;
}

const KEY: &CStr = c"key";
const DIGEST: &CStr = c"digest";
const SHA256: &CStr = c"SHA256";

/// Seals tickets of the context's sessions with keys of `T`; the context is the one that sessions
/// begin with.
pub fn seal_tickets<T: Tickets>(context: &mut SslContextBuilder) {
    // SAFETY: the context is valid and exclusively borrowed; the function lives forever.
    unsafe { SSL_CTX_set_tlsext_ticket_key_evp_cb(context.as_ptr(), called::<T>) };
}

unsafe extern "C" fn called<T: Tickets>(
    ssl: *mut openssl_sys::SSL,
    name: *mut c_uchar,
    iv: *mut c_uchar,
    cipher: *mut openssl_sys::EVP_CIPHER_CTX,
    mac: *mut openssl_sys::EVP_MAC_CTX,
    seals: c_int,
) -> c_int {
    // SAFETY: the library lends all of this for the length of the call.
    unsafe { answer::<T>(ssl, (name, iv), cipher, seals != 0, |key| authenticate(mac, key)) }
}

/// Hands a key to the context that authenticates.
///
/// # Safety
/// The context has to be valid.
unsafe fn authenticate(mac: *mut openssl_sys::EVP_MAC_CTX, key: TicketKey<'_>) -> bool {
    // SAFETY: the context is valid; the library copies what it needs, and only reads.
    unsafe {
        let params = [
            openssl_sys::OSSL_PARAM_construct_octet_string(
                KEY.as_ptr(),
                key.mac.as_ptr().cast_mut().cast(),
                key.mac.len(),
            ),
            raw::OSSL_PARAM_construct_utf8_string(DIGEST.as_ptr(), SHA256.as_ptr().cast_mut(), 0),
            openssl_sys::OSSL_PARAM_construct_end(),
        ];
        openssl_sys::EVP_MAC_CTX_set_params(mac, params.as_ptr()) == 1
    }
}
