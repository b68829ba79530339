//! A certificate with its key and what goes with it, from the texts of its files. Never reads a file.

use crate::hello::KeyKind;
use openssl::dh::Dh;
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey, Params, Private};
use openssl::x509::X509;

/// A certificate, its chain and its key.
pub struct Certificate {
    /// The file that it was loaded from.
    pub name: String,
    /// Itself.
    pub certificate: X509,
    /// What leads from it to an authority.
    pub chain: Vec<X509>,
    /// Its key.
    pub key: PKey<Private>,
    /// Parameters for finite-field key exchange, if the file has any.
    pub dh: Option<Dh<Params>>,
    /// What its authority says of it, DER, to be shown with it.
    pub ocsp: Option<Vec<u8>>,
    /// What logs of certificates say of it (RFC 6962).
    pub sctl: Option<Vec<u8>>,
    /// Who has signed it, if that is not in the chain.
    pub issuer: Option<X509>,
}

impl std::fmt::Debug for Certificate {
    /// Without its key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Certificate").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What the text of a file has of a certificate.
pub(crate) struct Parts {
    pub(crate) certificate: X509,
    pub(crate) chain: Vec<X509>,
    pub(crate) key: Option<PKey<Private>>,
    pub(crate) dh: Option<Dh<Params>>,
}

impl Parts {
    /// Reads a file with a certificate, and perhaps its chain, its key, and parameters; `None`
    /// without a certificate.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let mut all = X509::stack_from_pem(text).ok()?.into_iter();
        let certificate = all.next()?;
        let dh = Dh::params_from_pem(text).ok();
        Some(Self { certificate, chain: all.collect(), key: key(text), dh })
    }
}

/// The first private key of a file. Keys that need a password are none: nobody is there to give it.
pub(crate) fn key(text: &[u8]) -> Option<PKey<Private>> {
    PKey::private_key_from_pem_callback(text, |_| Ok(0)).ok()
}

impl Certificate {
    /// What kind of key it has.
    pub(crate) fn kind(&self) -> KeyKind {
        match self.key.id() {
            Id::RSA | Id::RSA_PSS => KeyKind::Rsa,
            Id::DSA => KeyKind::Dsa,
            _ => KeyKind::Ecdsa,
        }
    }

    /// The host names that it is for: alternative names, then common names.
    pub fn names(&self) -> Vec<String> {
        let alternative = self.certificate.subject_alt_names();
        let alternative = alternative.iter().flatten();
        let mut names: Vec<String> =
            alternative.filter_map(|name| name.dnsname().map(str::to_owned)).collect();
        let common = self.certificate.subject_name().entries_by_nid(Nid::COMMONNAME);
        names.extend(common.filter_map(|entry| Some(entry.data().to_string().ok()?.to_string())));
        names
    }
}
