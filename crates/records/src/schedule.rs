//! Keys from secrets: RFC 8446 sections 7.1 to 7.3, and RFC 5246 sections 5 and 6.3.
//!
//! All derivations take one or a few calls of HMAC (RFC 2104), which is built here from the hash
//! functions of the TLS library: its own objects for HMAC and HKDF cost several times as much as
//! the hashing.

use crate::suite::Hash;
use openssl::sha::{Sha256, Sha384};

/// Bytes of the longest block of a hash function.
const MOST_BLOCK: usize = 128;
/// Bytes of the longest digest.
pub(crate) const MOST_DIGEST: usize = 48;
/// The longest information of `HKDF-Expand-Label` here: length, label, and an empty context.
const MOST_INFO: usize = 2 + 1 + 6 + 12 + 1 + 1;

/// A digest, as long as its hash function makes it.
pub(crate) type Digest = stdx::SecretBytes<MOST_DIGEST>;

/// A hash function that has begun.
#[derive(Clone)]
enum Hasher {
    Sha256(Sha256),
    Sha384(Sha384),
}

impl Hasher {
    fn new(hash: Hash) -> Self {
        match hash {
            Hash::Sha256 => Self::Sha256(Sha256::new()),
            Hash::Sha384 => Self::Sha384(Sha384::new()),
        }
    }

    fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(state) => state.update(bytes),
            Self::Sha384(state) => state.update(bytes),
        }
    }

    fn finish(self) -> Digest {
        let digest = match self {
            Self::Sha256(state) => Digest::new(&state.finish()),
            Self::Sha384(state) => Digest::new(&state.finish()),
        };
        digest.expect("a digest fits its room")
    }
}

/// `HMAC` with a key, whose blocks are hashed once for all texts.
pub(crate) struct Hmac {
    inner: Hasher,
    outer: Hasher,
}

impl Hmac {
    pub(crate) fn new(hash: Hash, key: &[u8]) -> Self {
        let block = match hash {
            Hash::Sha256 => 64,
            Hash::Sha384 => MOST_BLOCK,
        };
        let hashed = (key.len() > block).then(|| {
            let mut state = Hasher::new(hash);
            state.update(key);
            state.finish()
        });
        let key = hashed.as_deref().unwrap_or(key);
        let mut padded = [0; MOST_BLOCK];
        let mut begun = |pad: u8| {
            padded.fill(pad);
            padded.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
            let mut state = Hasher::new(hash);
            state.update(&padded[..block]);
            state
        };
        let made = Self { inner: begun(0x36), outer: begun(0x5c) };
        wipe(&mut padded);
        made
    }

    /// The digest of a text, which is given in parts.
    pub(crate) fn digest(&self, parts: &[&[u8]]) -> Digest {
        let (mut inner, mut outer) = (self.inner.clone(), self.outer.clone());
        parts.iter().for_each(|part| inner.update(part));
        outer.update(&inner.finish());
        outer.finish()
    }
}

/// Overwrites a secret on the stack.
pub(crate) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    // Without a read the compiler would leave out the zeroes.
    std::hint::black_box(bytes);
}

/// `HKDF-Expand-Label(secret, label, "", out.len())`, for at most one digest of output.
pub(crate) fn expand_label(secret: &Hmac, label: &[u8], out: &mut [u8]) {
    let mut info = [0; MOST_INFO];
    info[..2].copy_from_slice(&(out.len() as u16).to_be_bytes());
    info[2] = 6 + label.len() as u8;
    info[3..9].copy_from_slice(b"tls13 ");
    info[9..9 + label.len()].copy_from_slice(label);
    // The context is empty, and the counter of the only block is 1 (RFC 5869 section 2.3).
    info[10 + label.len()] = 1;
    let block = secret.digest(&[&info[..11 + label.len()]]);
    out.copy_from_slice(&block[..out.len()]);
}

/// `PRF(secret, label, seed)` of TLS 1.2 fills `out`.
pub(crate) fn prf(hash: Hash, secret: &[u8], label: &[u8], seed: [&[u8]; 2], out: &mut [u8]) {
    let secret = Hmac::new(hash, secret);
    let mut a = secret.digest(&[label, seed[0], seed[1]]);
    for chunk in out.chunks_mut(hash.length()) {
        let block = secret.digest(&[&a, label, seed[0], seed[1]]);
        chunk.copy_from_slice(&block[..chunk.len()]);
        a = secret.digest(&[&a]);
    }
}
