//! Authorities and revocation lists of one file. Never verifies anything.

use openssl::x509::{X509, X509Crl};

/// What a `ca-file` or a `crl-file` has.
pub struct Authorities {
    pub(crate) certificates: Vec<X509>,
    pub(crate) lists: Vec<X509Crl>,
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
    pub(crate) fn read(text: &[u8]) -> Result<Self, String> {
        let certificates = X509::stack_from_pem(text).unwrap_or_default();
        let starts = text.windows(CRL.len()).enumerate().filter(|(_, part)| *part == CRL);
        let lists: Vec<X509Crl> =
            starts.filter_map(|(at, _)| X509Crl::from_pem(&text[at..]).ok()).collect();
        if certificates.is_empty() && lists.is_empty() {
            return Err("no certificate or crl found".to_owned());
        }
        Ok(Self { certificates, lists })
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.certificates.extend(other.certificates);
        self.lists.extend(other.lists);
    }

    pub(crate) fn none() -> Self {
        Self { certificates: Vec::new(), lists: Vec::new() }
    }
}
