//! What an authority says of a certificate (OCSP, RFC 6960), to be shown with it. Never asks an authority.

use arc_swap::ArcSwap;
use openssl::hash::MessageDigest;
use openssl::ocsp::{OcspCertId, OcspResponse, OcspResponseStatus};
use openssl::x509::X509;
use std::sync::Arc;

/// A response, and which certificate it is about. It can be replaced while it is shown.
pub(crate) struct Staple {
    response: ArcSwap<Vec<u8>>,
    /// DER of what it is asked by; empty if nobody knows who has signed the certificate.
    id: Vec<u8>,
    subject: X509,
    authority: Option<X509>,
}

/// Seconds that a response may be older or younger than it says.
const SKEW: u32 = 300;

impl Staple {
    pub(crate) fn new(response: Vec<u8>, subject: &X509, authority: Option<&X509>) -> Self {
        let id = authority.and_then(|authority| ffi::certificate_id(subject, authority));
        Self {
            response: ArcSwap::from_pointee(response),
            id: id.unwrap_or_default(),
            subject: subject.clone(),
            authority: authority.cloned(),
        }
    }

    /// The response, DER.
    pub(crate) fn response(&self) -> Arc<Vec<u8>> {
        self.response.load_full()
    }

    /// What it is asked by, DER; empty if it is not known.
    pub(crate) fn id(&self) -> &[u8] {
        &self.id
    }

    /// Whether a response tells of this certificate: `Some(true)` if it may be shown now.
    pub(crate) fn judge(&self, response: &OcspResponse) -> Option<bool> {
        let authority = self.authority.as_ref()?;
        let id = OcspCertId::from_cert(MessageDigest::sha1(), &self.subject, authority).ok()?;
        let basic = response.basic().ok()?;
        let status = basic.find_status(&id)?;
        Some(status.check_validity(SKEW, None).is_ok())
    }

    /// Shows another response from now on.
    pub(crate) fn replace(&self, response: Vec<u8>) {
        self.response.store(Arc::new(response));
    }
}

/// Reads a response, DER.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn read(der: &[u8]) -> Result<OcspResponse, &'static str> {
    let response = OcspResponse::from_der(der).map_err(|_| "Unable to parse OCSP response")?;
    match response.status() {
        OcspResponseStatus::SUCCESSFUL => Ok(response),
        _ => Err("OCSP response status not successful"),
    }
}
