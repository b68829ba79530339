//! The cryptographic digests by name, plain and keyed (HMAC, RFC 2104).

use hmac::{Mac, SimpleHmac};
use sha2::Digest;
use sha2::digest::common::BlockSizeUser;
use std::fmt;

/// One digest.
#[derive(Debug)]
pub struct Algorithm {
    name: &'static str,
    by: By,
}

/// The implementation of a digest.
#[derive(Debug)]
enum By {
    /// Code of ours, plain and keyed.
    Us(fn(&[u8]) -> Vec<u8>, fn(&[u8], &[u8]) -> Option<Vec<u8>>),
    /// A digest of the library, by the library's name.
    Library(&'static str),
}

impl Algorithm {
    pub(crate) fn digest(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        match self.by {
            By::Us(digest, _) => Some(digest(bytes)),
            By::Library(name) => crypto::digest(name, bytes),
        }
    }

    pub(crate) fn hmac(&self, key: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
        match self.by {
            By::Us(_, hmac) => hmac(key, bytes),
            By::Library(name) => crypto::hmac(name, key, bytes),
        }
    }
}

const fn algorithm_of<D: Digest + BlockSizeUser + Clone>(name: &'static str) -> Algorithm {
    Algorithm { name, by: By::Us(hash::<D>, keyed::<D>) }
}

const fn library(name: &'static str, known_as: &'static str) -> Algorithm {
    Algorithm { name, by: By::Library(known_as) }
}

/// The digests that exist; names are those of OpenSSL, in any case.
const ALGORITHMS: &[Algorithm] = &[
    algorithm_of::<md5::Md5>("md5"),
    algorithm_of::<sha1::Sha1>("sha1"),
    algorithm_of::<sha1::Sha1>("sha-1"),
    algorithm_of::<sha2::Sha224>("sha224"),
    algorithm_of::<sha2::Sha256>("sha256"),
    algorithm_of::<sha2::Sha384>("sha384"),
    algorithm_of::<sha2::Sha512>("sha512"),
    algorithm_of::<sha2::Sha512_224>("sha512-224"),
    algorithm_of::<sha2::Sha512_256>("sha512-256"),
    algorithm_of::<sha2::Sha224>("sha-224"),
    algorithm_of::<sha2::Sha256>("sha-256"),
    algorithm_of::<sha2::Sha384>("sha-384"),
    algorithm_of::<sha2::Sha512>("sha-512"),
    algorithm_of::<sha2::Sha224>("sha2-224"),
    algorithm_of::<sha2::Sha256>("sha2-256"),
    algorithm_of::<sha2::Sha384>("sha2-384"),
    algorithm_of::<sha2::Sha512>("sha2-512"),
    library("blake2b512", "blake2b512"),
    library("blake2s256", "blake2s256"),
    library("md5-sha1", "md5-sha1"),
    library("ripemd", "ripemd160"),
    library("ripemd160", "ripemd160"),
    library("rmd160", "ripemd160"),
    library("sha3-224", "sha3-224"),
    library("sha3-256", "sha3-256"),
    library("sha3-384", "sha3-384"),
    library("sha3-512", "sha3-512"),
    library("sm3", "sm3"),
];

/// Other digests of OpenSSL.
const ABSENT: &[&str] = &["md4", "shake128", "shake256", "whirlpool"];

/// The digest of `bytes`.
pub(crate) fn hash<D: Digest>(bytes: &[u8]) -> Vec<u8> {
    D::digest(bytes).to_vec()
}

fn keyed<D: Digest + BlockSizeUser + Clone>(key: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
    let mut mac = <SimpleHmac<D> as hmac::KeyInit>::new_from_slice(key).ok()?;
    mac.update(bytes);
    Some(mac.finalize().into_bytes().to_vec())
}

/// Why there is no digest of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DigestError {
    /// The TLS library of this build lacks it.
    Unavailable(String),
    /// The digest is not implemented.
    NotImplemented(String),
    /// No digest has this name; the message is HAProxy's.
    Unknown(String),
}

impl fmt::Display for DigestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(name) => {
                write!(f, "the TLS library of this build does not have the digest '{name}'")
            }
            Self::NotImplemented(name) => write!(f, "the digest '{name}' is not implemented yet"),
            Self::Unknown(name) => {
                let hint = crate::error::hint(name, ALGORITHMS.iter().map(|known| known.name));
                write!(f, "algorithm must be a valid OpenSSL message digest name{hint}")
            }
        }
    }
}

impl std::error::Error for DigestError {}

/// The digest called `name`, in any case.
pub(crate) fn find(name: &str) -> Result<&'static Algorithm, DigestError> {
    let found = ALGORITHMS.iter().find(|known| known.name.eq_ignore_ascii_case(name));
    if let Some(Algorithm { name, by: By::Library(known_as) }) = found
        && !crypto::has_digest(known_as)
    {
        return Err(DigestError::Unavailable((*name).to_owned()));
    }
    found.ok_or_else(|| {
        if ABSENT.iter().any(|absent| absent.eq_ignore_ascii_case(name)) {
            return DigestError::NotImplemented(name.to_owned());
        }
        DigestError::Unknown(name.to_owned())
    })
}
