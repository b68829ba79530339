//! OCSP functions (RFC 6960) that the openssl crate does not offer.

use crate::errors::forget_errors;
use crate::flavour::raw;
use crate::print::text;
use foreign_types::ForeignTypeRef as _;
use openssl::asn1::{Asn1GeneralizedTimeRef, Asn1Time, Asn1TimeRef};
use openssl::ocsp::OcspBasicResponseRef;
use openssl::x509::X509Ref;

/// The `CertID` of a certificate of this issuer, with SHA-1, DER (RFC 6960 section 4.1.1).
pub fn certificate_id(certificate: &X509Ref, issuer: &X509Ref) -> Option<Vec<u8>> {
    // SAFETY: both are valid as long as their references; without a digest SHA-1 is meant.
    let id = unsafe {
        openssl_sys::OCSP_cert_to_id(std::ptr::null(), certificate.as_ptr(), issuer.as_ptr())
    };
    if id.is_null() {
        forget_errors();
        return None;
    }
    // SAFETY: the id is valid, and without a place to write to the library only returns the length.
    let length = unsafe { raw::i2d_OCSP_CERTID(id, std::ptr::null_mut()) };
    let mut der = vec![0; usize::try_from(length).unwrap_or(0)];
    let mut at = der.as_mut_ptr();
    // SAFETY: there is room for the length that was returned; this code frees the id.
    let written = unsafe {
        let written = if der.is_empty() { 0 } else { raw::i2d_OCSP_CERTID(id, &mut at) };
        openssl_sys::OCSP_CERTID_free(id);
        written
    };
    (written > 0 && written == length).then_some(der)
}

/// How many certificates a response is about.
pub fn single_responses(response: &OcspBasicResponseRef) -> usize {
    // SAFETY: the response is valid as long as its reference, and only looked at.
    let count = unsafe { raw::OCSP_resp_count(response.as_ptr()) };
    usize::try_from(count).unwrap_or(0)
}

/// Seconds since 1970 of a date in a response.
pub fn unix_time(time: &Asn1GeneralizedTimeRef) -> Option<i64> {
    // SAFETY: the library has one type for all kinds of dates, which say of which kind they are;
    // this one is valid as long as its reference.
    let time = unsafe { Asn1TimeRef::from_ptr(time.as_ptr().cast()) };
    let span = Asn1Time::from_unix(0).ok()?.diff(time).ok()?;
    Some(i64::from(span.days) * 86_400 + i64::from(span.secs))
}

/// The text of a DER-encoded response, as of `openssl ocsp -text`; `None` if the bytes are no
/// response.
pub fn response_text(der: &[u8]) -> Option<String> {
    let length = der.len().try_into().ok()?;
    let mut at = der.as_ptr();
    // SAFETY: so many bytes are there; the library keeps none of them.
    let response = unsafe { openssl_sys::d2i_OCSP_RESPONSE(std::ptr::null_mut(), &mut at, length) };
    if response.is_null() {
        forget_errors();
        return None;
    }
    let shown = text(|out| {
        // SAFETY: both are valid during the call.
        unsafe { raw::OCSP_RESPONSE_print(out, response, 0) }
    });
    // SAFETY: this code owns the response and does not use it any more.
    unsafe { openssl_sys::OCSP_RESPONSE_free(response) };
    (!shown.is_empty()).then_some(shown)
}
