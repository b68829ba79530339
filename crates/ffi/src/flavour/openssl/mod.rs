//! The functions of OpenSSL 3 that `ffi` wraps.

pub(crate) mod aead;
pub(crate) mod early;
pub(crate) mod hello;
pub(crate) mod next;
pub(crate) mod provider;
pub(crate) mod quic;
pub(crate) mod raw;
pub(crate) mod settings;
pub(crate) mod ticket;

pub(crate) use quic::QuicSession;

/// Keywords that this library does not support.
pub const LACKS: &[&str] = &[];
/// Features that the library lacks as well, but without which a configuration works.
pub const NEEDS_NOT: &[&str] = &[];
/// The version of OpenSSL whose interface the library offers.
pub fn api_version() -> &'static str {
    openssl::version::version().split(' ').nth(1).unwrap_or_default()
}

/// Bytes of early data that a client may send.
pub const EARLY_ROOM: u32 = 1 << 14;
/// Whether the library refuses early data that is replayed.
pub const TAKES_EARLY_ONCE: bool = true;

/// Whether sessions tell all that another record layer needs to go on with them.
pub const HANDS_OVER: bool = true;

/// The name of the library.
pub const NAME: &str = "OpenSSL";
