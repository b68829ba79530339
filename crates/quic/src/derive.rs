//! Key derivation: HKDF (RFC 5869) with the labels of TLS 1.3 (RFC 8446 section 7.1).

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Sha256, Sha384};

/// The hash function of a cipher suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hash {
    Sha256,
    Sha384,
}

impl Hash {
    /// Bytes of a digest, and of a secret.
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Sha256 => 32,
            Self::Sha384 => 48,
        }
    }

    /// The keyed digest of the parts one after the other.
    pub(crate) fn hmac(self, key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
        match self {
            Self::Sha256 => {
                let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key)
                    .expect("keys of any length are valid");
                parts.iter().for_each(|part| mac.update(part));
                mac.finalize().into_bytes().to_vec()
            }
            Self::Sha384 => {
                let mut mac = <Hmac<Sha384> as KeyInit>::new_from_slice(key)
                    .expect("keys of any length are valid");
                parts.iter().for_each(|part| mac.update(part));
                mac.finalize().into_bytes().to_vec()
            }
        }
    }

    /// HKDF-Extract.
    pub(crate) fn extract(self, salt: &[u8], key: &[u8]) -> Vec<u8> {
        self.hmac(salt, &[key])
    }

    /// HKDF-Expand-Label without a context, for up to one digest of output.
    pub(crate) fn expand_label(self, secret: &[u8], label: &str, len: usize) -> Vec<u8> {
        debug_assert!(len <= self.len(), "one block of output");
        let mut info = vec![0, len as u8, 6 + label.len() as u8];
        info.extend_from_slice(b"tls13 ");
        info.extend_from_slice(label.as_bytes());
        info.extend_from_slice(&[0, 1]);
        let mut out = self.hmac(secret, &[&info]);
        out.truncate(len);
        out
    }
}
