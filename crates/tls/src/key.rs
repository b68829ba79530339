//! A private key that is parsed by the library when it is first used.
//!
//! Parsing a key costs the library about as much as a handshake, and most of ten thousand keys are
//! not used for hours. That a key belongs to its certificate is checked without parsing, by the
//! public part in its DER encoding; kinds of keys that have none are parsed at once.

use crate::der;
use openssl::pkey::{PKey, Private};
use openssl::x509::X509Ref;
use std::sync::OnceLock;

/// Bytes that are wiped when they are no longer needed.
pub(crate) struct Secret(Vec<u8>);

impl Secret {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl std::ops::Deref for Secret {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.fill(0);
        // Without a read the compiler would leave out the zeroes.
        std::hint::black_box(&self.0);
    }
}

/// A private key.
pub(crate) struct Key {
    der: Secret,
    ready: OnceLock<Option<PKey<Private>>>,
}

/// Labels of texts with a key that is not encrypted (RFC 7468 section 10, and what was before).
const LABELS: [&str; 4] = ["PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY", "DSA PRIVATE KEY"];

impl Key {
    /// Reads the first key of a text. A key with a password is refused: the process does not ask
    /// for one.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        match block(text) {
            Some(der) if der::of_key(&der).is_some() => Some(Self { der, ready: OnceLock::new() }),
            _ => {
                let key = PKey::private_key_from_pem_callback(text, |_| Ok(0)).ok()?;
                Some(Self { der: Secret::new(Vec::new()), ready: Some(key).into() })
            }
        }
    }

    /// The key as an object of the library; `None` if it is invalid.
    pub(crate) fn get(&self) -> Option<&PKey<Private>> {
        let read = || PKey::private_key_from_der(&self.der).ok();
        self.ready.get_or_init(read).as_ref()
    }

    /// Whether it is the key of this certificate.
    pub(crate) fn fits(&self, certificate: &X509Ref) -> bool {
        if let Ok(whole) = certificate.to_der()
            && let Some((own, theirs)) = der::of_key(&self.der).zip(der::of_certificate(&whole))
        {
            return own.matches(theirs);
        }
        let public = certificate.public_key();
        self.get().zip(public.ok()).is_some_and(|(own, public)| public.public_eq(own))
    }
}

/// The contents of the first block with a key, if it has no headers: these are about passwords.
fn block(text: &[u8]) -> Option<Secret> {
    const BEGIN: &[u8] = b"-----BEGIN ";
    const END: &[u8] = b"-----END ";
    let mut from = 0;
    loop {
        let start = from + find(&text[from..], BEGIN)? + BEGIN.len();
        let label_end = start + find(&text[start..], b"-----")?;
        from = label_end;
        let label = &text[start..label_end];
        if LABELS.iter().any(|own| own.as_bytes() == label) {
            break;
        }
    }
    let body = text[from..].strip_prefix(b"-----")?;
    let body = &body[..find(body, END)?];
    let digits = body.iter().filter(|byte| !byte.is_ascii_whitespace()).copied().collect();
    let digits = Secret::new(digits);
    let digits = std::str::from_utf8(&digits).ok().filter(|it| !it.contains(':'))?;
    openssl::base64::decode_block(digits).ok().map(Secret::new)
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|part| part == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::pair::{ecdsa, make, rsa};
    use openssl::symm::Cipher;
    use proptest::prelude::*;

    #[test]
    fn keys_are_read_when_they_are_needed() {
        let made = make(&["a"], ecdsa(), None);
        let key = Key::read(&made.pem()).unwrap();
        assert!(key.fits(&made.certificate) && key.ready.get().is_none());
        assert!(!key.fits(&make(&["a"], ecdsa(), None).certificate));
        assert!(key.get().unwrap().public_eq(&made.key));
    }

    #[test]
    fn keys_of_all_forms_are_found() {
        let key = rsa();
        let plain = key.rsa().unwrap().private_key_to_pem().unwrap();
        assert!(Key::read(&plain).unwrap().get().unwrap().public_eq(&key));
        let eddsa = PKey::generate_ed25519().unwrap();
        let text = eddsa.private_key_to_pem_pkcs8().unwrap();
        assert!(Key::read(&text).unwrap().get().unwrap().public_eq(&eddsa));
        let locked = key.private_key_to_pem_pkcs8_passphrase(Cipher::aes_128_cbc(), b"x").unwrap();
        assert!(Key::read(&locked).is_none());
        assert!(Key::read(b"").is_none());
        assert!(Key::read(&plain[..plain.len() / 2]).is_none());
    }

    proptest! {
        #[test]
        fn nothing_panics(middle in "[-A-Za-z0-9+/=: \n]{0,80}") {
            let text = format!("-----BEGIN PRIVATE KEY-----{middle}-----END PRIVATE KEY-----");
            let _ = Key::read(text.as_bytes()).map(|key| key.get().is_some());
        }
    }
}
