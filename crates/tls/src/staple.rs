//! An OCSP response that is stapled to a certificate (RFC 6960).

use arc_swap::ArcSwap;
use openssl::hash::MessageDigest;
use openssl::ocsp::{
    OcspBasicResponse, OcspCertId, OcspCertStatus, OcspFlag, OcspResponse, OcspResponseStatus,
};
use openssl::stack::Stack;
use openssl::x509::store::X509StoreBuilder;
use openssl::x509::verify::X509VerifyFlags;
use openssl::x509::{X509, X509Ref};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// An OCSP response and its certificate. The response can be replaced while the listener is in use.
pub(crate) struct Staple {
    held: ArcSwap<Held>,
    /// The certificate's identifier in OCSP requests, DER.
    id: Vec<u8>,
    subject: X509,
    authority: X509,
    /// Why the response that it began with is not shown.
    pub(crate) unfit: Option<Unfit>,
    /// Whether the response is fetched from the authority (`ocsp-update`).
    updates: AtomicBool,
}

/// A response as it is shown.
struct Held {
    /// DER; empty without one.
    response: Arc<Vec<u8>>,
    /// When there is to be another one, in seconds since 1970.
    until: Option<i64>,
}

/// Why a response is not shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unfit {
    /// The response cannot be parsed.
    Unreadable,
    /// The authority could not answer.
    Unsuccessful,
    /// The response covers this number of certificates.
    Several(usize),
    /// The response is about another certificate.
    Foreign,
    /// The authority does not know the certificate.
    Undecided,
    /// The response is not valid at present.
    Outdated,
}

impl std::fmt::Display for Unfit {
    /// HAProxy's words.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unreadable => "Unable to parse OCSP response",
            Self::Unsuccessful => "OCSP response status not successful",
            Self::Several(count) => {
                let told = "OCSP response ignored because contains multiple single responses";
                return write!(f, "{told} ({count})");
            }
            Self::Foreign => {
                "OCSP single response: Certificate ID does not match certificate and issuer"
            }
            Self::Undecided => "OCSP single response: certificate status is unknown",
            Self::Outdated => "OCSP single response: no longer valid",
        })
    }
}

/// Seconds that a response may be older or younger than it says.
const SKEW: u32 = 300;

impl Staple {
    /// A response that may be empty, or not valid to send. `None`: the id for queries to the
    /// authority cannot be computed.
    pub(crate) fn new(response: Vec<u8>, subject: &X509, authority: &X509) -> Option<Self> {
        let id = ffi::certificate_id(subject, authority)?;
        let held = ArcSwap::from_pointee(Held { response: Arc::default(), until: None });
        let (subject, authority) = (subject.clone(), authority.clone());
        let (unfit, updates) = (None, AtomicBool::new(false));
        let mut staple = Self { held, id, subject, authority, unfit, updates };
        if !response.is_empty() {
            staple.unfit = read(&response).and_then(|it| staple.take(&it, &response)).err();
        }
        Some(staple)
    }

    /// The response, DER; empty without one.
    pub(crate) fn response(&self) -> Arc<Vec<u8>> {
        self.held.load().response.clone()
    }

    /// The response, unless there is none that holds in this second since 1970.
    pub(crate) fn shown_at(&self, now: Option<i64>) -> Option<Arc<Vec<u8>>> {
        let held = self.held.load();
        let over = |until: i64| now.is_some_and(|now| now > until + i64::from(SKEW));
        let fine = !held.response.is_empty() && !held.until.is_some_and(over);
        fine.then(|| held.response.clone())
    }

    /// The OCSP certificate id, DER.
    pub(crate) fn id(&self) -> &[u8] {
        &self.id
    }

    /// Staples this response from now on. As with HAProxy, the response may state that the
    /// certificate is revoked, so that clients learn of it.
    ///
    /// # Errors
    /// The response is for another certificate, or not valid now; the former response stays in use.
    pub(crate) fn take(&self, basic: &OcspBasicResponse, der: &[u8]) -> Result<(), Unfit> {
        let id = OcspCertId::from_cert(MessageDigest::sha1(), &self.subject, &self.authority);
        let id = id.map_err(|_| Unfit::Foreign)?;
        let status = basic.find_status(&id).ok_or(Unfit::Foreign)?;
        if status.status == OcspCertStatus::UNKNOWN {
            return Err(Unfit::Undecided);
        }
        status.check_validity(SKEW, None).map_err(|_| Unfit::Outdated)?;
        let until = status.next_update().and_then(ffi::unix_time);
        self.held.store(Arc::new(Held { response: Arc::new(der.to_vec()), until }));
        Ok(())
    }

    /// Has the response fetched from now on.
    pub(crate) fn begin_updates(&self) {
        self.updates.store(true, Relaxed);
    }

    /// Whether the response is fetched.
    pub(crate) fn is_updated(&self) -> bool {
        self.updates.load(Relaxed)
    }

    /// The moment after which the response does not hold, in seconds since 1970.
    pub(crate) fn until(&self) -> Option<i64> {
        self.held.load().until
    }

    /// The responder that the certificate names.
    pub(crate) fn responder(&self) -> Option<String> {
        responder(&self.subject)
    }

    /// Whether the authority, or a responder that it has authorized, has signed a response
    /// (RFC 6960 section 4.2.2.2).
    pub(crate) fn is_signed(&self, basic: &OcspBasicResponse) -> bool {
        let verify = || {
            let mut store = X509StoreBuilder::new()?;
            // The authority is trusted although it may be an intermediate one.
            store.set_flags(X509VerifyFlags::PARTIAL_CHAIN)?;
            store.add_cert(self.authority.clone())?;
            let mut signers = Stack::new()?;
            signers.push(self.authority.clone())?;
            basic.verify(&signers, &store.build(), OcspFlag::TRUST_OTHER)
        };
        verify().is_ok()
    }

    /// Takes over the response of another staple about the same certificate, if it has none itself.
    pub(crate) fn inherit(&self, from: &Self) {
        if self.response().is_empty() && self.id == from.id {
            self.held.store(from.held.load_full());
        }
    }
}

/// The first responder of OCSP that a certificate names (RFC 5280 section 4.2.2.1).
pub(crate) fn responder(leaf: &X509Ref) -> Option<String> {
    let all = leaf.ocsp_responders().ok()?;
    all.iter().next().map(|url| url.to_string())
}

/// Reads a response about one certificate, DER.
///
/// # Errors
/// The bytes are not a successful OCSP response about one certificate.
pub(crate) fn read(der: &[u8]) -> Result<OcspBasicResponse, Unfit> {
    let response = OcspResponse::from_der(der).map_err(|_| Unfit::Unreadable)?;
    if response.status() != OcspResponseStatus::SUCCESSFUL {
        return Err(Unfit::Unsuccessful);
    }
    let basic = response.basic().map_err(|_| Unfit::Unreadable)?;
    match ffi::single_responses(&basic) {
        1 => Ok(basic),
        count => Err(Unfit::Several(count)),
    }
}
