//! The authorities and revocation lists of one file.

use crate::certificate::{blocks, read_block};
use openssl::error::ErrorStack;
use openssl::sha::Sha256;
use openssl::x509::{X509, X509Crl};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The kind of keyword that names a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// `ca-file`, `ca-verify-file`
    #[default]
    Trust,
    /// `crl-file`
    Revocation,
}

/// The certificates and revocation lists of a `ca-file` or `crl-file`.
#[derive(Clone, Default)]
pub(crate) struct Authorities {
    pub(crate) certificates: Vec<X509>,
    pub(crate) lists: Vec<Arc<X509Crl>>,
    pub(crate) purpose: Purpose,
    digest: OnceLock<[u8; 32]>,
}

impl fmt::Debug for Authorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = (self.certificates.len(), self.lists.len());
        f.debug_tuple("Authorities").field(&counts).finish()
    }
}

const CRL: &[u8] = b"-----BEGIN X509 CRL-----";

impl Authorities {
    /// Reads the text of a file.
    ///
    /// # Errors
    ///
    /// The text has neither a certificate nor a list, or one of them is malformed: skipping a
    /// malformed list would accept certificates that it revokes.
    pub(crate) fn read(text: &[u8], purpose: Purpose) -> Result<Self, AuthorityFileError> {
        let certificates = blocks(text).map(read_block);
        let certificates = certificates.collect::<Result<Vec<_>, _>>().map_err(malformed)?;
        let starts = text.windows(CRL.len()).enumerate().filter(|(_, part)| *part == CRL);
        let lists = starts.map(|(at, _)| X509Crl::from_pem(&text[at..]).map(Arc::new));
        let lists = lists.collect::<Result<Vec<_>, _>>().map_err(malformed)?;
        let read = Self { certificates, lists, ..Self::none(purpose) };
        if read.is_empty() { Err(AuthorityFileError::Empty) } else { Ok(read) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.certificates.is_empty() && self.lists.is_empty()
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.certificates.extend(other.certificates);
        self.lists.extend(other.lists);
        self.digest = OnceLock::new();
    }

    pub(crate) fn none(purpose: Purpose) -> Self {
        Self { purpose, ..Self::default() }
    }

    /// A digest of the content that is the same in every process: sessions are resumed only under
    /// the same authorities.
    pub(crate) fn digest(&self) -> [u8; 32] {
        *self.digest.get_or_init(|| {
            let mut all = Sha256::new();
            let certificates = self.certificates.iter().map(|it| it.to_der());
            let lists = self.lists.iter().map(|it| it.to_der());
            // Each DER encoding has its own length in front, so the concatenation is unambiguous.
            certificates.chain(lists).flatten().for_each(|der| all.update(&der));
            all.finish()
        })
    }
}

/// Why a file of authorities or revocation lists cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthorityFileError {
    /// The file cannot be read; the system's words.
    Unreadable(String),
    /// A certificate or a list is malformed; the library's words.
    Malformed(String),
    /// The file has neither certificates nor lists.
    Empty,
}

impl fmt::Display for AuthorityFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(reason) | Self::Malformed(reason) => f.write_str(reason),
            Self::Empty => f.write_str("no certificate or crl found"),
        }
    }
}

impl std::error::Error for AuthorityFileError {}

fn malformed(error: ErrorStack) -> AuthorityFileError {
    let last = error.errors().last().and_then(openssl::error::Error::reason);
    AuthorityFileError::Malformed(last.unwrap_or("it cannot be parsed").to_owned())
}
