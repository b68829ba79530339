//! Verification: revocation lists, in stores of authorities and by themselves, and what is being
//! verified.

use crate::flavour::raw;
use foreign_types::{ForeignType as _, ForeignTypeRef as _};
use openssl::error::ErrorStack;
use openssl::nid::Nid;
use openssl::x509::store::X509StoreBuilder;
use openssl::x509::{X509, X509CrlRef, X509Ref, X509StoreContextRef};
use std::ffi::c_long;

/// Adds a revocation list, which the store then shares.
///
/// # Errors
/// No memory.
pub fn add_crl(store: &mut X509StoreBuilder, crl: &X509CrlRef) -> Result<(), ErrorStack> {
    // SAFETY: both are valid; the store takes a reference of its own to the list.
    let done = unsafe { raw::X509_STORE_add_crl(store.as_ptr(), crl.as_ptr()) };
    if done == 1 { Ok(()) } else { Err(ErrorStack::get()) }
}

/// A certificate, followed by its trusted uses if there are any: DER, as OpenSSL writes it
/// (x509(1ssl), `-trustout`).
///
/// # Errors
/// The bytes are not a certificate.
pub fn trusted_certificate(der: &[u8]) -> Result<X509, ErrorStack> {
    let mut at = der.as_ptr();
    let length = c_long::try_from(der.len()).map_err(|_| ErrorStack::get())?;
    // SAFETY: so many bytes are there, which the library reads; `at` is its own to move.
    let read = unsafe { raw::d2i_X509_AUX(std::ptr::null_mut(), &mut at, length) };
    if read.is_null() {
        return Err(ErrorStack::get());
    }
    // SAFETY: the library has made it and has no other reference to it.
    Ok(unsafe { X509::from_ptr(read) })
}

/// The certificate that is being verified, wherever in its chain.
pub fn verified(context: &X509StoreContextRef) -> Option<&X509Ref> {
    // SAFETY: the context is valid as long as its reference, and so is the certificate.
    unsafe {
        let certificate = raw::X509_STORE_CTX_get0_cert(context.as_ptr());
        (!certificate.is_null()).then(|| X509Ref::from_ptr(certificate))
    }
}

/// The version of a certificate's format, as a person counts: from 1.
pub fn version(certificate: &X509Ref) -> c_long {
    // SAFETY: the certificate is valid as long as its reference, and only looked at.
    let version = unsafe { raw::X509_get_version(certificate.as_ptr()) };
    version + 1
}

/// The version of a revocation list, as a person counts: 1 or 2.
pub fn crl_version(crl: &X509CrlRef) -> c_long {
    // SAFETY: the list is valid as long as its reference, and only looked at.
    let version = unsafe { raw::X509_CRL_get_version(crl.as_ptr()) };
    version + 1
}

/// The signature algorithm of a revocation list.
pub fn crl_signature(crl: &X509CrlRef) -> Nid {
    // SAFETY: as above.
    Nid::from_raw(unsafe { raw::X509_CRL_get_signature_nid(crl.as_ptr()) })
}
