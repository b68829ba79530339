//! What a context or a session can be told and asked beyond what the crate offers. Never builds one.

use foreign_types::ForeignTypeRef as _;
use openssl::nid::Nid;
use openssl::ssl::{SslContextBuilder, SslOptions, SslRef};
use std::ffi::{CStr, CString, c_char, c_int, c_long, c_ulong, c_void};

const SSL_CTRL_SET_READ_AHEAD: c_int = 41;
const SSL_CTRL_SET_GROUPS_LIST: c_int = 92;

unsafe extern "C" {
    fn SSL_CTX_set_timeout(ctx: *mut openssl_sys::SSL_CTX, seconds: c_long) -> c_long;
    fn SSL_has_pending(ssl: *const openssl_sys::SSL) -> c_int;
    fn SSL_set_options(ssl: *mut openssl_sys::SSL, options: u64) -> u64;
    fn SSL_clear_options(ssl: *mut openssl_sys::SSL, options: u64) -> u64;
    fn SSL_get_version(ssl: *const openssl_sys::SSL) -> *const c_char;
    fn SSL_get_peer_signature_type_nid(ssl: *const openssl_sys::SSL, nid: *mut c_int) -> c_int;
}

/// How long sessions of the context may be resumed, in seconds.
pub fn set_session_timeout(context: &mut SslContextBuilder, seconds: u32) {
    // SAFETY: the context is valid as long as its builder, and exclusively borrowed.
    unsafe { SSL_CTX_set_timeout(context.as_ptr(), c_long::from(seconds)) };
}

/// The library reads as much as its buffer holds, not record by record.
pub fn set_read_ahead(context: &mut SslContextBuilder) {
    // SAFETY: as above; this control takes a number and no pointer.
    unsafe {
        openssl_sys::SSL_CTX_ctrl(
            context.as_ptr(),
            SSL_CTRL_SET_READ_AHEAD,
            1,
            std::ptr::null_mut::<c_void>(),
        )
    };
}

/// Whether the session holds bytes that have arrived and not been read, understood or not.
pub fn has_pending(ssl: &SslRef) -> bool {
    // SAFETY: the session is valid as long as its reference, and only looked at.
    unsafe { SSL_has_pending(ssl.as_ptr()) == 1 }
}

/// Sets options of one session.
pub fn set_options(ssl: &mut SslRef, options: SslOptions) {
    // SAFETY: the session is valid and exclusively borrowed.
    unsafe { SSL_set_options(ssl.as_ptr(), options.bits() as c_ulong) };
}

/// Clears options of one session.
pub fn clear_options(ssl: &mut SslRef, options: SslOptions) {
    // SAFETY: the session is valid and exclusively borrowed.
    unsafe { SSL_clear_options(ssl.as_ptr(), options.bits() as c_ulong) };
}

/// Sets the groups of one session. `false`: the list is not understood.
pub fn set_groups(ssl: &mut SslRef, groups: &str) -> bool {
    let Ok(groups) = CString::new(groups) else { return false };
    // SAFETY: the session is valid and exclusively borrowed; the text is terminated, and the
    // library copies what it needs of it.
    let done = unsafe {
        openssl_sys::SSL_ctrl(
            ssl.as_ptr(),
            SSL_CTRL_SET_GROUPS_LIST,
            0,
            groups.as_ptr().cast_mut().cast::<c_void>(),
        )
    };
    done == 1
}

/// The protocol version as the library writes it, such as `TLSv1.3`.
pub fn version_name(ssl: &SslRef) -> &'static str {
    // SAFETY: the session is valid; the text is a constant of the library.
    let text = unsafe { CStr::from_ptr(SSL_get_version(ssl.as_ptr())) };
    text.to_str().unwrap_or("unknown")
}

/// The kind of signature that the peer has proved its key with.
pub fn peer_signature(ssl: &SslRef) -> Option<Nid> {
    let mut nid: c_int = 0;
    // SAFETY: the session is valid; the number is written to during the call only.
    let known = unsafe { SSL_get_peer_signature_type_nid(ssl.as_ptr(), &mut nid) } == 1;
    known.then(|| Nid::from_raw(nid))
}
