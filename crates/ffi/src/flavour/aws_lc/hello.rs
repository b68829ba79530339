//! The client's first message, with AWS-LC. Never keeps anything of it.

use crate::hello::Refused;
use foreign_types::ForeignTypeRef as _;
use openssl::ex_data::Index;
use openssl::ssl::{SslContext, SslContextBuilder, SslRef};
use std::ffi::{CStr, c_int, c_void};
use std::sync::{Arc, OnceLock};

type Choose = Arc<dyn Fn(&mut SslRef) -> Result<(), Refused> + Send + Sync>;

fn index() -> Option<Index<SslContext, Choose>> {
    static INDEX: OnceLock<Option<Index<SslContext, Choose>>> = OnceLock::new();
    *INDEX.get_or_init(|| SslContext::new_ex_index().ok())
}

/// Shows each session of the context the client's first message before anything is decided.
pub fn choose_by_hello<F>(context: &mut SslContextBuilder, choose: F)
where
    F: Fn(&mut SslRef) -> Result<(), Refused> + Send + Sync + 'static,
{
    if let Some(index) = index() {
        context.set_ex_data(index, Arc::new(choose) as Choose);
    }
    // SAFETY: the context is valid and exclusively borrowed; the function lives for ever, and
    // takes no argument of ours.
    unsafe {
        openssl_sys::SSL_CTX_set_client_hello_cb(
            context.as_ptr(),
            Some(called),
            std::ptr::null_mut(),
        );
    }
}

unsafe extern "C" fn called(
    ssl: *mut openssl_sys::SSL,
    alert: *mut c_int,
    _argument: *mut c_void,
) -> c_int {
    if ssl.is_null() || alert.is_null() {
        return openssl_sys::SSL_CLIENT_HELLO_ERROR;
    }
    // SAFETY: the library lends the session for the length of the call, and nobody else has it.
    let session = unsafe { SslRef::from_ptr_mut(ssl) };
    // It is cloned because the session may leave the context that it has.
    let choose = index().and_then(|index| session.ssl_context().ex_data(index)).cloned();
    match choose.map(|choose| choose(session)) {
        Some(Ok(())) => openssl_sys::SSL_CLIENT_HELLO_SUCCESS as c_int,
        Some(Err(Refused::UnknownName)) => {
            // SAFETY: the place is lent as the session is.
            unsafe { *alert = openssl_sys::SSL_AD_UNRECOGNIZED_NAME as c_int };
            openssl_sys::SSL_CLIENT_HELLO_ERROR
        }
        Some(Err(Refused::Broken(error))) => {
            error.put();
            openssl_sys::SSL_CLIENT_HELLO_ERROR
        }
        None => openssl_sys::SSL_CLIENT_HELLO_ERROR,
    }
}

/// Whether the client offers a known cipher with this in its name; only while its first message is
/// looked at.
pub fn offers(ssl: &SslRef, part: &str) -> bool {
    let numbers = crate::hello::ciphers(ssl).chunks_exact(2);
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
