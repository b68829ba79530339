//! Verification: revocation lists, in stores of authorities and by themselves, and what is being verified. Never
//! reads a file.

use foreign_types::{ForeignType as _, ForeignTypeRef as _};
use openssl::error::ErrorStack;
use openssl::nid::Nid;
use openssl::x509::store::X509StoreBuilder;
use openssl::x509::{X509CrlRef, X509Ref, X509StoreContextRef};
use std::ffi::{c_int, c_long};

unsafe extern "C" {
    fn X509_STORE_CTX_get0_cert(
        context: *const openssl_sys::X509_STORE_CTX,
    ) -> *mut openssl_sys::X509;
    fn X509_STORE_add_crl(
        store: *mut openssl_sys::X509_STORE,
        crl: *mut openssl_sys::X509_CRL,
    ) -> c_int;
    fn X509_CRL_get_version(crl: *const openssl_sys::X509_CRL) -> c_long;
    fn X509_CRL_get_signature_nid(crl: *const openssl_sys::X509_CRL) -> c_int;
}

/// Adds a revocation list, which the store then shares.
///
/// # Errors
/// No memory.
pub fn add_crl(store: &mut X509StoreBuilder, crl: &X509CrlRef) -> Result<(), ErrorStack> {
    // SAFETY: both are valid; the store takes a reference of its own to the list.
    let done = unsafe { X509_STORE_add_crl(store.as_ptr(), crl.as_ptr()) };
    if done == 1 { Ok(()) } else { Err(ErrorStack::get()) }
}

/// The certificate that is being verified, wherever in its chain.
pub fn verified(context: &X509StoreContextRef) -> Option<&X509Ref> {
    // SAFETY: the context is valid as long as its reference, and so is the certificate.
    unsafe {
        let certificate = X509_STORE_CTX_get0_cert(context.as_ptr());
        (!certificate.is_null()).then(|| X509Ref::from_ptr(certificate))
    }
}

/// The version of a revocation list, as a person counts: 1 or 2.
pub fn crl_version(crl: &X509CrlRef) -> c_long {
    // SAFETY: the list is valid as long as its reference, and only looked at.
    let version = unsafe { X509_CRL_get_version(crl.as_ptr()) };
    version + 1
}

/// What a revocation list is signed with.
pub fn crl_signature(crl: &X509CrlRef) -> Nid {
    // SAFETY: as above.
    Nid::from_raw(unsafe { X509_CRL_get_signature_nid(crl.as_ptr()) })
}
