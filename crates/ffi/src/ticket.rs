//! Tickets that clients keep their sessions in, sealed by keys that we are given (RFC 5077). Never a key of
//! its own.

use foreign_types::ForeignTypeRef as _;
use openssl::ssl::{SslContextBuilder, SslRef, SslVersion};
use std::ffi::{CStr, c_char, c_int, c_uchar};

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

type Callback = unsafe extern "C" fn(
    *mut openssl_sys::SSL,
    *mut c_uchar,
    *mut c_uchar,
    *mut openssl_sys::EVP_CIPHER_CTX,
    *mut openssl_sys::EVP_MAC_CTX,
    c_int,
) -> c_int;

unsafe extern "C" {
    fn SSL_CTX_set_tlsext_ticket_key_evp_cb(
        ctx: *mut openssl_sys::SSL_CTX,
        callback: Callback,
    ) -> c_int;
    fn OSSL_PARAM_construct_utf8_string(
        key: *const c_char,
        text: *mut c_char,
        size: usize,
    ) -> openssl_sys::OSSL_PARAM;
}

/// What the library takes for an answer.
const FAILED: c_int = -1;
const UNKNOWN: c_int = 0;
const KNOWN: c_int = 1;
const OLD: c_int = 2;

const BLOCK: usize = 16;
const KEY: &CStr = c"key";
const DIGEST: &CStr = c"digest";
const SHA256: &CStr = c"SHA256";

/// Seals tickets of the context's sessions with keys of `T`; the context is the one that sessions
/// begin with.
pub fn seal_tickets<T: Tickets>(context: &mut SslContextBuilder) {
    // SAFETY: the context is valid and exclusively borrowed; the function lives for ever.
    unsafe { SSL_CTX_set_tlsext_ticket_key_evp_cb(context.as_ptr(), answer::<T>) };
}

unsafe extern "C" fn answer<T: Tickets>(
    ssl: *mut openssl_sys::SSL,
    name: *mut c_uchar,
    iv: *mut c_uchar,
    cipher: *mut openssl_sys::EVP_CIPHER_CTX,
    mac: *mut openssl_sys::EVP_MAC_CTX,
    seals: c_int,
) -> c_int {
    if ssl.is_null() || name.is_null() || iv.is_null() {
        return FAILED;
    }
    // SAFETY: the library lends the session, 16 bytes for the name, at least as many for the
    // first block, and both contexts, for the length of the call.
    unsafe {
        let session = SslRef::from_ptr(ssl);
        let name = &mut *name.cast::<[u8; 16]>();
        let first = std::slice::from_raw_parts_mut(iv, BLOCK);
        if seals == 0 {
            let wanted = *name;
            // From TLS 1.3 on a ticket is for one use: there has to be another one for the next.
            let used_up = session.version2() == Some(SslVersion::TLS1_3);
            let opened = T::with(session, Wanted::Open(&wanted), |key, old| {
                match begin(key, first, cipher, mac, false) {
                    true if old || used_up => OLD,
                    true => KNOWN,
                    false => FAILED,
                }
            });
            return opened.unwrap_or(UNKNOWN);
        }
        let sealed = T::with(session, Wanted::Seal, |key, _| {
            *name = *key.name;
            let fresh = openssl::rand::rand_bytes(first).is_ok();
            if fresh && begin(key, first, cipher, mac, true) { KNOWN } else { FAILED }
        });
        sealed.unwrap_or(UNKNOWN)
    }
}

/// Hands a key to both contexts.
///
/// # Safety
/// Both have to be valid.
unsafe fn begin(
    key: TicketKey<'_>,
    iv: &[u8],
    cipher: *mut openssl_sys::EVP_CIPHER_CTX,
    mac: *mut openssl_sys::EVP_MAC_CTX,
    seals: bool,
) -> bool {
    // SAFETY: the contexts are valid; key and first block are as long as the cipher wants them;
    // the library copies what it needs, and only reads.
    unsafe {
        let kind = match key.cipher.len() {
            16 => openssl_sys::EVP_aes_128_cbc(),
            32 => openssl_sys::EVP_aes_256_cbc(),
            _ => return false,
        };
        let params = [
            openssl_sys::OSSL_PARAM_construct_octet_string(
                KEY.as_ptr(),
                key.mac.as_ptr().cast_mut().cast(),
                key.mac.len(),
            ),
            OSSL_PARAM_construct_utf8_string(DIGEST.as_ptr(), SHA256.as_ptr().cast_mut(), 0),
            openssl_sys::OSSL_PARAM_construct_end(),
        ];
        let none = std::ptr::null_mut();
        let (key, iv) = (key.cipher.as_ptr(), iv.as_ptr());
        let begun = match seals {
            true => openssl_sys::EVP_EncryptInit_ex(cipher, kind, none, key, iv),
            false => openssl_sys::EVP_DecryptInit_ex(cipher, kind, none, key, iv),
        };
        begun == 1 && openssl_sys::EVP_MAC_CTX_set_params(mac, params.as_ptr()) == 1
    }
}
