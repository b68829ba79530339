//! The readable form of certificates and revocation lists (management.txt 9.3).

use openssl::asn1::Asn1IntegerRef;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::Id;
use openssl::x509::{X509CrlRef, X509Ref};
use std::fmt::Write as _;

/// Names of one certificate of a chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// The subject.
    pub subject: String,
    /// The issuer.
    pub issuer: String,
}

/// A certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Its number, in hexadecimal.
    pub serial: String,
    /// The times from and until which it holds.
    pub period: (String, String),
    /// Its alternative names, such as `DNS:a, DNS:b`.
    pub alternative: String,
    /// Kind and bits of its key, such as `RSA2048`.
    pub algorithm: String,
    /// The SHA-1 of all of it, in hexadecimal.
    pub sha1: String,
    /// Its names.
    pub names: Link,
}

/// A revocation list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Revocations {
    /// Its version, from 1.
    pub version: i64,
    /// The signature algorithm.
    pub signature: String,
    /// The issuer.
    pub issuer: String,
    /// The times of this response and of the next one.
    pub updates: (String, String),
    /// Numbers of certificates, and when they were revoked.
    pub revoked: Vec<(String, String)>,
}

impl Link {
    pub(crate) fn of(certificate: &X509Ref) -> Self {
        Self {
            subject: ffi::one_line(certificate.subject_name()),
            issuer: ffi::one_line(certificate.issuer_name()),
        }
    }
}

impl Details {
    pub(crate) fn of(certificate: &X509Ref) -> Self {
        let sha1 = certificate.digest(MessageDigest::sha1());
        Self {
            serial: hex_of(certificate.serial_number()),
            period: (certificate.not_before().to_string(), certificate.not_after().to_string()),
            alternative: ffi::extension_text(certificate, Nid::SUBJECT_ALT_NAME),
            algorithm: algorithm(certificate),
            sha1: sha1.map(|digest| hex(&digest)).unwrap_or_default(),
            names: Link::of(certificate),
        }
    }
}

impl Revocations {
    pub(crate) fn of(list: &X509CrlRef) -> Self {
        let revoked = list.get_revoked().into_iter().flatten();
        let next = list.next_update().map(ToString::to_string).unwrap_or_default();
        Self {
            version: ffi::crl_version(list),
            signature: ffi::crl_signature(list).long_name().unwrap_or("undefined").to_owned(),
            issuer: ffi::one_line(list.issuer_name()),
            updates: (list.last_update().to_string(), next),
            revoked: revoked
                .map(|own| (hex_of(own.serial_number()), own.revocation_date().to_string()))
                .collect(),
        }
    }
}

fn algorithm(certificate: &X509Ref) -> String {
    let Ok(key) = certificate.public_key() else { return String::new() };
    let kind = match key.id() {
        Id::RSA | Id::RSA_PSS => "RSA",
        Id::EC => "EC",
        Id::DSA => "DSA",
        _ => return String::new(),
    };
    format!("{kind}{}", key.bits())
}

fn hex_of(number: &Asn1IntegerRef) -> String {
    let hex = number.to_bn().and_then(|number| Ok(number.to_hex_str()?.to_string()));
    hex.unwrap_or_default()
}

/// Bytes as hexadecimal digits, upper case.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02X}");
        text
    })
}
