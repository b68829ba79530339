//! The keys and the counter of one direction.

use crate::error::RecordError;
use crate::schedule::{self, Hmac, MOST_DIGEST, wipe};
use crate::suite::Suite;
use ffi::{Aead, NONCE};
use stdx::SecretBytes;

/// Bytes of the implicit part of a nonce with AES-GCM in TLS 1.2 (RFC 5288 section 3).
const SALT: usize = 4;
/// Bytes of the explicit part, which each record has.
pub(crate) const EXPLICIT: usize = 8;

/// The records that one key of AES-GCM protects before its side sends new keys: below the 2^24.5
/// of RFC 8446 section 5.5.
pub(crate) const MOST_RECORDS: u64 = 1 << 24;

/// Keys and counter of the records of one direction.
#[derive(Debug)]
pub struct Direction {
    pub(crate) suite: Suite,
    /// The traffic secret that the next keys are derived from; only with TLS 1.3.
    secret: Option<SecretBytes<MOST_DIGEST>>,
    key: SecretBytes<32>,
    /// The static nonce of the direction.
    iv: [u8; NONCE],
    /// The explicit part of the nonce of record 0, with AES-GCM in TLS 1.2.
    first: u64,
    /// The number of the next record.
    pub(crate) sequence: u64,
}

impl Direction {
    /// A direction of TLS 1.3 from its traffic secret (RFC 8446 section 7.3). `sequence` records
    /// have been exchanged under it. `None`: the secret has not the length of the hash function.
    pub fn tls13(suite: Suite, secret: &[u8], sequence: u64) -> Option<Self> {
        if secret.len() != suite.hash.length() {
            return None;
        }
        let (mut key, mut iv) = ([0; 32], [0; NONCE]);
        let key = &mut key[..suite.aead.key_length()];
        let hmac = Hmac::new(suite.hash, secret);
        schedule::expand_label(&hmac, b"key", key);
        schedule::expand_label(&hmac, b"iv", &mut iv);
        let kept = SecretBytes::new(key)?;
        wipe(key);
        let secret = Some(SecretBytes::new(secret)?);
        Some(Self { suite, secret, key: kept, iv, first: 0, sequence })
    }

    /// Both directions of TLS 1.2 from its master secret and the random bytes of both sides (RFC
    /// 5246 section 6.3): that of the client and that of the server. `sequences` records have been
    /// exchanged in each. `first` is the explicit nonce of the server's record 0, with AES-GCM:
    /// those that follow count from there, so that none repeats.
    pub fn tls12(
        suite: Suite,
        master: &[u8],
        (client_random, server_random): (&[u8], &[u8]),
        sequences: (u64, u64),
        first: Option<u64>,
    ) -> Option<(Self, Self)> {
        let (key, iv) = (suite.aead.key_length(), implicit(suite));
        let first = first.or((suite.aead == Aead::ChaCha20Poly1305).then_some(0))?;
        let mut block = [0; 2 * (32 + NONCE)];
        let block = &mut block[..2 * (key + iv)];
        let seed = [server_random, client_random];
        schedule::prf(suite.hash, master, b"key expansion", seed, block);
        let side = |place: usize, sequence, first| {
            let mut padded = [0; NONCE];
            padded[..iv].copy_from_slice(&block[2 * key + place * iv..][..iv]);
            let key = SecretBytes::new(&block[place * key..][..key])?;
            Some(Self { suite, secret: None, key, iv: padded, first, sequence })
        };
        let both = side(0, sequences.0, 0).zip(side(1, sequences.1, first));
        wipe(block);
        both
    }

    /// Whether it is one of TLS 1.3.
    #[inline]
    pub(crate) fn is_tls13(&self) -> bool {
        self.secret.is_some()
    }

    /// Whether records have an explicit nonce.
    #[inline]
    pub(crate) fn is_explicit(&self) -> bool {
        !self.is_tls13() && self.suite.aead != Aead::ChaCha20Poly1305
    }

    /// The key.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Takes the number of the next record.
    ///
    /// # Errors
    /// All numbers are used up: they must not wrap (RFC 8446 section 5.3).
    #[inline]
    pub(crate) fn take_number(&mut self) -> Result<u64, RecordError> {
        let number = self.sequence;
        self.sequence = number.checked_add(1).ok_or(RecordError::Exhausted)?;
        Ok(number)
    }

    /// The explicit nonce of a record that is sent.
    #[inline]
    pub(crate) fn explicit(&self, number: u64) -> [u8; EXPLICIT] {
        self.first.wrapping_add(number).to_be_bytes()
    }

    /// The nonce of a record: with its explicit part (RFC 5288 section 3), or by its number (RFC
    /// 8446 section 5.3, RFC 7905 section 2).
    #[inline]
    pub(crate) fn nonce(&self, number: u64, explicit: Option<[u8; EXPLICIT]>) -> [u8; NONCE] {
        let mut nonce = self.iv;
        match explicit {
            Some(explicit) => nonce[SALT..].copy_from_slice(&explicit),
            None => {
                let places = nonce[NONCE - 8..].iter_mut();
                places.zip(number.to_be_bytes()).for_each(|(byte, own)| *byte ^= own);
            }
        }
        nonce
    }

    /// Whether new keys are due: AES-GCM protects a limited number of records (RFC 8446 section
    /// 5.5). TLS 1.2 has no new keys without a new handshake.
    #[inline]
    pub(crate) fn is_worn(&self) -> bool {
        self.sequence >= MOST_RECORDS
            && self.is_tls13()
            && self.suite.aead != Aead::ChaCha20Poly1305
    }

    /// Replaces the keys by the next ones (RFC 8446 section 7.2).
    pub(crate) fn update(&mut self) {
        let Some(secret) = &self.secret else { return };
        let mut next = [0; MOST_DIGEST];
        let next = &mut next[..self.suite.hash.length()];
        schedule::expand_label(&Hmac::new(self.suite.hash, secret), b"traffic upd", next);
        if let Some(updated) = Self::tls13(self.suite, next, 0) {
            *self = updated;
        }
        wipe(next);
    }
}

/// Bytes of the implicit nonce of TLS 1.2.
fn implicit(suite: Suite) -> usize {
    match suite.aead {
        Aead::ChaCha20Poly1305 => NONCE,
        Aead::Aes128Gcm | Aead::Aes256Gcm => SALT,
    }
}
