//! The result of verifying a peer's certificate, including errors that the line ignores.

use openssl::ex_data::Index;
use openssl::ssl::Ssl;
use openssl::x509::{X509, X509Ref};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// The first error at each depth of a peer's chain; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// `ssl_c_ca_err`
    pub authority_error: u32,
    /// `ssl_c_ca_err_depth`
    pub authority_depth: u32,
    /// `ssl_c_err`
    pub certificate_error: u32,
}

/// The same while it is being found.
#[derive(Debug, Default)]
pub(crate) struct VerifyResult {
    authority_error: AtomicU32,
    authority_depth: AtomicU32,
    certificate_error: AtomicU32,
    looked: AtomicBool,
    refused: OnceLock<X509>,
}

impl VerifyResult {
    /// Notes that the client has sent a certificate.
    pub(crate) fn note_certificate(&self) {
        self.looked.store(true, Relaxed);
    }

    /// Whether the client has sent a certificate.
    pub(crate) fn has_looked(&self) -> bool {
        self.looked.load(Relaxed)
    }

    /// Keeps a certificate that an error has been found with: the library forgets it.
    pub(crate) fn keep(&self, certificate: &X509Ref) {
        self.refused.get_or_init(|| certificate.to_owned());
    }

    /// The certificate that was kept.
    pub(crate) fn refused(&self) -> Option<X509> {
        self.refused.get().cloned()
    }

    /// Where a session keeps it.
    pub(crate) fn index() -> Option<Index<Ssl, Self>> {
        static INDEX: OnceLock<Option<Index<Ssl, VerifyResult>>> = OnceLock::new();
        *INDEX.get_or_init(|| Ssl::new_ex_index().ok())
    }

    /// Takes note of an error; the first one stays.
    pub(crate) fn note(&self, depth: u32, error: u32) {
        let first = match depth {
            0 => &self.certificate_error,
            _ => &self.authority_error,
        };
        if first.load(Relaxed) == 0 {
            first.store(error, Relaxed);
            if depth > 0 {
                self.authority_depth.store(depth, Relaxed);
            }
        }
    }

    pub(crate) fn checked(&self) -> Checked {
        Checked {
            authority_error: self.authority_error.load(Relaxed),
            authority_depth: self.authority_depth.load(Relaxed),
            certificate_error: self.certificate_error.load(Relaxed),
        }
    }
}
