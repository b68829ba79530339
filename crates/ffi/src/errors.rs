//! The library's error queue of this thread.
//!
//! `SSL_get_error` reports a failure if the queue is not empty, so it is cleared before each call.

use crate::flavour::raw;

/// Clears the library's error queue of this thread.
#[inline]
pub fn forget_errors() {
    // SAFETY: the list belongs to this thread, and the library makes it when it is asked for first.
    unsafe {
        if openssl_sys::ERR_peek_last_error() != 0 {
            raw::ERR_clear_error();
        }
    }
}
