//! Settings and properties of contexts and sessions of OpenSSL.

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

/// Makes a read that found only messages of the session end as if it had to wait, though more may
/// be readable. The library would continue for as long as its peer does.
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

/// Gives a session the ciphers of the context that was chosen for it. With this library it has them
/// already.
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

/// Makes sessions that continue with this context show what `A` has. Each context of a server needs
/// this, the one that sessions begin with too: the library makes room for extensions of others when
/// a session begins, and does not when it changes its context.
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

/// Has a session call `A` for its data. With this library nothing has to be set: a callback of the
/// context does it.
///
/// # Errors
/// None.
pub fn attach<A: Attached>(_: &mut SslRef) -> Result<(), ErrorStack> {
    Ok(())
}

/// Whether the session reads as much as its buffer holds, or only what it needs.
pub fn set_read_ahead(ssl: &mut SslRef, reads: bool) {
    // SAFETY: the session is valid and exclusively borrowed.
    unsafe { raw::SSL_set_read_ahead(ssl.as_ptr(), c_int::from(reads)) };
}

/// Whether the sides have agreed on shorter records than usual (RFC 6066 section 4).
pub fn has_short_fragments(ssl: &SslRef) -> bool {
    // SAFETY: the session is valid as long as its reference, and so is what belongs to it.
    ssl.session().is_some_and(|session| unsafe {
        raw::SSL_SESSION_get_max_fragment_length(session.as_ptr()) != 0
    })
}

/// The library's number of an error of a session, from its reason (`ERR_PACK`).
pub(crate) fn session_error_number(reason: u32) -> u64 {
    const SSL_PART: u64 = 20;
    SSL_PART << 23 | u64::from(reason)
}

/// The library's number of an error.
pub fn error_code(error: &Error) -> u64 {
    error.code()
}

/// Whether keys of this kind sign a text without a digest of their user's choice.
pub fn hashes_itself(kind: Id) -> bool {
    matches!(kind, Id::ED25519 | Id::ED448)
}

/// The prime of a known group with generator 2 (RFC 7919 appendix A, the smallest RFC 2409), by its
/// bits.
pub fn known_prime(bits: u32) -> Option<BigNum> {
    let prime = match bits {
        1_024 => BigNum::get_rfc2409_prime_1024(),
        2_048 => negotiated_prime(bits, 560_316),
        3_072 => negotiated_prime(bits, 2_625_351),
        4_096 => negotiated_prime(bits, 5_736_041),
        8_192 => negotiated_prime(bits, 10_965_728),
        _ => return None,
    };
    prime.ok()
}

/// `2^b - 2^(b-64) + ([2^(b-130) e] + offset) * 2^64 - 1` (RFC 7919 appendix A).
fn negotiated_prime(bits: u32, offset: u32) -> Result<BigNum, ErrorStack> {
    let bits = bits as i32;
    let mut prime = rounded_e(bits - 130)?;
    prime.add_word(offset)?;
    let mut shifted = BigNum::new()?;
    shifted.lshift(&prime, 64)?;
    let (whole, part) = (power_of_two(bits)?, power_of_two(bits - 64)?);
    prime.checked_add(&shifted, &whole)?;
    shifted.checked_sub(&prime, &part)?;
    shifted.sub_word(1)?;
    Ok(shifted)
}

/// The number e times `2^bits`, without its fraction: the sum of `1/k!`, with bits to spare.
fn rounded_e(bits: i32) -> Result<BigNum, ErrorStack> {
    const SPARE: i32 = 64;
    let (mut term, mut sum) = (power_of_two(bits + SPARE)?, BigNum::new()?);
    let mut count = 1;
    while term.num_bits() > 0 {
        let mut more = BigNum::new()?;
        more.checked_add(&sum, &term)?;
        sum = more;
        term.div_word(count)?;
        count += 1;
    }
    let mut rounded = BigNum::new()?;
    rounded.rshift(&sum, SPARE)?;
    Ok(rounded)
}

fn power_of_two(bits: i32) -> Result<BigNum, ErrorStack> {
    let mut power = BigNum::new()?;
    let one = BigNum::from_u32(1)?;
    power.lshift(&one, bits)?;
    Ok(power)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7919 appendix A.1.
    const FFDHE2048: &str = "\
        FFFFFFFFFFFFFFFFADF85458A2BB4A9AAFDC5620273D3CF1D8B9C583CE2D3695\
        A9E13641146433FBCC939DCE249B3EF97D2FE363630C75D8F681B202AEC4617A\
        D3DF1ED5D5FD65612433F51F5F066ED0856365553DED1AF3B557135E7F57C935\
        984F0C70E0E68B77E2A689DAF3EFE8721DF158A136ADE73530ACCA4F483A797A\
        BC0AB182B324FB61D108A94BB2C8E3FBB96ADAB760D7F4681D4F42A3DE394DF4\
        AE56EDE76372BB190B07A7C8EE0A6D709E02FCE1CDF7E2ECC03404CD28342F61\
        9172FE9CE98583FF8E4F1232EEF28183C3FE3B1B4C6FAD733BB5FCBC2EC22005\
        C58EF1837D1683B2C6F34A26C1B2EFFA886B423861285C97FFFFFFFFFFFFFFFF";

    #[test]
    fn groups_are_those_that_clients_know() {
        let prime = known_prime(2_048).unwrap();
        assert_eq!(prime.to_hex_str().unwrap().to_ascii_uppercase(), FFDHE2048);
        let mut context = openssl::bn::BigNumContext::new().unwrap();
        for bits in [1_024, 2_048, 3_072, 4_096] {
            let prime = known_prime(bits).unwrap();
            assert_eq!(prime.num_bits(), bits as i32);
            assert!(prime.is_prime(8, &mut context).unwrap(), "{bits}");
        }
        assert_eq!(known_prime(8_192).unwrap().num_bits(), 8_192);
        assert!(known_prime(512).is_none());
    }
}
