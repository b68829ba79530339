//! Keys of stateless resets and of address validation tokens (RFC 9000 sections 8.1 and 10.3).

use crate::aead::{PayloadKey, Suite, TAG};
use crate::derive::Hash;
use quinn_proto::crypto::{AeadKey, CryptoError, HandshakeTokenKey, HmacKey};
use tls::QuicSuite;

/// A key that is derived from the secret of the process or of the cluster.
pub(crate) struct SecretKey(Vec<u8>);

impl SecretKey {
    /// The key for one purpose.
    pub(crate) fn derive(secret: &[u8], purpose: &str) -> Self {
        Self(Hash::Sha256.hmac(secret, &[b"weir quic ", purpose.as_bytes()]))
    }
}

impl HmacKey for SecretKey {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        let made = Hash::Sha256.hmac(&self.0, &[data]);
        signature_out.copy_from_slice(&made[..signature_out.len()]);
    }

    fn signature_len(&self) -> usize {
        Hash::Sha256.len()
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let made = Hash::Sha256.hmac(&self.0, &[data]);
        let same = made.len() == signature.len() && openssl::memcmp::eq(&made, signature);
        if same { Ok(()) } else { Err(CryptoError) }
    }
}

impl HandshakeTokenKey for SecretKey {
    fn aead_from_hkdf(&self, random_bytes: &[u8]) -> Box<dyn AeadKey> {
        Box::new(TokenKey(Hash::Sha256.hmac(&self.0, &[random_bytes])))
    }
}

/// The key of one token.
struct TokenKey(Vec<u8>);

impl TokenKey {
    fn key(&self) -> Result<PayloadKey, CryptoError> {
        // Each token has a key of its own, so the nonce may be the same.
        PayloadKey::new(Suite(QuicSuite::Aes256), &self.0, &[0; 12]).map_err(|_| CryptoError)
    }
}

impl AeadKey for TokenKey {
    fn seal(&self, data: &mut Vec<u8>, additional_data: &[u8]) -> Result<(), CryptoError> {
        let tag = self.key()?.seal(0, additional_data, data).map_err(|_| CryptoError)?;
        data.extend_from_slice(&tag);
        Ok(())
    }

    fn open<'a>(
        &self,
        data: &'a mut [u8],
        additional_data: &[u8],
    ) -> Result<&'a mut [u8], CryptoError> {
        let end = data.len().checked_sub(TAG).ok_or(CryptoError)?;
        let (text, tag) = data.split_at_mut(end);
        self.key()?.open(0, additional_data, text, tag).map_err(|_| CryptoError)?;
        Ok(text)
    }
}
