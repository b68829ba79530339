//! Certificates of clients kept as DER, and the few of them that a thread has parsed last.
//!
//! The library's object for a certificate takes several kilobytes, and parsing one as long as
//! several requests, which may each ask for a dozen of its fields.

use openssl::x509::{X509, X509Ref};
use std::cell::RefCell;
use std::sync::Arc;

/// The parsed certificates of a thread.
const PLACES: usize = 64;

/// An encoded certificate and its parsed form.
type ParsedEntry = (Arc<[u8]>, X509);

thread_local! {
    static PARSED: RefCell<Vec<Option<ParsedEntry>>> = const { RefCell::new(Vec::new()) };
}

/// A certificate in its encoded form.
#[derive(Debug)]
pub(crate) struct KeptCertificate(Arc<[u8]>);

impl KeptCertificate {
    /// Keeps a certificate; `None`: it cannot be encoded.
    pub(crate) fn new(certificate: &X509Ref) -> Option<Self> {
        Some(Self(certificate.to_der().ok()?.into()))
    }

    /// The library's object.
    pub(crate) fn parsed(&self) -> Option<X509> {
        // Allocations of this size are apart by more than the low bits say.
        let place = (self.0.as_ptr().addr() >> 6) % PLACES;
        PARSED.with_borrow_mut(|all| {
            all.resize_with(PLACES, || None);
            match &all[place] {
                Some((der, parsed)) if Arc::ptr_eq(der, &self.0) => Some(parsed.clone()),
                _ => {
                    let parsed = X509::from_der(&self.0).ok()?;
                    all[place] = Some((self.0.clone(), parsed.clone()));
                    Some(parsed)
                }
            }
        })
    }
}
