//! Packet protection and header protection (RFC 9001 sections 5.3 and 5.4).

use crate::derive::Hash;
use bytes::BytesMut;
use openssl::cipher::{Cipher, CipherRef};
use openssl::cipher_ctx::CipherCtx;
use openssl::error::ErrorStack;
use quinn_proto::crypto::{CryptoError, HeaderKey, KeyPair, Keys, PacketKey};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tls::QuicSuite;

/// Bytes of the tag of any suite.
pub(crate) const TAG: usize = 16;

/// Bytes of the nonce of any suite.
const NONCE: usize = 12;

/// Bytes that header protection samples.
const SAMPLE: usize = 16;

/// The facts of a suite that derivation and protection need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Suite(pub(crate) QuicSuite);

impl Suite {
    /// The suite of Initial packets.
    pub(crate) const INITIAL: Self = Self(QuicSuite::Aes128);

    pub(crate) fn hash(self) -> Hash {
        match self.0 {
            QuicSuite::Aes128 | QuicSuite::ChaCha20 => Hash::Sha256,
            QuicSuite::Aes256 => Hash::Sha384,
        }
    }

    fn key_len(self) -> usize {
        match self.0 {
            QuicSuite::Aes128 => 16,
            QuicSuite::Aes256 | QuicSuite::ChaCha20 => 32,
        }
    }

    fn cipher(self) -> &'static CipherRef {
        match self.0 {
            QuicSuite::Aes128 => Cipher::aes_128_gcm(),
            QuicSuite::Aes256 => Cipher::aes_256_gcm(),
            QuicSuite::ChaCha20 => Cipher::chacha20_poly1305(),
        }
    }

    fn header_cipher(self) -> &'static CipherRef {
        match self.0 {
            QuicSuite::Aes128 => Cipher::aes_128_ecb(),
            QuicSuite::Aes256 => Cipher::aes_256_ecb(),
            QuicSuite::ChaCha20 => Cipher::chacha20(),
        }
    }

    /// Packets that one key may protect (RFC 9001 section 6.6).
    fn confidentiality_limit(self) -> u64 {
        match self.0 {
            QuicSuite::Aes128 | QuicSuite::Aes256 => 1 << 23,
            QuicSuite::ChaCha20 => u64::MAX,
        }
    }

    /// Packets that may fail authentication with the keys of a connection.
    fn integrity_limit(self) -> u64 {
        match self.0 {
            QuicSuite::Aes128 | QuicSuite::Aes256 => 1 << 52,
            QuicSuite::ChaCha20 => 1 << 36,
        }
    }
}

fn lock<T>(place: &Mutex<T>) -> MutexGuard<'_, T> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A key for the payload of packets.
///
/// The library's context is changed by each packet, and the traits share keys, so it is in a lock
/// that only one thread ever takes.
pub(crate) struct PayloadKey {
    suite: Suite,
    iv: [u8; NONCE],
    seal: Mutex<CipherCtx>,
    open: Mutex<CipherCtx>,
}

impl PayloadKey {
    /// The key that follows from a secret.
    pub(crate) fn of_secret(suite: Suite, secret: &[u8]) -> Result<Self, ErrorStack> {
        let hash = suite.hash();
        let key = hash.expand_label(secret, "quic key", suite.key_len());
        let iv = hash.expand_label(secret, "quic iv", NONCE);
        Self::new(suite, &key, &iv)
    }

    pub(crate) fn new(suite: Suite, key: &[u8], iv: &[u8]) -> Result<Self, ErrorStack> {
        let (mut seal, mut open) = (CipherCtx::new()?, CipherCtx::new()?);
        seal.encrypt_init(Some(suite.cipher()), Some(key), None)?;
        open.decrypt_init(Some(suite.cipher()), Some(key), None)?;
        let mut nonce = [0; NONCE];
        nonce.copy_from_slice(iv);
        Ok(Self { suite, iv: nonce, seal: Mutex::new(seal), open: Mutex::new(open) })
    }

    fn nonce(&self, packet: u64) -> [u8; NONCE] {
        let mut nonce = self.iv;
        for (byte, number) in nonce[NONCE - 8..].iter_mut().zip(packet.to_be_bytes()) {
            *byte ^= number;
        }
        nonce
    }

    /// Encrypts in place and returns the tag.
    pub(crate) fn seal(
        &self,
        packet: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<[u8; TAG], ErrorStack> {
        let mut context = lock(&self.seal);
        let mut tag = [0; TAG];
        context.encrypt_init(None, None, Some(&self.nonce(packet)))?;
        context.cipher_update(header, None)?;
        let len = payload.len();
        context.cipher_update_inplace(payload, len)?;
        context.cipher_final(&mut [])?;
        context.tag(&mut tag)?;
        Ok(tag)
    }

    /// Decrypts in place.
    pub(crate) fn open(
        &self,
        packet: u64,
        header: &[u8],
        payload: &mut [u8],
        tag: &[u8],
    ) -> Result<(), ErrorStack> {
        let mut context = lock(&self.open);
        context.decrypt_init(None, None, Some(&self.nonce(packet)))?;
        context.set_tag(tag)?;
        context.cipher_update(header, None)?;
        let len = payload.len();
        context.cipher_update_inplace(payload, len)?;
        context.cipher_final(&mut [])?;
        Ok(())
    }
}

impl PacketKey for PayloadKey {
    fn encrypt(&self, packet: u64, buf: &mut [u8], header_len: usize) {
        let (header, payload) = buf.split_at_mut(header_len);
        let end = payload.len() - TAG;
        let (payload, tag) = payload.split_at_mut(end);
        match self.seal(packet, header, payload) {
            Ok(made) => tag.copy_from_slice(&made),
            // The peer drops a packet whose tag is wrong; no clear text may leave.
            Err(_) => payload.fill(0),
        }
    }

