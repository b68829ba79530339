//! Digests and HMACs of the linked library, by name.
use openssl::hash::{MessageDigest, hash};
use openssl::pkey::PKey;
use openssl::sign::Signer;

/// Whether the linked library has a digest of this name.
pub fn has_digest(name: &str) -> bool {
    MessageDigest::from_name(name).is_some()
}

/// The digest of `bytes` by the algorithm `name`; `None` if the library does not have it.
pub fn digest(name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    hash(MessageDigest::from_name(name)?, bytes).ok().map(|digest| digest.to_vec())
}

/// The HMAC (RFC 2104) of `bytes` with that digest; `None` if the library does not have it.
pub fn hmac(name: &str, key: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
    let kind = MessageDigest::from_name(name)?;
    let key = PKey::hmac(key).ok()?;
    Signer::new(kind, &key).ok()?.sign_oneshot_to_vec(bytes).ok()
}
