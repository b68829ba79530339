//! Names in certificates as texts. Never parses one.

use foreign_types::ForeignTypeRef as _;
use openssl::x509::X509NameRef;
use std::ffi::{CStr, c_char, c_int, c_ulong, c_void};

/// RFC 2253 as the library writes it.
const XN_FLAG_RFC2253: c_ulong = 0x0111_0317;

unsafe extern "C" {
    fn X509_NAME_oneline(
        name: *const openssl_sys::X509_NAME,
        buffer: *mut c_char,
        size: c_int,
    ) -> *mut c_char;
    fn X509_NAME_print_ex(
        out: *mut openssl_sys::BIO,
        name: *const openssl_sys::X509_NAME,
        indent: c_int,
        flags: c_ulong,
    ) -> c_int;
}

/// `/C=FR/O=Example`
pub fn one_line(name: &X509NameRef) -> String {
    // SAFETY: the name is valid as long as its reference; without a buffer the library allocates
    // a terminated text, which is ours to free.
    unsafe {
        let text = X509_NAME_oneline(name.as_ptr(), std::ptr::null_mut(), 0);
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
        unsafe { X509_NAME_print_ex(out, name.as_ptr(), 0, XN_FLAG_RFC2253) }
    })
}

/// What a printing function of the library writes.
fn text(print: impl FnOnce(*mut openssl_sys::BIO) -> c_int) -> String {
    // SAFETY: the memory belongs to the `BIO`, which is freed after the text has been copied.
    unsafe {
        let out = openssl_sys::BIO_new(openssl_sys::BIO_s_mem());
        if out.is_null() {
            return String::new();
        }
        let mut start: *mut c_char = std::ptr::null_mut();
        let text = match print(out) {
            0.. => {
                let length = openssl_sys::BIO_get_mem_data(out, &mut start);
                match usize::try_from(length) {
                    Ok(length @ 1..) if !start.is_null() => {
                        let bytes = std::slice::from_raw_parts(start.cast::<u8>(), length);
                        String::from_utf8_lossy(bytes).into_owned()
                    }
                    _ => String::new(),
                }
            }
            _ => String::new(),
        };
        openssl_sys::BIO_free_all(out);
        text
    }
}
