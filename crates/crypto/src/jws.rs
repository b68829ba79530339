//! Verification of JSON Web Signatures (RFC 7515, RFC 7518).

use openssl::bn::BigNum;
use openssl::ecdsa::EcdsaSig;
use openssl::hash::MessageDigest;
use openssl::memcmp;
use openssl::pkey::{Id, PKey, Public};
use openssl::sign::{Signer, Verifier};
use openssl::x509::X509;

/// Signature algorithm of a token (RFC 7518 section 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// `none`: the token is not signed.
    None,
    /// `HS256` and so on: HMAC with a shared secret; bits of the digest.
    Secret(u16),
    /// `RS256` and so on: RSASSA-PKCS1-v1_5.
    Rsa(u16),
    /// `ES256` and so on: ECDSA.
    Ecdsa(u16),
    /// `PS256` and so on: RSASSA-PSS, not supported.
    Unmanaged,
}

/// Result of a verification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The signature is valid.
    Fine,
    /// The signature is not valid.
    Wrong,
    /// The token is malformed, or its signature is empty.
    Malformed,
    /// The algorithm is not supported.
    Unmanaged,
}

/// A public key for verifying signatures.
#[derive(Clone, Debug)]
pub struct PublicKey(PKey<Public>);

impl PublicKey {
    /// Reads a public key or a certificate in PEM.
    pub fn read(text: &[u8]) -> Option<Self> {
        let of_certificate = || X509::from_pem(text).ok()?.public_key().ok();
        PKey::public_key_from_pem(text).ok().or_else(of_certificate).map(Self)
    }
}

impl Algorithm {
    /// The algorithm with this name in the JOSE header.
    pub fn by_name(name: &[u8]) -> Option<Self> {
        if name == b"none" {
            return Some(Self::None);
        }
        let bits = match name.get(2..)? {
            b"256" => 256,
            b"384" => 384,
            b"512" => 512,
            _ => return None,
        };
        match &name[..2] {
            b"HS" => Some(Self::Secret(bits)),
            b"RS" => Some(Self::Rsa(bits)),
            b"ES" => Some(Self::Ecdsa(bits)),
            b"PS" => Some(Self::Unmanaged),
            _ => None,
        }
    }

    /// Whether its key is a shared secret.
    pub fn takes_secret(self) -> bool {
        matches!(self, Self::Secret(_))
    }

    fn digest(self) -> MessageDigest {
        match self {
            Self::Secret(384) | Self::Rsa(384) | Self::Ecdsa(384) => MessageDigest::sha384(),
            Self::Secret(512) | Self::Rsa(512) | Self::Ecdsa(512) => MessageDigest::sha512(),
            _ => MessageDigest::sha256(),
        }
    }
}

/// Verifies `signature` over `signed` with a shared secret or a public key.
pub fn verify(
    algorithm: Algorithm,
    (secret, key): (&[u8], Option<&PublicKey>),
    signed: &[u8],
    signature: &[u8],
) -> Verdict {
    let verified = match (algorithm, key) {
        (Algorithm::Unmanaged, _) => return Verdict::Unmanaged,
        (Algorithm::None, _) => return Verdict::Malformed,
        _ if signature.is_empty() => return Verdict::Malformed,
        (Algorithm::Secret(_), _) => by_secret(algorithm, secret, signed, signature),
        (Algorithm::Rsa(_), Some(key)) if key.0.id() == Id::RSA => {
            by_key(algorithm, key, signed, signature)
        }
        (Algorithm::Ecdsa(_), Some(key)) if key.0.id() == Id::EC => {
            let encoded = encoded(algorithm, signature);
            by_key(algorithm, key, signed, encoded.as_deref().unwrap_or(signature))
        }
        _ => Some(false),
    };
    if verified == Some(true) { Verdict::Fine } else { Verdict::Wrong }
}

fn by_secret(algorithm: Algorithm, secret: &[u8], signed: &[u8], signature: &[u8]) -> Option<bool> {
    let key = PKey::hmac(secret).ok()?;
    let mut signer = Signer::new(algorithm.digest(), &key).ok()?;
    let expected = signer.sign_oneshot_to_vec(signed).ok()?;
    Some(expected.len() == signature.len() && memcmp::eq(&expected, signature))
}

