//! The suites, curves and schemes of a client that accepts a certificate with an EC key.

use openssl::nid::Nid;
use openssl::pkey::Id;
use openssl::x509::X509Ref;

/// A number of the registries of TLS, as it is on the wire.
pub(crate) type TlsNumber = [u8; 2];

/// The suites up to TLS 1.2 that are signed with such a key, with their numbers (IANA, TLS Cipher
/// Suites). Suites of TLS 1.3 say nothing of keys.
#[rustfmt::skip]
const SUITES: [(&str, TlsNumber); 18] = [
    ("ECDHE-ECDSA-NULL-SHA", [0xc0, 0x06]),
    ("ECDHE-ECDSA-RC4-SHA", [0xc0, 0x07]),
    ("ECDHE-ECDSA-DES-CBC3-SHA", [0xc0, 0x08]),
    ("ECDHE-ECDSA-AES128-SHA", [0xc0, 0x09]),
    ("ECDHE-ECDSA-AES256-SHA", [0xc0, 0x0a]),
    ("ECDHE-ECDSA-AES128-SHA256", [0xc0, 0x23]),
    ("ECDHE-ECDSA-AES256-SHA384", [0xc0, 0x24]),
    ("ECDHE-ECDSA-AES128-GCM-SHA256", [0xc0, 0x2b]),
    ("ECDHE-ECDSA-AES256-GCM-SHA384", [0xc0, 0x2c]),
    ("ECDHE-ECDSA-ARIA128-GCM-SHA256", [0xc0, 0x5c]),
    ("ECDHE-ECDSA-ARIA256-GCM-SHA384", [0xc0, 0x5d]),
    ("ECDHE-ECDSA-CAMELLIA128-SHA256", [0xc0, 0x72]),
    ("ECDHE-ECDSA-CAMELLIA256-SHA384", [0xc0, 0x73]),
    ("ECDHE-ECDSA-AES128-CCM", [0xc0, 0xac]),
    ("ECDHE-ECDSA-AES256-CCM", [0xc0, 0xad]),
    ("ECDHE-ECDSA-AES128-CCM8", [0xc0, 0xae]),
    ("ECDHE-ECDSA-AES256-CCM8", [0xc0, 0xaf]),
    ("ECDHE-ECDSA-CHACHA20-POLY1305", [0xcc, 0xa9]),
];

/// The numbers of those suites that are among these names.
pub(crate) fn numbers(names: &[String]) -> Vec<TlsNumber> {
    let enabled = SUITES.iter().filter(|(name, _)| names.iter().any(|own| own == name));
    enabled.map(|(_, number)| *number).collect()
}

/// Whether one of these suites uses ECDSA.
pub(crate) fn is_among(suites: &[u8]) -> bool {
    SUITES.iter().any(|(_, number)| contains(suites, *number))
}

/// Whether a list contains this number.
pub(crate) fn contains(list: &[u8], number: TlsNumber) -> bool {
    list.chunks_exact(2).any(|own| own == number)
}

/// The curve of a certificate's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyCurve {
    /// Its number among the groups that a client of TLS 1.2 supports (RFC 8422 section 5.1.1).
    group: Option<TlsNumber>,
    /// The only scheme that signs with it in TLS 1.3 (RFC 8446 section 4.2.3).
    scheme: TlsNumber,
}

impl KeyCurve {
    /// `None` for keys of other kinds and for curves without a scheme.
    pub(crate) fn of(leaf: &X509Ref) -> Option<Self> {
        let key = leaf.public_key().ok()?;
        let curve = |group, scheme| Some(Self { group: Some([0, group]), scheme });
        match key.id() {
            Id::ED25519 => Some(Self { group: None, scheme: [8, 7] }),
            Id::EC => match key.ec_key().ok()?.group().curve_name()? {
                Nid::X9_62_PRIME256V1 => curve(23, [4, 3]),
                Nid::SECP384R1 => curve(24, [5, 3]),
                Nid::SECP521R1 => curve(25, [6, 3]),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether a client can verify signatures of the key: before TLS 1.3 its groups have to name
    /// the curve, from then on its schemes.
    pub(crate) fn is_supported(self, offer: CurveOffer<'_>, tls13: bool) -> bool {
        let has = |list: Option<&[u8]>, number| list.is_none_or(|list| contains(list, number));
        match self.group {
            Some(group) if !tls13 => has(offer.groups, group),
            _ => has(offer.schemes, self.scheme),
        }
    }
}

/// The lists of a client that concern curves, two bytes per entry; `None`: the client has not sent
/// the extension.
#[derive(Clone, Copy, Default)]
pub(crate) struct CurveOffer<'a> {
    pub(crate) groups: Option<&'a [u8]>,
    pub(crate) schemes: Option<&'a [u8]>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::pair::{ecdsa, make, on_curve, rsa};

    #[test]
    fn suites_are_found_among_the_names_of_the_library() {
        let context = crate::context::plain(crate::context::Side::Server).unwrap();
        let names = ffi::enabled_ciphers(&context.build(), "ECDSA").unwrap();
        assert!(!names.is_empty());
        assert_eq!(numbers(&names).len(), names.len(), "{names:?}");
    }

    #[test]
    fn a_curve_needs_its_group_or_its_scheme() {
        let of = |key| KeyCurve::of(&make(&["a"], key, None).certificate);
        assert_eq!(of(rsa()), None);
        let p256 = of(ecdsa()).unwrap();
        let p384 = of(on_curve(Nid::SECP384R1)).unwrap();
        let offer = CurveOffer { groups: Some(&[0, 24, 0, 29]), schemes: Some(&[4, 3, 8, 4]) };
        assert!(!p256.is_supported(offer, false) && p384.is_supported(offer, false));
        assert!(p256.is_supported(offer, true) && !p384.is_supported(offer, true));
        let none = CurveOffer::default();
        assert!(p256.is_supported(none, false) && p384.is_supported(none, true));
    }
}
