//! Tickets that clients keep their sessions in, sealed by keys that we are given (RFC 5077).

use foreign_types::ForeignTypeRef as _;
use openssl::ssl::{SslRef, SslVersion};
use std::ffi::{c_int, c_uchar};

/// A key, by its parts.
#[derive(Clone, Copy)]
pub struct TicketKey<'a> {
    /// The key name inside tickets.
    pub name: &'a [u8; 16],
    /// For AES in cipher block chaining: 16 or 32 bytes.
    pub cipher: &'a [u8],
    /// For HMAC with SHA-256.
    pub mac: &'a [u8],
}

/// The purpose for which a key is requested.
#[derive(Clone, Copy)]
pub enum Wanted<'a> {
    /// Sealing a new ticket.
    Seal,
    /// Decryption of a ticket that names its key.
    Open(&'a [u8; 16]),
}

/// The source of a session's ticket keys.
pub trait Tickets {
    /// Hands the key that is wanted to `act`, with whether tickets of it should be replaced;
    /// `None` without one.
    fn with<T>(
        ssl: &SslRef,
        wanted: Wanted<'_>,
        act: impl FnOnce(TicketKey<'_>, bool) -> T,
    ) -> Option<T>;
}

/// The return value of the callback for a failure.
const FAILED: c_int = -1;
const UNKNOWN: c_int = 0;
const KNOWN: c_int = 1;
const OLD: c_int = 2;

const BLOCK: usize = 16;

/// Answers the library, which wants a ticket sealed or opened: `authenticate` hands a key to its
/// context for that.
///
/// # Safety
/// The library has to have lent the session, 16 bytes for the name of the key, at least as many for
/// the first block, and the context that encrypts or decrypts, for the length of the call.
pub(crate) unsafe fn answer<T: Tickets>(
    ssl: *mut openssl_sys::SSL,
    (name, first): (*mut c_uchar, *mut c_uchar),
    cipher: *mut openssl_sys::EVP_CIPHER_CTX,
    seals: bool,
    authenticate: impl Fn(TicketKey<'_>) -> bool,
) -> c_int {
    if ssl.is_null() || name.is_null() || first.is_null() {
        return FAILED;
    }
    // SAFETY: as the caller says.
    let (session, name, first) = unsafe {
        let first = std::slice::from_raw_parts_mut(first, BLOCK);
        (SslRef::from_ptr(ssl), &mut *name.cast::<[u8; 16]>(), first)
    };
    let begin = |key: TicketKey<'_>, first: &[u8]| {
        // SAFETY: as the caller says, and the first block is as long as one.
        let begun = unsafe { begin(cipher, key, first, seals) };
        begun && authenticate(key)
    };
    if !seals {
        let wanted = *name;
        // From TLS 1.3 on a ticket is for one use, so a new ticket is issued for the next
        // connection.
        let used_up = session.version2() == Some(SslVersion::TLS1_3);
        let opened = T::with(session, Wanted::Open(&wanted), |key, old| match begin(key, first) {
            true if old || used_up => OLD,
            true => KNOWN,
            false => FAILED,
        });
        return opened.unwrap_or(UNKNOWN);
    }
    let sealed = T::with(session, Wanted::Seal, |key, _| {
        *name = *key.name;
        let fresh = openssl::rand::rand_bytes(first).is_ok();
        if fresh && begin(key, first) { KNOWN } else { FAILED }
    });
    sealed.unwrap_or(UNKNOWN)
}

/// Hands a key to the context that encrypts or decrypts.
///
/// # Safety
/// The context has to be valid, and `first` at least one block of the cipher long.
unsafe fn begin(
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
