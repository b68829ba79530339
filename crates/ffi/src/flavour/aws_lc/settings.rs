//! What contexts and sessions of AWS-LC can be told and asked. Never builds one.

use super::raw;
use crate::attached::Attached;
use foreign_types::{ForeignType as _, ForeignTypeRef as _};
use openssl::bn::BigNum;
use openssl::error::{Error, ErrorStack};
use openssl::pkey::Id;
use openssl::ssl::{SslContextBuilder, SslOptions, SslRef};
use openssl::x509::X509;
use std::ffi::{CString, c_int};

/// Options of each context. The library never compresses, and takes an end without leave for one.
pub fn usual_options() -> SslOptions {
    SslOptions::NO_RENEGOTIATION | SslOptions::CIPHER_SERVER_PREFERENCE
}

pub(crate) fn option_bits(options: SslOptions) -> u32 {
    options.bits()
}

fn done(result: c_int) -> Result<(), ErrorStack> {
    if result == 1 { Ok(()) } else { Err(ErrorStack::get()) }
}

/// How long sessions of the context may be resumed, in seconds.
pub fn set_session_timeout(context: &mut SslContextBuilder, seconds: u32) {
    // SAFETY: the context is valid as long as its builder, and exclusively borrowed.
    unsafe {
        raw::SSL_CTX_set_timeout(context.as_ptr(), seconds);
        openssl_sys::SSL_CTX_set_session_psk_dhe_timeout(context.as_ptr(), seconds);
    }
}

/// Sets the groups of one session. `false`: the list is not understood.
pub fn set_groups(ssl: &mut SslRef, groups: &str) -> bool {
    let Ok(groups) = CString::new(groups) else { return false };
    // SAFETY: the session is valid and exclusively borrowed; the text is terminated, and the
    // library copies what it needs of it.
    unsafe { openssl_sys::SSL_set1_groups_list(ssl.as_ptr(), groups.as_ptr()) == 1 }
}

/// Sets the ciphers from TLS 1.3 on.
///
/// # Errors
/// The list is not understood.
pub fn set_ciphersuites(context: &mut SslContextBuilder, suites: &str) -> Result<(), ErrorStack> {
    let suites = CString::new(suites).map_err(|_| ErrorStack::get())?;
    // SAFETY: the context is valid and exclusively borrowed; the text is terminated, and copied.
    done(unsafe { openssl_sys::SSL_CTX_set_ciphersuites(context.as_ptr(), suites.as_ptr()) })
}

/// Gives a session the ciphers of a context that it goes on with: it keeps those that it began
/// with otherwise.
///
/// # Errors
/// A list is not understood.
pub fn take_ciphers(
    ssl: &mut SslRef,
    ciphers: Option<&str>,
    suites: Option<&str>,
) -> Result<(), ErrorStack> {
    if let Some(suites) = suites {
        let suites = CString::new(suites).map_err(|_| ErrorStack::get())?;
        // SAFETY: the session is valid and exclusively borrowed; the text is copied.
        done(unsafe { openssl_sys::SSL_set_ciphersuites(ssl.as_ptr(), suites.as_ptr()) })?;
    }
    ciphers.map_or(Ok(()), |ciphers| ssl.set_cipher_list(ciphers))
}

/// Lets sessions sign with what is below the usual level of security: the library has no levels.
pub fn allow_weak(_: &mut SslContextBuilder) {}

/// As [`allow_weak`], of one session.
pub fn allow_weak_in(_: &mut SslRef) {}

/// Lets a client say something early: `EARLY_ROOM` bytes.
///
/// # Errors
/// None.
pub fn hear_early(ssl: &mut SslRef) -> Result<(), ErrorStack> {
    // SAFETY: the session is valid and exclusively borrowed.
    unsafe { openssl_sys::SSL_set_early_data_enabled(ssl.as_ptr(), 1) };
    Ok(())
}

/// Shows one more certificate of a chain.
///
/// # Errors
/// No memory.
pub fn add_chain_cert(ssl: &mut SslRef, link: &X509) -> Result<(), ErrorStack> {
    // SAFETY: both are valid; the session takes a reference of its own to the certificate.
    done(unsafe { openssl_sys::SSL_add1_chain_cert(ssl.as_ptr(), link.as_ptr()) })
}

/// Makes sessions that go on with this context show what `A` has: here each is told by [`attach`].
///
/// # Errors
/// None.
pub fn attach_by<A: Attached>(_: &mut SslContextBuilder) -> Result<(), ErrorStack> {
    Ok(())
}

/// Makes a session show what `A` has for it, to clients that ask.
///
/// # Errors
/// No memory, or no timestamps.
pub fn attach<A: Attached>(ssl: &mut SslRef) -> Result<(), ErrorStack> {
    if let Some(staple) = A::staple(ssl) {
        // SAFETY: the session is valid and exclusively borrowed; the library copies the bytes.
        let set = unsafe {
            openssl_sys::SSL_set_ocsp_response(ssl.as_ptr(), staple.as_ptr(), staple.len())
        };
        done(set)?;
    }
    if let Some(list) = A::timestamps(ssl) {
        // SAFETY: as above.
        let set = unsafe {
            openssl_sys::SSL_set_signed_cert_timestamp_list(ssl.as_ptr(), list.as_ptr(), list.len())
        };
        done(set)?;
    }
    Ok(())
}

/// The library's number of an error.
pub fn error_code(error: &Error) -> u64 {
    u64::from(error.code())
}

/// Whether keys of this kind sign a text without a digest of their user's choice.
pub fn hashes_itself(kind: Id) -> bool {
    kind == Id::ED25519
}

/// The prime of a known group: the library exchanges no keys by finite fields.
pub fn known_prime(_: u32) -> Option<BigNum> {
    None
}
