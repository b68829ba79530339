//! Names in certificates as texts.

use crate::flavour::raw;
use crate::print::text;
use foreign_types::ForeignTypeRef as _;
use openssl::x509::X509NameRef;
use std::ffi::{CStr, c_ulong, c_void};

/// RFC 2253 as the library writes it.
const XN_FLAG_RFC2253: c_ulong = 0x0111_0317;

/// `/C=FR/O=Example`
pub fn one_line(name: &X509NameRef) -> String {
    // SAFETY: the name is valid as long as its reference; without a buffer the library allocates
    // a terminated text, which is ours to free.
    unsafe {
        let text = raw::X509_NAME_oneline(name.as_ptr(), std::ptr::null_mut(), 0);
        if text.is_null() {
            return String::new();
        }
        let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
        openssl_sys::OPENSSL_free(text.cast::<c_void>());
        copy
    }
}

/// `O=Example,C=FR`
pub fn rfc2253(name: &X509NameRef) -> String {
    text(|out| {
        // SAFETY: both are valid during the call.
        unsafe { raw::X509_NAME_print_ex(out, name.as_ptr(), 0, XN_FLAG_RFC2253) }
    })
}
