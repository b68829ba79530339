//! Which implementations the library takes algorithms from. Never chooses one.

use std::ffi::{CString, c_char, c_int};

unsafe extern "C" {
    fn EVP_set_default_properties(
        library: *mut openssl_sys::OSSL_LIB_CTX,
        query: *const c_char,
    ) -> c_int;
}

/// Sets what implementations must be like, or had better be, in the whole process. `false`: the
/// query is not understood.
pub fn set_default_properties(query: &str) -> bool {
    let Ok(query) = CString::new(query) else { return false };
    // SAFETY: without a library context the usual one is meant, which the library guards by locks
    // of its own; the text is terminated, and is copied.
    unsafe { EVP_set_default_properties(std::ptr::null_mut(), query.as_ptr()) == 1 }
}
