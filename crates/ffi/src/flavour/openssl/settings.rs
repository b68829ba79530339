//! What contexts and sessions of OpenSSL can be told and asked. Never builds one.

use super::raw;
use crate::Prefers;
use crate::attached::Attached;
use foreign_types::ForeignTypeRef as _;
use openssl::bn::BigNum;
use openssl::error::{Error, ErrorStack};
use openssl::pkey::Id;
use openssl::ssl::{ExtensionContext, SslContextBuilder, SslMode, SslOptions, SslRef};
use openssl::x509::X509;
use std::ffi::{CString, c_int, c_long, c_void};

const SSL_CTRL_SET_GROUPS_LIST: c_int = 92;

/// `signed_certificate_timestamp` (RFC 6962 section 3.3.1)
const TIMESTAMPS: u16 = 18;

/// Options of each context.
pub fn usual_options() -> SslOptions {
    SslOptions::NO_COMPRESSION
        | SslOptions::NO_RENEGOTIATION
        | SslOptions::IGNORE_UNEXPECTED_EOF
        | SslOptions::CIPHER_SERVER_PREFERENCE
}

/// `SSL_CTRL_CLEAR_MODE`
const CLEAR_MODE: c_int = 78;

/// Makes a read end that has brought nothing but what belongs to the session, as if it had to wait,
/// though there may be more to read. The library would go on for as long as its peer does.
pub fn admit_asides(context: &mut SslContextBuilder) {
    // SAFETY: the context is valid and exclusively borrowed; the argument is a number.
    unsafe {
        openssl_sys::SSL_CTX_ctrl(
            context.as_ptr(),
            CLEAR_MODE,
            SslMode::AUTO_RETRY.bits() as c_long,
            std::ptr::null_mut(),
        )
    };
}

pub(crate) fn option_bits(options: SslOptions) -> u64 {
    options.bits()
}

/// How long sessions of the context may be resumed, in seconds.
pub fn set_session_timeout(context: &mut SslContextBuilder, seconds: u32) {
    // SAFETY: the context is valid as long as its builder, and exclusively borrowed.
    unsafe { raw::SSL_CTX_set_timeout(context.as_ptr(), c_long::from(seconds)) };
}

/// Sets the groups of one session. `false`: the list is not understood.
pub fn set_groups(ssl: &mut SslRef, groups: &str) -> bool {
    let Ok(groups) = CString::new(groups) else { return false };
    // SAFETY: the session is valid and exclusively borrowed; the text is terminated, and the
    // library copies what it needs of it.
    let done = unsafe {
        openssl_sys::SSL_ctrl(
            ssl.as_ptr(),
            SSL_CTRL_SET_GROUPS_LIST,
            0,
            groups.as_ptr().cast_mut().cast::<c_void>(),
        )
    };
    done == 1
}

/// Sessions get as many tickets as the library thinks fit: two, and one if they were resumed.
pub fn set_usual_tickets(_: &mut SslContextBuilder) {}

/// Sets the ciphers from TLS 1.3 on.
///
/// # Errors
/// The list is not understood.
pub fn set_ciphersuites(context: &mut SslContextBuilder, suites: &str) -> Result<(), ErrorStack> {
    context.set_ciphersuites(suites)
}

/// Makes sessions begin with the suite that most of them choose: here they choose by their order.
///
/// # Errors
/// None.
pub fn set_usual_suite(_: &mut SslContextBuilder) -> Result<(), ErrorStack> {
    Ok(())
}

/// Gives a session the ciphers of a context that it goes on with: here it has them already.
///
/// # Errors
/// None.
pub fn take_ciphers(
    _: &mut SslRef,
    _: Option<&str>,
    _: Option<&str>,
    _: Prefers<'_>,
) -> Result<(), ErrorStack> {
    Ok(())
}

/// Lets sessions sign with what is below the usual level of security.
pub fn allow_weak(context: &mut SslContextBuilder) {
    context.set_security_level(0);
}

/// As [`allow_weak`], of one session.
pub fn allow_weak_in(ssl: &mut SslRef) {
    ssl.set_security_level(0);
}

/// Lets a client say something early: `EARLY_ROOM` bytes.
///
/// # Errors
/// No memory.
pub fn hear_early(ssl: &mut SslRef) -> Result<(), ErrorStack> {
    ssl.set_max_early_data(super::EARLY_ROOM)
}

/// Shows one more certificate of a chain.
///
/// # Errors
/// No memory, or a key that is below the level of security.
pub fn add_chain_cert(ssl: &mut SslRef, link: &X509) -> Result<(), ErrorStack> {
    ssl.add_chain_cert(link.clone())
}

/// Makes sessions that go on with this context show what `A` has. Each context of a server needs
/// this, the one that sessions begin with too: the library makes room for extensions of others
/// when a session begins, and does not when it changes its context.
///
/// # Errors
/// No memory.
pub fn attach_by<A: Attached>(context: &mut SslContextBuilder) -> Result<(), ErrorStack> {
    context.set_status_callback(|ssl| {
        let Some(staple) = A::staple(ssl) else { return Ok(false) };
        ssl.set_ocsp_status(&staple)?;
        Ok(true)
    })?;
    context.add_custom_ext(
        TIMESTAMPS,
        ExtensionContext::CLIENT_HELLO
            | ExtensionContext::TLS1_2_SERVER_HELLO
            | ExtensionContext::TLS1_3_CERTIFICATE,
        |ssl, _, place| {
            let first = place.is_none_or(|(depth, _)| depth == 0);
            Ok(A::timestamps(ssl).filter(|_| first).map(<[u8]>::to_vec))
        },
        |_, _, _, _| Ok(()),
    )
}

/// Makes a session show what `A` has for it: here it asks by itself.
///
/// # Errors
/// None.
pub fn attach<A: Attached>(_: &mut SslRef) -> Result<(), ErrorStack> {
    Ok(())
}

/// The library's number of an error.
pub fn error_code(error: &Error) -> u64 {
    error.code()
}

/// Whether keys of this kind sign a text without a digest of their user's choice.
pub fn hashes_itself(kind: Id) -> bool {
    matches!(kind, Id::ED25519 | Id::ED448)
}

/// The prime of a known group with generator 2 (RFC 3526, the smallest RFC 2409), by its bits.
pub fn known_prime(bits: u32) -> Option<BigNum> {
    let prime = match bits {
        1_024 => BigNum::get_rfc2409_prime_1024(),
        2_048 => BigNum::get_rfc3526_prime_2048(),
        3_072 => BigNum::get_rfc3526_prime_3072(),
        4_096 => BigNum::get_rfc3526_prime_4096(),
        8_192 => BigNum::get_rfc3526_prime_8192(),
        _ => return None,
    };
    prime.ok()
}
