//! A minimal DER reader that compares a key with a certificate without handing either to the
//! library. It allocates nothing.

pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const BITS: u8 = 0x03;
pub(crate) const OCTETS: u8 = 0x04;
pub(crate) const OID: u8 = 0x06;
pub(crate) const SEQUENCE: u8 = 0x30;

/// `id-ecPublicKey` (RFC 5480 section 2.1.1).
pub(crate) const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
/// `rsaEncryption` (RFC 8017 appendix A.1).
pub(crate) const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];

/// Values that follow each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Der<'a>(pub(crate) &'a [u8]);

impl<'a> Der<'a> {
    /// The next value: its tag, its contents, and all of it.
    pub(crate) fn next(&mut self) -> Option<(u8, &'a [u8], &'a [u8])> {
        let whole = self.0;
        let (tag, rest) = whole.split_first()?;
        let (first, rest) = rest.split_first()?;
        let (length, rest) = match *first {
            short @ 0..=0x7f => (usize::from(short), rest),
            // Four bytes of length are more than any file that is read has.
            long @ 0x81..=0x84 => {
                let (digits, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
                let join = |length, digit: &u8| length << 8 | usize::from(*digit);
                (digits.iter().fold(0, join), rest)
            }
            _ => return None,
        };
        let (contents, after) = rest.split_at_checked(length)?;
        self.0 = after;
        Some((*tag, contents, &whole[..whole.len() - after.len()]))
    }

    /// The contents of the next value, if it has this tag.
    pub(crate) fn take(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|(own, ..)| *own == tag).map(|(_, contents, _)| contents)
    }
}

/// The identity of a key: algorithm parameters and public part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Public<'a> {
    /// Curve, where the key names it, and point.
    Ec(Option<&'a [u8]>, &'a [u8]),
    /// Modulus.
    Rsa(&'a [u8]),
}

impl Public<'_> {
    /// Whether both identifiers name the same key, as far as they can be compared.
    pub(crate) fn matches(self, other: Self) -> bool {
        match (self, other) {
            (Self::Ec(curve, point), Self::Ec(other_curve, other_point)) => {
                let same_curve = curve.zip(other_curve).is_none_or(|(own, other)| own == other);
                same_curve && point == other_point
            }
            (own, other) => own == other,
        }
    }
}

/// The public key of a certificate (RFC 5280 section 4.1), if it is of a kind that is looked into.
pub(crate) fn of_certificate(der: &[u8]) -> Option<Public<'_>> {
    let mut body = Der(Der(Der(der).take(SEQUENCE)?).take(SEQUENCE)?);
    // The version is left out in certificates of the first.
    let mut field = body.next()?;
    if field.0 == 0xa0 {
        field = body.next()?;
    }
    // After the serial number: signature, issuer, validity, subject.
    (field.0 == INTEGER).then_some(())?;
    for _ in 0..4 {
        body.next()?;
    }
    let mut info = Der(body.take(SEQUENCE)?);
    let mut algorithm = Der(info.take(SEQUENCE)?);
    let kind = algorithm.take(OID)?;
    let [0, key @ ..] = info.take(BITS)? else { return None };
    match kind {
        EC => Some(Public::Ec(algorithm.take(OID), key)),
        RSA => Some(Public::Rsa(Der(Der(key).take(SEQUENCE)?).take(INTEGER)?)),
        _ => None,
    }
}

/// The public half of a private key (RFC 5208, RFC 5915, RFC 8017), if it tells it.
pub(crate) fn of_key(der: &[u8]) -> Option<Public<'_>> {
    let contents = Der(der).take(SEQUENCE)?;
    let mut fields = Der(contents);
    fields.take(INTEGER)?;
    match fields.next()? {
        (SEQUENCE, algorithm, _) => {
            let mut algorithm = Der(algorithm);
            let kind = algorithm.take(OID)?;
            let inner = Der(fields.take(OCTETS)?).take(SEQUENCE)?;
            match kind {
                EC => {
                    let curve = algorithm.take(OID);
                    match of_ec(inner)? {
                        Public::Ec(own, point) => Some(Public::Ec(own.or(curve), point)),
                        other => Some(other),
                    }
                }
                RSA => of_rsa(inner),
                _ => None,
            }
        }
        (OCTETS, ..) => of_ec(contents),
        (INTEGER, ..) => of_rsa(contents),
        _ => None,
    }
}

/// `ECPrivateKey`
fn of_ec(contents: &[u8]) -> Option<Public<'_>> {
    let mut fields = Der(contents);
    fields.take(INTEGER)?;
    fields.take(OCTETS)?;
    let mut curve = None;
    while let Some((tag, contents, _)) = fields.next() {
        match tag {
            0xa0 => curve = Some(Der(contents).take(OID)?),
            0xa1 => {
                let [0, point @ ..] = Der(contents).take(BITS)? else { return None };
                return Some(Public::Ec(curve, point));
            }
            _ => return None,
        }
    }
    None
}

/// `RSAPrivateKey`: all of its numbers have to be there.
fn of_rsa(contents: &[u8]) -> Option<Public<'_>> {
    let mut fields = Der(contents);
    fields.take(INTEGER)?;
    let modulus = fields.take(INTEGER)?;
    for _ in 0..7 {
        fields.take(INTEGER)?;
    }
    Some(Public::Rsa(modulus))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::pair::{ecdsa, make, rsa};
    use proptest::prelude::*;

    #[test]
    fn keys_are_known_by_their_public_halves() {
        let (a, b) = (make(&["a"], ecdsa(), None), make(&["b"], rsa(), None));
        for made in [&a, &b] {
            let certificate = made.certificate.to_der().unwrap();
            let pkcs8 = made.key.private_key_to_pkcs8().unwrap();
            let plain = made.key.private_key_to_der().unwrap();
            let public = of_certificate(&certificate).unwrap();
            assert!(public.matches(of_key(&pkcs8).unwrap()));
            assert!(public.matches(of_key(&plain).unwrap()));
        }
        let foreign = ecdsa().private_key_to_pkcs8().unwrap();
        let certificate = a.certificate.to_der().unwrap();
        assert!(!of_certificate(&certificate).unwrap().matches(of_key(&foreign).unwrap()));
        let rsa = b.key.private_key_to_der().unwrap();
        assert!(!of_certificate(&certificate).unwrap().matches(of_key(&rsa).unwrap()));
        assert_eq!(of_key(&rsa[..rsa.len() - 1]), None, "cut off");
    }

    proptest! {
        #[test]
        fn nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..96)) {
            let _ = of_key(&bytes);
            let _ = of_certificate(&bytes);
        }

        #[test]
        fn a_changed_key_never_panics(at in 0_usize..120, byte: u8) {
            let mut der = KEY.get_or_init(|| ecdsa().private_key_to_pkcs8().unwrap()).clone();
            let at = at % der.len();
            der[at] = byte;
            let _ = of_key(&der);
        }
    }

    static KEY: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
}
