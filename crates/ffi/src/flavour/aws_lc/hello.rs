//! The client's first message, with AWS-LC.

use crate::hello::{FirstMessage, Refused};
use foreign_types::ForeignTypeRef as _;
use openssl::ex_data::Index;
use openssl::ssl::{SslContext, SslContextBuilder, SslRef};
use openssl_sys::{SSL_CLIENT_HELLO, ssl_select_cert_result_t};
use std::ffi::{CStr, c_char, c_int};
use std::sync::{Arc, OnceLock};

/// The library's type that a first message is read from.
pub(crate) use openssl_sys::SSL_CLIENT_HELLO as HelloSource;

type Choose = Arc<dyn Fn(&SSL_CLIENT_HELLO) -> Result<(), Refused> + Send + Sync>;

impl FirstMessage<'_> {
    /// The numbers of its ciphers, two bytes each.
    pub fn ciphers(&self) -> &[u8] {
        let Self(hello) = self;
        if hello.cipher_suites.is_null() {
            return &[];
        }
        // SAFETY: so many bytes of the message are there, which the library lends as long as this
        // lives.
        unsafe { std::slice::from_raw_parts(hello.cipher_suites, hello.cipher_suites_len) }
    }

    /// The contents of an extension; `None` without one of this type. OpenSSL's function for this
    /// would parse the whole message at each call here.
    pub fn extension(&self, kind: u16) -> Option<&[u8]> {
        let mut bytes: *const u8 = std::ptr::null();
        let mut length = 0;
        // SAFETY: the message is valid; the library writes to both places, or to neither.
        let found = unsafe {
            openssl_sys::SSL_early_callback_ctx_extension_get(self.0, kind, &mut bytes, &mut length)
        };
        if found != 1 || bytes.is_null() {
            return None;
        }
        // SAFETY: so many bytes of the message are there, as above.
        Some(unsafe { std::slice::from_raw_parts(bytes, length) })
    }
}

/// The name of the nth cipher that a session may choose.
pub(crate) fn enabled_cipher(ssl: &SslRef, place: c_int) -> *const c_char {
    // SAFETY: the session is valid; there is nothing behind the last place.
    unsafe { openssl_sys::SSL_get_cipher_list(ssl.as_ptr(), place) }
}

const FINE: ssl_select_cert_result_t =
    openssl_sys::ssl_select_cert_result_t_ssl_select_cert_success;
const REFUSED: ssl_select_cert_result_t =
    openssl_sys::ssl_select_cert_result_t_ssl_select_cert_error;

fn index() -> Option<Index<SslContext, Choose>> {
    static INDEX: OnceLock<Option<Index<SslContext, Choose>>> = OnceLock::new();
    *INDEX.get_or_init(|| SslContext::new_ex_index().ok())
}

/// Shows the client's first message of each session of the context before anything is decided, and
/// then the session with what has been read of it.
pub fn choose_by_hello<H, R, F>(context: &mut SslContextBuilder, read: R, choose: F)
where
    R: Fn(&FirstMessage<'_>) -> H + Send + Sync + 'static,
    F: Fn(&mut SslRef, H) -> Result<(), Refused> + Send + Sync + 'static,
{
    let look = move |hello: &SSL_CLIENT_HELLO| {
        let heard = read(&FirstMessage(hello));
        // SAFETY: a message belongs to a session, to which there is no other reference during the
        // call.
        choose(unsafe { SslRef::from_ptr_mut(hello.ssl) }, heard)
    };
    if let Some(index) = index() {
        context.set_ex_data(index, Arc::new(look) as Choose);
    }
    // SAFETY: the context is valid and exclusively borrowed; the function lives forever. It is not
    // the function that OpenSSL has for this: AWS-LC passes no ciphers to that one.
    unsafe { openssl_sys::SSL_CTX_set_select_certificate_cb(context.as_ptr(), Some(called)) };
}

unsafe extern "C" fn called(hello: *const SSL_CLIENT_HELLO) -> ssl_select_cert_result_t {
    // SAFETY: the library lends the message for the length of the call.
    let Some(hello) = (unsafe { hello.as_ref() }) else {
        return REFUSED;
    };
    // SAFETY: a message belongs to a session, which does not change before `look` is called.
    let session = unsafe { SslRef::from_ptr(hello.ssl) };
    // The value is cloned because the session may leave its context.
    let look = index().and_then(|index| session.ssl_context().ex_data(index)).cloned();
    match look.map(|look| look(hello)) {
        Some(Ok(())) => return FINE,
        Some(Err(Refused::UnknownName)) => {
            // SAFETY: there is no other reference to the session. The library sends no second
            // alert.
            unsafe {
                let alert = openssl_sys::SSL_AD_UNRECOGNIZED_NAME as u8;
                openssl_sys::SSL_send_fatal_alert(hello.ssl, alert);
            }
        }
        Some(Err(Refused::Broken(error))) => error.put(),
        None => {}
    }
    REFUSED
}

/// The name of a cipher by its number on the wire.
pub fn cipher_name(_: &SslRef, number: [u8; 2]) -> Option<String> {
    name(number).map(str::to_owned)
}

fn name(number: [u8; 2]) -> Option<&'static str> {
    // SAFETY: any number may be asked for; ciphers and their names are constants of the library.
    unsafe {
        let cipher = openssl_sys::SSL_get_cipher_by_value(u16::from_be_bytes(number));
        if cipher.is_null() {
            return None;
        }
        CStr::from_ptr(openssl_sys::SSL_CIPHER_get_name(cipher)).to_str().ok()
    }
}
