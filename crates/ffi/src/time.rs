//! Dates in certificates as they are written there.

use foreign_types::ForeignTypeRef as _;
use openssl::asn1::Asn1TimeRef;

/// The text of a date: `YYMMDDhhmmssZ`, or with four digits of the year.
pub fn date_text(time: &Asn1TimeRef) -> &[u8] {
    let text = time.as_ptr().cast::<openssl_sys::ASN1_STRING>();
    // SAFETY: a date is a string of ASN.1, valid as long as its reference; the library says how
    // many bytes it has.
    unsafe {
        let start = openssl_sys::ASN1_STRING_get0_data(text);
        match usize::try_from(openssl_sys::ASN1_STRING_length(text)) {
            Ok(length @ 1..) if !start.is_null() => std::slice::from_raw_parts(start, length),
            _ => &[],
        }
    }
}
