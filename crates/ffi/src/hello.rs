//! The first message of a client, while it is looked at. Never interprets an extension.

use foreign_types::ForeignTypeRef as _;
use openssl::ssl::SslRef;
use std::ffi::c_uchar;

/// The contents of an extension, within the callback for the client's first message; `None` if it
/// has none of this type, and outside that callback.
pub fn extension(ssl: &SslRef, kind: u16) -> Option<&[u8]> {
    let mut bytes: *const c_uchar = std::ptr::null();
    let mut length = 0;
    // SAFETY: the session is valid. Outside the callback there is no message, and the library says
    // that there is no extension.
    let found = unsafe {
        openssl_sys::SSL_client_hello_get0_ext(
            ssl.as_ptr(),
            u32::from(kind),
            &mut bytes,
            &mut length,
        )
    };
    if found != 1 || bytes.is_null() {
        return None;
    }
    // SAFETY: the library says so many bytes are there, and they stay until the callback ends,
    // which the reference to the session that it was given cannot outlive.
    Some(unsafe { std::slice::from_raw_parts(bytes, length) })
}
