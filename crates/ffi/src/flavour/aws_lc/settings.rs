//! Settings and properties of contexts and sessions of AWS-LC.

use super::raw;
use crate::Prefers;
use crate::attached::Attached;
use foreign_types::{ForeignType as _, ForeignTypeRef as _};
use openssl::bn::BigNum;
use openssl::error::{Error, ErrorStack};
use openssl::pkey::Id;
use openssl::ssl::{SslContextBuilder, SslOptions, SslRef};
use openssl::x509::X509;
use std::ffi::{CStr, CString, c_int};

/// Options of each context. The library never compresses, and takes an end without leave for one.
pub fn usual_options() -> SslOptions {
    SslOptions::NO_RENEGOTIATION | SslOptions::CIPHER_SERVER_PREFERENCE
}

/// The library reads all bytes of the session before the call returns, so the caller has to bound
/// the bytes that it passes.
pub fn admit_asides(_: &mut SslContextBuilder) {}

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

/// Sessions get one ticket each. OpenSSL sends as many for resumed sessions, and two for others.
/// The library cannot tell the two apart.
pub fn set_usual_tickets(context: &mut SslContextBuilder) {
    // SAFETY: the context is valid and exclusively borrowed.
    unsafe { openssl_sys::SSL_CTX_set_num_tickets(context.as_ptr(), 1) };
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

/// The suites of TLS 1.3, and their numbers on the wire (RFC 8446 appendix B.4).
const SUITES: [(&CStr, [u8; 2]); 3] = [
    (c"TLS_AES_128_GCM_SHA256", [0x13, 1]),
    (c"TLS_AES_256_GCM_SHA384", [0x13, 2]),
    (c"TLS_CHACHA20_POLY1305_SHA256", [0x13, 3]),
];

/// All of them.
const ALL_SUITES: &CStr =
    c"TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

/// Whether the processor has instructions for AES.
fn has_quick_aes() -> bool {
    // SAFETY: the call only reads the processor's features.
    unsafe { openssl_sys::EVP_has_aes_hardware() == 1 }
}

/// The suite that is chosen where no list says otherwise and the client offers it: the fastest.
/// SHA-256, which has instructions of its own in more processors, makes a handshake cheaper than
/// SHA-384.
fn usual_suite() -> &'static CStr {
    if has_quick_aes() { SUITES[0].0 } else { SUITES[2].0 }
}

/// Makes sessions begin with the suite that most of them choose: a list for each costs the library
/// the time of a key. [`take_ciphers`] gives the others theirs.
///
/// # Errors
/// No memory.
pub fn set_usual_suite(context: &mut SslContextBuilder) -> Result<(), ErrorStack> {
    // SAFETY: the context is valid and exclusively borrowed; the text is terminated, and copied.
    done(unsafe { openssl_sys::SSL_CTX_set_ciphersuites(context.as_ptr(), usual_suite().as_ptr()) })
}

/// The first suite of TLS 1.3 in our list that the client offers too, without a list the fastest.
/// The library selects by the client's order alone.
fn best_suite(offered: &[u8], ours: Option<&str>) -> Option<&'static CStr> {
    let is_offered = |number: &[u8; 2]| offered.chunks_exact(2).any(|it| it == number);
    let mut common = SUITES.into_iter().filter(|(_, number)| is_offered(number));
    let Some(ours) = ours else {
        let best = if has_quick_aes() { common.next() } else { common.next_back() };
        return best.map(|(name, _)| name);
    };
    let place = |name: &CStr| ours.split(':').position(|own| own.as_bytes() == name.to_bytes());
    let common = common.filter_map(|(name, _)| Some((place(name)?, name)));
    common.min_by_key(|(place, _)| *place).map(|(_, name)| name)
}

/// Gives a session the ciphers of the context that was chosen for it. Otherwise the session keeps
/// the ciphers of its first context, of which [`set_usual_suite`] has left one. To be called while
/// the client's first message is looked at.
///
/// # Errors
/// A list is not understood.
pub fn take_ciphers(
    ssl: &mut SslRef,
    ciphers: Option<&str>,
    suites: Option<&str>,
    prefers: Prefers<'_>,
) -> Result<(), ErrorStack> {
    let set = |ssl: &mut SslRef, suites: &CStr| {
        // SAFETY: the session is valid and exclusively borrowed; the text is copied.
        done(unsafe { openssl_sys::SSL_set_ciphersuites(ssl.as_ptr(), suites.as_ptr()) })
    };
    let best = match prefers {
        Prefers::Ours(offered) => best_suite(offered, suites),
        Prefers::Theirs => None,
    };
    match (best, suites) {
        (Some(best), _) if best == usual_suite() => {}
        (Some(best), _) => set(ssl, best)?,
        (None, Some(suites)) => set(ssl, &CString::new(suites).map_err(|_| ErrorStack::get())?)?,
        (None, None) => set(ssl, ALL_SUITES)?,
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

/// Attaches the data of `A` to sessions of this context; here [`attach`] does that for each
/// session.
///
/// # Errors
/// None.
pub fn attach_by<A: Attached>(_: &mut SslContextBuilder) -> Result<(), ErrorStack> {
    Ok(())
}

/// Makes a session send the value of `A` to clients that support it.
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

/// Has no effect: the library reads only what it needs.
pub fn set_read_ahead(_: &mut SslRef, _: bool) {}

/// Whether the sides have agreed on shorter records than usual (RFC 6066 section 4): never.
pub fn has_short_fragments(_: &SslRef) -> bool {
    false
}

/// The library's number of an error of a session, from its reason (`ERR_PACK`).
pub(crate) fn session_error_number(reason: u32) -> u64 {
    const SSL_PART: u64 = 16;
    SSL_PART << 24 | u64::from(reason & 0xfff)
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

#[cfg(test)]
mod tests {
    use super::{best_suite, usual_suite};

    #[test]
    fn the_first_suite_of_ours_that_is_offered_is_chosen() {
        let offered = [0x13, 2, 0x13, 1, 0xc0, 0x2f];
        let (small, large) = (c"TLS_AES_128_GCM_SHA256", c"TLS_AES_256_GCM_SHA384");
        for (ours, best) in [
            ("TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384", Some(small)),
            ("TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384", Some(large)),
            ("TLS_CHACHA20_POLY1305_SHA256", None),
        ] {
            assert_eq!(best_suite(&offered, Some(ours)), best, "{ours}");
        }
        assert_eq!(best_suite(&offered[..2], None), Some(large));
        assert_eq!(best_suite(&[], None), None);
        assert_eq!(best_suite(&[0x13, 3, 0x13, 2, 0x13, 1], None), Some(usual_suite()));
    }
}
