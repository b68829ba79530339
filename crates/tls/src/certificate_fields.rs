//! The fields of an X.509 certificate as sample fetches return them (manual section 7.3.4).

use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::Id;
use openssl::stack::StackRef;
use openssl::x509::{X509, X509NameRef, X509Ref};

/// A certificate that a peer or this process has presented.
#[derive(Clone, Debug)]
pub struct CertificateFields(pub(crate) X509);

/// The part of a distinguished name that a fetch asks for (`ssl_c_s_dn(CN,2)`).
#[derive(Clone, Copy, Debug, Default)]
pub struct NamePart<'a> {
    /// The attribute type, such as `CN`; empty for the whole name.
    pub kind: &'a str,
    /// The occurrence to return, from 1, or from the end if negative; 0 matches nothing.
    pub occurrence: i64,
    /// Formats the whole name as RFC 2253 does.
    pub rfc2253: bool,
}

impl CertificateFields {
    /// The whole certificate, DER.
    pub fn der(&self) -> Option<Vec<u8>> {
        self.0.to_der().ok()
    }

    /// The SHA-1 digest of the certificate.
    pub fn sha1(&self) -> Option<Vec<u8>> {
        Some(self.0.digest(MessageDigest::sha1()).ok()?.to_vec())
    }

    /// The serial number, at least one byte.
    pub fn serial(&self) -> Option<Vec<u8>> {
        let number = self.0.serial_number().to_bn().ok()?.to_vec();
        Some(if number.is_empty() { vec![0] } else { number })
    }

    /// From when it is valid: `YYMMDDhhmmssZ`.
    pub fn not_before(&self) -> Option<Vec<u8>> {
        short_date(ffi::date_text(self.0.not_before()))
    }

    /// Until when: `YYMMDDhhmmssZ`.
    pub fn not_after(&self) -> Option<Vec<u8>> {
        short_date(ffi::date_text(self.0.not_after()))
    }

    /// The algorithm that it is signed by, such as `RSA-SHA256`.
    pub fn signature_algorithm(&self) -> Option<&'static str> {
        self.0.signature_algorithm().object().nid().short_name().ok()
    }

    /// The kind and the length of its key in bits, such as `RSA2048` or `EC256`.
    pub fn key_kind(&self) -> Option<String> {
        let key = self.0.public_key().ok()?;
        let kind = match key.id() {
            Id::RSA => "RSA",
            Id::EC => "EC",
            Id::DSA => "DSA",
            _ => return None,
        };
        Some(format!("{kind}{}", key.bits()))
    }

    /// The algorithm of its key, such as `rsaEncryption`.
    pub fn key_algorithm(&self) -> Option<&'static str> {
        // The library numbers kinds of keys as it numbers their names.
        Nid::from_raw(self.0.public_key().ok()?.id().as_raw()).short_name().ok()
    }

    /// The version of its format, from 1.
    pub fn version(&self) -> i64 {
        ffi::version(&self.0)
    }

    /// The distinguished name of the subject.
    pub fn subject(&self, part: NamePart<'_>) -> Option<Vec<u8>> {
        name(self.0.subject_name(), part)
    }

    /// The distinguished name of the issuer.
    pub fn issuer(&self, part: NamePart<'_>) -> Option<Vec<u8>> {
        name(self.0.issuer_name(), part)
    }
}

/// A chain of certificates in order, DER.
pub(crate) fn chain_der(chain: &StackRef<X509>) -> Option<Vec<u8>> {
    let each: Option<Vec<_>> = chain.iter().map(|it: &X509Ref| it.to_der().ok()).collect();
    each.map(|each| each.concat()).filter(|all| !all.is_empty())
}

/// A date with two digits of the year, if it is of this century.
fn short_date(text: &[u8]) -> Option<Vec<u8>> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match digits {
        14 => text.strip_prefix(b"20").map(<[u8]>::to_vec),
        12 => Some(text.to_vec()),
        _ => None,
    }
}

fn name(name: &X509NameRef, part: NamePart<'_>) -> Option<Vec<u8>> {
    if part.kind.is_empty() {
        return match part.rfc2253 {
            true => Some(ffi::rfc2253(name).into_bytes()),
            false => Some(one_line(name)),
        };
    }
    let matching = || {
        let all = name.entries().filter(|entry| {
            let object = entry.object();
            match object.nid().short_name() {
                Ok(short) if object.nid() != Nid::UNDEF => short.eq_ignore_ascii_case(part.kind),
                _ => object.to_string() == part.kind,
            }
        });
        all.map(|entry| entry.data().as_slice().to_vec())
    };
    let skipped = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    match part.occurrence {
        0 => None,
        1.. => matching().nth(skipped(part.occurrence.unsigned_abs() - 1)),
        _ => {
            let all: Vec<_> = matching().collect();
            all.into_iter().rev().nth(skipped(part.occurrence.unsigned_abs() - 1))
        }
    }
}

/// `/C=FR/O=Example`, bytes as they are.
fn one_line(name: &X509NameRef) -> Vec<u8> {
    let mut line = Vec::new();
    for entry in name.entries() {
        let object = entry.object();
        line.push(b'/');
        match object.nid().short_name() {
            Ok(short) if object.nid() != Nid::UNDEF => line.extend_from_slice(short.as_bytes()),
            _ => line.extend_from_slice(object.to_string().as_bytes()),
        }
        line.push(b'=');
        line.extend_from_slice(entry.data().as_slice());
    }
    line
}
