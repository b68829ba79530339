//! AWS-LC, whose handshakes cost less than half of OpenSSL's.

pub(crate) mod aead;
pub(crate) mod early;
pub(crate) mod hello;
pub(crate) mod next;
pub(crate) mod provider;
pub(crate) mod quic;
pub(crate) mod raw;
pub(crate) mod settings;
pub(crate) mod ticket;

pub(crate) use quic::AbsentSession as QuicSession;

/// Keywords that this library does not support.
pub const LACKS: &[&str] =
    &["npn", "ssl-dh-param-file", "ssl-propquery", "ssl-provider", "ssl-provider-path"];
/// Features that the library lacks as well, but without which a configuration works.
pub const NEEDS_NOT: &[&str] = &["tune.ssl.default-dh-param", "tune.ssl.own-records"];
/// The version of OpenSSL whose interface the library has, according to its headers.
pub fn api_version() -> &'static str {
    "1.1.1"
}

/// Bytes of early data that a client may send: the library has a number of its own.
pub const EARLY_ROOM: u32 = 14_336;
/// Whether the library refuses early data that is replayed: here the caller has to.
pub const TAKES_EARLY_ONCE: bool = false;

/// Whether sessions tell all that another record layer needs to go on with them: this library sends
/// tickets with the first data only.
pub const HANDS_OVER: bool = false;

/// The name of the library.
pub const NAME: &str = "AWS-LC";