fn by_key(algorithm: Algorithm, key: &PublicKey, signed: &[u8], signature: &[u8]) -> Option<bool> {
    let mut verifier = Verifier::new(algorithm.digest(), &key.0).ok()?;
    let verified = verifier.verify_oneshot(signature, signed);
    // Clears the library's error queue, which later calls would report otherwise.
    let _ = openssl::error::ErrorStack::get();
    verified.ok()
}

/// The DER encoding of a signature from its two numbers (RFC 7518 section 3.4). `None` if the
/// length does not match: some signers use DER against the standard, and HAProxy 2.7 accepts that,
/// so it is passed on unchanged.
fn encoded(algorithm: Algorithm, signature: &[u8]) -> Option<Vec<u8>> {
    let half = match algorithm {
        Algorithm::Ecdsa(384) => 48,
        Algorithm::Ecdsa(512) => 66,
        _ => 32,
    };
    if signature.len() != 2 * half {
        return None;
    }
    let (r, s) = signature.split_at(half);
    let (r, s) = (BigNum::from_slice(r).ok()?, BigNum::from_slice(s).ok()?);
    EcdsaSig::from_private_components(r, s).ok()?.to_der().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use openssl::ec::{EcGroup, EcKey};
    use openssl::nid::Nid;
    use openssl::pkey::Private;
    use openssl::rsa::Rsa;

    fn public(key: &PKey<Private>) -> PublicKey {
        PublicKey::read(&key.public_key_to_pem().unwrap()).unwrap()
    }

    fn signed(key: &PKey<Private>, algorithm: Algorithm) -> Vec<u8> {
        let mut signer = Signer::new(algorithm.digest(), key).unwrap();
        signer.sign_oneshot_to_vec(b"a.b").unwrap()
    }

    #[test]
    fn signatures_are_those_of_their_keys() {
        let rsa = PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap();
        let algorithm = Algorithm::by_name(b"RS384").unwrap();
        let signature = signed(&rsa, algorithm);
        let key = public(&rsa);
        let judge = |text: &[u8]| verify(algorithm, (b"", Some(&key)), text, &signature);
        assert_eq!((judge(b"a.b"), judge(b"a.c")), (Verdict::Fine, Verdict::Wrong));
        let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
        let ec = PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap();
        let algorithm = Algorithm::by_name(b"ES256").unwrap();
        let der = signed(&ec, algorithm);
        let parsed = EcdsaSig::from_der(&der).unwrap();
        let half = |number: &openssl::bn::BigNumRef| number.to_vec_padded(32).unwrap();
        let raw = [half(parsed.r()), half(parsed.s())].concat();
        let judge =
            |signature: &[u8]| verify(algorithm, (b"", Some(&public(&ec))), b"a.b", signature);
        assert_eq!((judge(&raw), judge(&der)), (Verdict::Fine, Verdict::Fine));
        assert_eq!(judge(&raw[1..]), Verdict::Wrong);
        assert_eq!(verify(algorithm, (b"", Some(&key)), b"a.b", &raw), Verdict::Wrong);
    }

    #[test]
    fn signatures_must_match_completely() {
        let algorithm = Algorithm::by_name(b"HS256").unwrap();
        let key = PKey::hmac(b"secret").unwrap();
        let signature = signed(&key, algorithm);
        let judge = |secret: &[u8], it: &[u8]| verify(algorithm, (secret, None), b"a.b", it);
        assert_eq!(judge(b"secret", &signature), Verdict::Fine);
        assert_eq!(judge(b"secret", &signature[1..]), Verdict::Wrong);
        assert_eq!(judge(b"other", &signature), Verdict::Wrong);
        assert_eq!(judge(b"secret", b""), Verdict::Malformed);
    }

    #[test]
    fn names_are_those_of_the_standard() {
        assert_eq!(Algorithm::by_name(b"PS512"), Some(Algorithm::Unmanaged));
        assert_eq!(Algorithm::by_name(b"none"), Some(Algorithm::None));
        for name in [&b"HS1"[..], b"X", b"", b"hs256", b"HS2567"] {
            assert_eq!(Algorithm::by_name(name), None);
        }
        let unmanaged = verify(Algorithm::Unmanaged, (b"", None), b"", b"x");
        assert_eq!(unmanaged, Verdict::Unmanaged);
        assert_eq!(verify(Algorithm::None, (b"", None), b"", b""), Verdict::Malformed);
    }
}
