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

/// The digest of parts.
fn digest(hash: Hash, parts: &[&[u8]]) -> Digest {
    let digest = match hash {
        Hash::Sha256 => {
            let mut state = Sha256::new();
            parts.iter().for_each(|part| state.update(part));
            Digest::new(&state.finish())
        }
        Hash::Sha384 => {
            let mut state = Sha384::new();
            parts.iter().for_each(|part| state.update(part));
            Digest::new(&state.finish())
        }
    };
    digest.expect("a digest fits its room")
}

/// `HMAC(key, parts)`
pub(crate) fn hmac(hash: Hash, key: &[u8], parts: &[&[u8]]) -> Digest {
    let block = match hash {
        Hash::Sha256 => 64,
        Hash::Sha384 => MOST_BLOCK,
    };
    let hashed;
    let key = if key.len() > block {
        hashed = digest(hash, &[key]);
        &*hashed
    } else {
        key
    };
    let padded = |pad: u8| {
        let mut padded = [pad; MOST_BLOCK];
        padded.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
        stdx::SecretBytes::<MOST_BLOCK>::new(&padded[..block]).expect("a block fits its room")
    };
    let (inner, outer) = (padded(0x36), padded(0x5c));
    let mut all = [&inner[..]; 5];
    let count = parts.len().min(all.len() - 1);
    all[1..=count].copy_from_slice(&parts[..count]);
    let inner = digest(hash, &all[..=count]);
    digest(hash, &[&outer, &inner])
}

/// `HKDF-Expand-Label(secret, label, "", out.len())`, for at most one digest of output.
pub(crate) fn expand_label(hash: Hash, secret: &[u8], label: &[u8], out: &mut [u8]) {
    let mut info = [0; MOST_INFO];
    info[..2].copy_from_slice(&(out.len() as u16).to_be_bytes());
    info[2] = 6 + label.len() as u8;
    info[3..9].copy_from_slice(b"tls13 ");
    info[9..9 + label.len()].copy_from_slice(label);
    // The context is empty, and the counter of the only block is 1 (RFC 5869 section 2.3).
    info[10 + label.len()] = 1;
    let block = hmac(hash, secret, &[&info[..11 + label.len()]]);
    out.copy_from_slice(&block[..out.len()]);
}

/// `PRF(secret, label, seed)` of TLS 1.2 fills `out`.
pub(crate) fn prf(hash: Hash, secret: &[u8], label: &[u8], seed: [&[u8]; 2], out: &mut [u8]) {
    let mut a = hmac(hash, secret, &[label, seed[0], seed[1]]);
    for chunk in out.chunks_mut(hash.length()) {
        let block = hmac(hash, secret, &[&a, label, seed[0], seed[1]]);
        chunk.copy_from_slice(&block[..chunk.len()]);
        a = hmac(hash, secret, &[&a]);
    }
}
