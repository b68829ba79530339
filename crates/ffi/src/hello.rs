//! The first messages of a client, while they are looked at.

use crate::flavour::{HelloSource, enabled_cipher, raw};
use foreign_types::ForeignTypeRef as _;
use openssl::error::ErrorStack;
use openssl::ssl::{Ssl, SslContext, SslContextBuilder, SslRef};
use std::ffi::{CStr, c_int, c_void};

/// `SSL3_RT_HANDSHAKE`
const HANDSHAKE: c_int = 22;
/// `SSL3_RT_HEADER`
const HEADER: c_int = 256;

/// Why a session does not continue.
#[derive(Debug)]
pub enum Refused {
    /// No certificate is for the name that the client asks for.
    UnknownName,
    /// A call of the library failed.
    Broken(ErrorStack),
}

impl From<ErrorStack> for Refused {
    fn from(error: ErrorStack) -> Self {
        Self::Broken(error)
    }
}

/// A client's first message, as the library lends it to a callback.
pub struct FirstMessage<'a>(pub(crate) &'a HelloSource);

/// More ciphers than any library has.
const MOST_CIPHERS: c_int = 1_024;

/// The names of the ciphers that sessions of a context may choose and that have this in their
/// names.
///
/// # Errors
/// No memory.
pub fn enabled_ciphers(context: &SslContext, part: &str) -> Result<Vec<String>, ErrorStack> {
    let ssl = Ssl::new(context)?;
    let names = (0..MOST_CIPHERS).map(|place| enabled_cipher(&ssl, place));
    let names = names.take_while(|name| !name.is_null()).filter_map(|name| {
        // SAFETY: names of ciphers are terminated constants of the library.
        unsafe { CStr::from_ptr(name) }.to_str().ok()
    });
    Ok(names.filter(|name| name.contains(part)).map(str::to_owned).collect())
}

/// The side whose order of ciphers decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prefers<'a> {
    /// The server chooses among the protocols that the client offers: two bytes each.
    Ours(&'a [u8]),
    /// The client's.
    Theirs,
}

/// An observer of messages.
pub trait Watch {
    /// A message of the handshake has been received whole.
    fn received(ssl: &SslRef, message: &[u8]);

    /// A record of this type (the one outside) is sent, or its header has been received.
    fn record(ssl: &SslRef, is_sent: bool, kind: u8);
}

/// Shows all messages of handshakes that sessions of the context receive, and all records.
pub fn watch_messages<W: Watch>(context: &mut SslContextBuilder) {
    // SAFETY: the context is valid and exclusively borrowed; the function lives forever.
    unsafe { raw::SSL_CTX_set_msg_callback(context.as_ptr(), Some(seen::<W>)) };
}

unsafe extern "C" fn seen<W: Watch>(
    sent: c_int,
    _version: c_int,
    kind: c_int,
    start: *const c_void,
    length: usize,
    ssl: *mut openssl_sys::SSL,
    _argument: *mut c_void,
) {
    if start.is_null() || ssl.is_null() {
        return;
    }
    // SAFETY: the library lends the message and the session for the length of the call.
    let (message, ssl) =
        unsafe { (std::slice::from_raw_parts(start.cast::<u8>(), length), SslRef::from_ptr(ssl)) };
    match kind {
        HANDSHAKE if sent == 0 => W::received(ssl, message),
        HEADER => message.first().into_iter().for_each(|kind| W::record(ssl, sent != 0, *kind)),
        _ => {}
    }
}
