//! The library's list of what has gone wrong on this thread.
//!
//! Who asks how a call has ended is told of a failure if the list is not empty, whoever has left
//! something there.

use crate::flavour::raw;

/// Forgets all errors of this thread that nobody has asked for.
#[inline]
pub fn forget_errors() {
    // SAFETY: the list belongs to this thread, and the library makes it when it is asked for first.
    unsafe {
        if openssl_sys::ERR_peek_last_error() != 0 {
            raw::ERR_clear_error();
        }
    }
}