    fn decrypt(
        &self,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        let end = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
        let (text, tag) = payload.split_at_mut(end);
        self.open(packet, header, text, tag).map_err(|_| CryptoError)?;
        payload.truncate(end);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG
    }

    fn confidentiality_limit(&self) -> u64 {
        self.suite.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.suite.integrity_limit()
    }
}

/// A key for the headers of packets.
pub(crate) struct MaskKey {
    suite: Suite,
    context: Mutex<CipherCtx>,
}

impl MaskKey {
    pub(crate) fn of_secret(suite: Suite, secret: &[u8]) -> Result<Self, ErrorStack> {
        let key = suite.hash().expand_label(secret, "quic hp", suite.key_len());
        let mut context = CipherCtx::new()?;
        context.encrypt_init(Some(suite.header_cipher()), Some(&key), None)?;
        context.set_padding(false);
        Ok(Self { suite, context: Mutex::new(context) })
    }

    /// The mask of a sample; zeros if the library fails.
    fn mask(&self, sample: &[u8]) -> [u8; 5] {
        let (mut context, mut mask) = (lock(&self.context), [0; 5]);
        let mut block = [0; 2 * SAMPLE];
        let made = match self.suite.0 {
            QuicSuite::Aes128 | QuicSuite::Aes256 => {
                context.cipher_update(sample, Some(&mut block)).is_ok()
            }
            // The sample is the counter and the nonce.
            QuicSuite::ChaCha20 => {
                context.encrypt_init(None, None, Some(sample)).is_ok()
                    && context.cipher_update(&[0; 5], Some(&mut block)).is_ok()
            }
        };
        if made {
            mask.copy_from_slice(&block[..5]);
        }
        mask
    }

    fn apply(&self, offset: usize, packet: &mut [u8], hides: bool) {
        let Some(sample) = packet.get(offset + 4..offset + 4 + SAMPLE) else { return };
        let mask = self.mask(sample);
        let is_long = packet[0] & 0x80 != 0;
        let number_len = |first: u8| usize::from(first & 0x03) + 1;
        let before = packet[0];
        packet[0] ^= mask[0] & if is_long { 0x0f } else { 0x1f };
        let len = number_len(if hides { before } else { packet[0] });
        packet[offset..offset + len].iter_mut().zip(&mask[1..]).for_each(|(byte, it)| *byte ^= it);
    }
}

impl HeaderKey for MaskKey {
    fn decrypt(&self, pn_offset: usize, packet: &mut [u8]) {
        self.apply(pn_offset, packet, false);
    }

    fn encrypt(&self, pn_offset: usize, packet: &mut [u8]) {
        self.apply(pn_offset, packet, true);
    }

    fn sample_size(&self) -> usize {
        SAMPLE
    }
}

/// The keys of both directions.
pub(crate) fn keys(suite: Suite, local: &[u8], remote: &[u8]) -> Result<Keys, ErrorStack> {
    Ok(Keys {
        header: KeyPair {
            local: Box::new(MaskKey::of_secret(suite, local)?),
            remote: Box::new(MaskKey::of_secret(suite, remote)?),
        },
        packet: KeyPair {
            local: Box::new(PayloadKey::of_secret(suite, local)?),
            remote: Box::new(PayloadKey::of_secret(suite, remote)?),
        },
    })
}

/// The salt of the Initial secrets of QUIC version 1 (RFC 9001 section 5.2).
const INITIAL_SALT: [u8; 20] = [
    0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad,
    0xcc, 0xbb, 0x7f, 0x0a,
];

/// The keys of Initial packets on a server, from the connection ID that the client has chosen.
pub(crate) fn initial_keys(id: &[u8]) -> Result<Keys, ErrorStack> {
    let hash = Suite::INITIAL.hash();
    let secret = hash.extract(&INITIAL_SALT, id);
    let client = hash.expand_label(&secret, "client in", hash.len());
    let server = hash.expand_label(&secret, "server in", hash.len());
    keys(Suite::INITIAL, &server, &client)
}

/// The key and nonce of the tag of Retry packets (RFC 9001 section 5.8).
const RETRY_KEY: [u8; 16] = [
    0xbe, 0x0c, 0x69, 0x0b, 0x9f, 0x66, 0x57, 0x5a, 0x1d, 0x76, 0x6b, 0x54, 0xe3, 0x68, 0xc8, 0x4e,
];
const RETRY_NONCE: [u8; NONCE] =
    [0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb];

/// The tag of a Retry packet; zeros, which clients refuse, if the library fails.
pub(crate) fn retry_tag(id: &[u8], packet: &[u8]) -> [u8; TAG] {
    let mut pseudo = Vec::with_capacity(1 + id.len() + packet.len());
    pseudo.push(id.len() as u8);
    pseudo.extend_from_slice(id);
    pseudo.extend_from_slice(packet);
    let key = PayloadKey::new(Suite::INITIAL, &RETRY_KEY, &RETRY_NONCE);
    key.and_then(|key| key.seal(0, &pseudo, &mut [])).unwrap_or_default()
}
