//! NPN, which is left to OpenSSL (`LACKS`).

use openssl::ssl::{SslContextBuilder, SslRef};

/// Names none.
pub fn advertise_protocols(_: &mut SslContextBuilder, _: &[u8]) {}

/// Chooses none.
pub fn select_protocol(_: &mut SslContextBuilder, _: &[u8]) {}

/// The library does not support the extension: no protocol is chosen.
pub fn next_protocol(_: &SslRef) -> Option<&[u8]> {
    None
}
