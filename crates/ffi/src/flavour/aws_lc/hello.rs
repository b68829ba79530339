//! The client's first message, with AWS-LC. Never keeps anything of it.

use crate::hello::Refused;
use foreign_types::ForeignTypeRef as _;
use openssl::ex_data::Index;
use openssl::ssl::{SslContext, SslContextBuilder, SslRef};
use openssl_sys::{SSL_CLIENT_HELLO, ssl_select_cert_result_t};
use std::ffi::CStr;
use std::sync::{Arc, OnceLock};

type Choose = Arc<dyn Fn(&mut SslRef, &[u8]) -> Result<(), Refused> + Send + Sync>;

const FINE: ssl_select_cert_result_t =
    openssl_sys::ssl_select_cert_result_t_ssl_select_cert_success;
const REFUSED: ssl_select_cert_result_t =
    openssl_sys::ssl_select_cert_result_t_ssl_select_cert_error;

fn index() -> Option<Index<SslContext, Choose>> {
    static INDEX: OnceLock<Option<Index<SslContext, Choose>>> = OnceLock::new();
    *INDEX.get_or_init(|| SslContext::new_ex_index().ok())
}

/// Shows each session of the context the client's first message before anything is decided, and the
/// ciphers in it.
pub fn choose_by_hello<F>(context: &mut SslContextBuilder, choose: F)
where
    F: Fn(&mut SslRef, &[u8]) -> Result<(), Refused> + Send + Sync + 'static,
{
    if let Some(index) = index() {
        context.set_ex_data(index, Arc::new(choose) as Choose);
    }
    // SAFETY: the context is valid and exclusively borrowed; the function lives for ever. It is
    // not the function that OpenSSL has for this, which is not told any ciphers here.
    unsafe { openssl_sys::SSL_CTX_set_select_certificate_cb(context.as_ptr(), Some(called)) };
}

unsafe extern "C" fn called(hello: *const SSL_CLIENT_HELLO) -> ssl_select_cert_result_t {
    // SAFETY: the library lends the message and its session for the length of the call, and nobody
    // else has the session; so many bytes of ciphers are there, which the session does not touch.
    let (session, ciphers) = unsafe {
        let Some(hello) = hello.as_ref().filter(|it| !it.cipher_suites.is_null()) else {
            return REFUSED;
        };
        let ciphers = std::slice::from_raw_parts(hello.cipher_suites, hello.cipher_suites_len);
        (SslRef::from_ptr_mut(hello.ssl), ciphers)
    };
    // It is cloned because the session may leave the context that it has.
    let choose = index().and_then(|index| session.ssl_context().ex_data(index)).cloned();
    match choose.map(|choose| choose(session, ciphers)) {
        Some(Ok(())) => return FINE,
        Some(Err(Refused::UnknownName)) => {
            // SAFETY: the session is valid and exclusively borrowed. The library says no second
            // alert of its own.
            unsafe {
                let alert = openssl_sys::SSL_AD_UNRECOGNIZED_NAME as u8;
                openssl_sys::SSL_send_fatal_alert(session.as_ptr(), alert);
            }
        }
        Some(Err(Refused::Broken(error))) => error.put(),
        None => {}
    }
    REFUSED
}

/// Whether a known cipher with this in its name is among those of a client.
pub fn offers(_: &SslRef, ciphers: &[u8], part: &str) -> bool {
    let numbers = ciphers.chunks_exact(2);
    numbers.filter_map(|number| name([number[0], number[1]])).any(|name| name.contains(part))
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
