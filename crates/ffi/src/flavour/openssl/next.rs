//! Protocols that a server names and its client chooses from, before ALPN did that the other way
//! round (NPN).

use foreign_types::ForeignTypeRef as _;
use openssl::ex_data::Index;
use openssl::ssl::{SslContext, SslContextBuilder, SslRef};
use std::ffi::{c_int, c_uchar, c_uint, c_void};
use std::sync::OnceLock;

type Advertise = unsafe extern "C" fn(
    *mut openssl_sys::SSL,
    *mut *const c_uchar,
    *mut c_uint,
    *mut c_void,
) -> c_int;

type Select = unsafe extern "C" fn(
    *mut openssl_sys::SSL,
    *mut *mut c_uchar,
    *mut c_uchar,
    *const c_uchar,
    c_uint,
    *mut c_void,
) -> c_int;

unsafe extern "C" {
    fn SSL_CTX_set_next_protos_advertised_cb(
        context: *mut openssl_sys::SSL_CTX,
        callback: Advertise,
        argument: *mut c_void,
    );
    fn SSL_CTX_set_next_proto_select_cb(
        context: *mut openssl_sys::SSL_CTX,
        callback: Select,
        argument: *mut c_void,
    );
    fn SSL_get0_next_proto_negotiated(
        ssl: *const openssl_sys::SSL,
        name: *mut *const c_uchar,
        length: *mut c_uint,
    );
}

/// `SSL_TLSEXT_ERR_OK`
const DONE: c_int = 0;
/// `SSL_TLSEXT_ERR_NOACK`
const NOTHING: c_int = 3;

/// Where a context keeps its protocols, in wire format.
fn index() -> Option<Index<SslContext, Vec<u8>>> {
    static INDEX: OnceLock<Option<Index<SslContext, Vec<u8>>>> = OnceLock::new();
    *INDEX.get_or_init(|| SslContext::new_ex_index().ok())
}

/// Has servers of a context name these protocols, in wire format (as RFC 7301 section 3.1 has it).
pub fn advertise_protocols(context: &mut SslContextBuilder, wire: &[u8]) {
    if let Some(index) = index() {
        context.set_ex_data(index, wire.to_vec());
        // SAFETY: the context is valid and exclusively borrowed; the function lives forever.
        unsafe {
            SSL_CTX_set_next_protos_advertised_cb(context.as_ptr(), advertise, std::ptr::null_mut())
        };
    }
}

/// Has clients of a context choose the first protocol of the server that is among these; without
/// one, the first of these.
pub fn select_protocol(context: &mut SslContextBuilder, wire: &[u8]) {
    if let Some(index) = index() {
        context.set_ex_data(index, wire.to_vec());
        // SAFETY: as above.
        unsafe {
            SSL_CTX_set_next_proto_select_cb(context.as_ptr(), select, std::ptr::null_mut());
        }
    }
}

/// The protocol that the client has chosen.
pub fn next_protocol(ssl: &SslRef) -> Option<&[u8]> {
    let (mut name, mut length) = (std::ptr::null(), 0);
    // SAFETY: the session is valid as long as its reference, and so is the name, which the library
    // says the length of.
    unsafe {
        SSL_get0_next_proto_negotiated(ssl.as_ptr(), &mut name, &mut length);
        (!name.is_null() && length > 0).then(|| std::slice::from_raw_parts(name, length as usize))
    }
}

/// The protocols of a session's context.
fn own(ssl: &SslRef) -> Option<&[u8]> {
    ssl.ssl_context().ex_data(index()?).map(Vec::as_slice)
}

unsafe extern "C" fn advertise(
    ssl: *mut openssl_sys::SSL,
    out: *mut *const c_uchar,
    length: *mut c_uint,
    _: *mut c_void,
) -> c_int {
    // SAFETY: the library lends the session and both places for the length of the call; the
    // protocols live as long as the context, which the session holds.
    unsafe {
        let Some(own) = own(SslRef::from_ptr(ssl)) else { return NOTHING };
        *out = own.as_ptr();
        *length = c_uint::try_from(own.len()).unwrap_or(0);
    }
    DONE
}

unsafe extern "C" fn select(
    ssl: *mut openssl_sys::SSL,
    out: *mut *mut c_uchar,
    length: *mut c_uchar,
    named: *const c_uchar,
    named_length: c_uint,
    _: *mut c_void,
) -> c_int {
    // SAFETY: as above; the pointer is valid for this length. The selected protocol lies in the
    // client's list or in the list of the context, and is only read.
    unsafe {
        let Some(own) = own(SslRef::from_ptr(ssl)) else { return NOTHING };
        let named = match named.is_null() {
            true => &[],
            false => std::slice::from_raw_parts(named, named_length as usize),
        };
        let found = names(named).find(|name| names(own).any(|it| it == *name));
        let Some(chosen) = found.or_else(|| names(own).next()) else { return NOTHING };
        *out = chosen.as_ptr().cast_mut();
        *length = c_uchar::try_from(chosen.len()).unwrap_or(0);
    }
    DONE
}

/// Names in wire format, as far as they are whole.
fn names(mut list: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = list.split_first()?;
        let (name, rest) = rest.split_at_checked(usize::from(*length))?;
        list = rest;
        Some(name)
    })
}
