//! Tickets that clients keep their sessions in, sealed by keys that we are given (RFC 5077). Never a key of
//! its own.

use openssl::ssl::{SslRef, SslVersion};
use std::ffi::c_int;

/// A key, by its parts.
#[derive(Clone, Copy)]
pub struct TicketKey<'a> {
    /// What tickets name it by.
    pub name: &'a [u8; 16],
    /// For AES in cipher block chaining: 16 or 32 bytes.
    pub cipher: &'a [u8],
    /// For HMAC with SHA-256.
    pub mac: &'a [u8],
}

/// What a key is asked for.
#[derive(Clone, Copy)]
pub enum Wanted<'a> {
    /// Sealing a new ticket.
    Seal,
    /// Opening one that names its key.
    Open(&'a [u8; 16]),
}

/// Who has the keys of a session.
pub trait Tickets {
    /// Hands the key that is wanted to `act`, with whether tickets of it should be replaced;
    /// `None` without one.
    fn with<T>(
        ssl: &SslRef,
        wanted: Wanted<'_>,
        act: impl FnOnce(TicketKey<'_>, bool) -> T,
    ) -> Option<T>;
}

/// What the library takes for an answer.
pub(crate) const FAILED: c_int = -1;
const UNKNOWN: c_int = 0;
const KNOWN: c_int = 1;
const OLD: c_int = 2;

pub(crate) const BLOCK: usize = 16;

/// What is written in a ticket before its contents.
pub(crate) struct Seal<'a> {
    /// The name of its key.
    pub(crate) name: &'a mut [u8; 16],
    /// What its first block is mixed with.
    pub(crate) first: &'a mut [u8],
}

/// Answers the library: `begin` hands a key to its contexts.
pub(crate) fn answer<T: Tickets>(
    session: &SslRef,
    ticket: Seal<'_>,
    seals: bool,
    begin: impl Fn(TicketKey<'_>, &[u8], bool) -> bool,
) -> c_int {
    let Seal { name, first } = ticket;
    if !seals {
        let wanted = *name;
        // From TLS 1.3 on a ticket is for one use: there has to be another one for the next.
        let used_up = session.version2() == Some(SslVersion::TLS1_3);
        let opened =
            T::with(session, Wanted::Open(&wanted), |key, old| match begin(key, first, false) {
                true if old || used_up => OLD,
                true => KNOWN,
                false => FAILED,
            });
        return opened.unwrap_or(UNKNOWN);
    }
    let sealed = T::with(session, Wanted::Seal, |key, _| {
        *name = *key.name;
        let fresh = openssl::rand::rand_bytes(first).is_ok();
        if fresh && begin(key, first, true) { KNOWN } else { FAILED }
    });
    sealed.unwrap_or(UNKNOWN)
}

/// Hands a key to the context that encrypts or decrypts.
///
/// # Safety
/// The context has to be valid, and the first block as long as one.
pub(crate) unsafe fn begin(
    cipher: *mut openssl_sys::EVP_CIPHER_CTX,
    key: TicketKey<'_>,
    first: &[u8],
    seals: bool,
) -> bool {
    // SAFETY: the context is valid; key and first block are as long as the cipher wants them;
    // the library copies what it needs, and only reads.
    unsafe {
        let kind = match key.cipher.len() {
            16 => openssl_sys::EVP_aes_128_cbc(),
            32 => openssl_sys::EVP_aes_256_cbc(),
            _ => return false,
        };
        let none = std::ptr::null_mut();
        let (key, first) = (key.cipher.as_ptr(), first.as_ptr());
        let begun = match seals {
            true => openssl_sys::EVP_EncryptInit_ex(cipher, kind, none, key, first),
            false => openssl_sys::EVP_DecryptInit_ex(cipher, kind, none, key, first),
        };
        begun == 1
    }
}
