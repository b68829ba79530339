//! Authorities and revocation lists of one file. Never verifies anything.

use openssl::x509::{X509, X509Crl};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What a file is named as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// `ca-file`, `ca-verify-file`
    #[default]
    Trust,
    /// `crl-file`
    Revocation,
}

/// What a `ca-file` or a `crl-file` has.
#[derive(Clone, Default)]
pub(crate) struct Authorities {
    pub(crate) certificates: Vec<X509>,
    pub(crate) lists: Vec<Arc<X509Crl>>,
    pub(crate) purpose: Purpose,
    /// Different for all that were ever read: sessions do not go on under other authorities.
    pub(crate) serial: u64,
}

impl std::fmt::Debug for Authorities {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counts = (self.certificates.len(), self.lists.len());
        f.debug_tuple("Authorities").field(&counts).finish()
    }
}

const CRL: &[u8] = b"-----BEGIN X509 CRL-----";

impl Authorities {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// It has neither a certificate nor a list.
    pub(crate) fn read(text: &[u8], purpose: Purpose) -> Result<Self, String> {
        let certificates = X509::stack_from_pem(text).unwrap_or_default();
        let starts = text.windows(CRL.len()).enumerate().filter(|(_, part)| *part == CRL);
        let lists: Vec<_> = starts
            .filter_map(|(at, _)| X509Crl::from_pem(&text[at..]).ok().map(Arc::new))
            .collect();
        if certificates.is_empty() && lists.is_empty() {
            return Err("no certificate or crl found".to_owned());
        }
        Ok(Self { certificates, lists, ..Self::none(purpose) })
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.certificates.extend(other.certificates);
        self.lists.extend(other.lists);
    }

    /// The same under a number of its own, to be changed.
    pub(crate) fn again(&self) -> Self {
        Self { serial: Self::none(self.purpose).serial, ..self.clone() }
    }

    pub(crate) fn none(purpose: Purpose) -> Self {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        Self { purpose, serial: SERIAL.fetch_add(1, Relaxed), ..Self::default() }
    }
}
