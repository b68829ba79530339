//! The output of the library's printing functions as text.

use crate::errors::forget_errors;
use foreign_types::ForeignTypeRef as _;
use openssl::nid::Nid;
use openssl::x509::X509Ref;
use std::ffi::{c_char, c_int};

/// The text that `print` writes to the `BIO` that it is given; empty if it reports an error.
pub(crate) fn text(print: impl FnOnce(*mut openssl_sys::BIO) -> c_int) -> String {
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
        forget_errors();
        text
    }
}

/// The value of the first extension of this kind, such as `DNS:a, DNS:b`; empty without one.
pub fn extension_text(certificate: &X509Ref, kind: Nid) -> String {
    // SAFETY: the certificate is valid as long as its reference.
    let at = unsafe { openssl_sys::X509_get_ext_by_NID(certificate.as_ptr(), kind.as_raw(), -1) };
    if at < 0 {
        return String::new();
    }
    // SAFETY: as above; `at` is the place of an extension, which belongs to the certificate.
    let extension = unsafe { openssl_sys::X509_get_ext(certificate.as_ptr(), at) };
    if extension.is_null() {
        return String::new();
    }
    text(|out| {
        // SAFETY: both are valid during the call.
        unsafe { openssl_sys::X509V3_EXT_print(out, extension, 0, 0) }
    })
}
