//! Certificates generated for host names that no certificate has (`generate-certificates`). They
//! share the key of the default certificate.

use crate::certificate::Certificate;
use openssl::asn1::Asn1Time;
use openssl::bn::{BigNum, MsbOption};
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::x509::extension::{BasicConstraints, ExtendedKeyUsage, SubjectAlternativeName};
use openssl::x509::{X509, X509Name};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, MutexGuard};
use stdx::Mutex;

/// The longest common name (RFC 5280 appendix A.1).
const LONGEST_COMMON_NAME: usize = 64;
/// How long a certificate is valid, in days.
const DAYS: u32 = 365;
/// Bits of serial numbers, so that no two are the same (RFC 5280 section 4.1.2.2).
const SERIAL_BITS: i32 = 127;

/// An authority that signs generated certificates.
pub(crate) struct CertificateGenerator {
    authority: X509,
    key: PKey<Private>,
    /// The most certificates that are kept (`tune.ssl.ssl-ctx-cache-size`); 0 for none.
    most: usize,
    made: Mutex<Made>,
}

/// The generated certificates, with the time of their last use.
#[derive(Default)]
struct Made {
    /// The default certificate, whose key all generated certificates use.
    of: Option<Arc<Certificate>>,
    certificates: HashMap<Arc<[u8]>, (X509, u64)>,
    /// The names by their last turn: the one to go is the first.
    turns: BTreeMap<u64, Arc<[u8]>>,
    turn: u64,
}

/// Why the file of an authority that signs generated certificates is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GeneratorError {
    /// The file cannot be read; the system's words.
    Unreadable(String),
    /// The file has no certificate.
    NoCertificate,
    /// The file has no private key, or the password is wrong.
    NoKey,
    /// The private key is not that of the certificate.
    ForeignKey,
}

impl fmt::Display for GeneratorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreadable(reason) => reason,
            Self::NoCertificate => "no certificate found",
            Self::NoKey => "no private key found, or it needs another password",
            Self::ForeignKey => "inconsistencies between private key and certificate",
        })
    }
}

impl std::error::Error for GeneratorError {}

impl CertificateGenerator {
    /// Reads the authority's certificate and key from the text of a file.
    ///
    /// # Errors
    ///
    /// The mistake in the text.
    pub(crate) fn read(
        text: &[u8],
        password: Option<&str>,
        most: u32,
    ) -> Result<Self, GeneratorError> {
        let authority = X509::from_pem(text).map_err(|_| GeneratorError::NoCertificate)?;
        let password = password.unwrap_or_default().as_bytes();
        let key = PKey::private_key_from_pem_passphrase(text, password);
        let key = key.map_err(|_| GeneratorError::NoKey)?;
        if !authority.public_key().is_ok_and(|public| public.public_eq(&key)) {
            return Err(GeneratorError::ForeignKey);
        }
        Ok(Self { authority, key, most: most as usize, made: Mutex::default() })
    }

    /// A certificate for a name, with the key of another one.
    ///
    /// # Errors
    /// The name cannot be in one, or no memory.
    pub(crate) fn certificate(
        &self,
        name: &[u8],
        of: &Arc<Certificate>,
    ) -> Result<X509, ErrorStack> {
        if let Some(known) = self.made().find(name, of) {
            return Ok(known);
        }
        // Others continue meanwhile; two that are made at once do no harm.
        let certificate = self.make(name, of)?;
        self.made().keep(name, of, &certificate, self.most);
        Ok(certificate)
    }

    fn made(&self) -> MutexGuard<'_, Made> {
        self.made.lock()
    }

    fn make(&self, name: &[u8], of: &Certificate) -> Result<X509, ErrorStack> {
        // Bytes that are no text are no host name.
        let name = std::str::from_utf8(name).map_err(|_| ErrorStack::get())?;
        let mut subject = X509Name::builder()?;
        for entry in self.authority.subject_name().entries() {
            subject.append_entry(entry)?;
        }
        if name.len() <= LONGEST_COMMON_NAME {
            subject.append_entry_by_nid(Nid::COMMONNAME, name)?;
        }
        let mut serial = BigNum::new()?;
        serial.rand(SERIAL_BITS, MsbOption::MAYBE_ZERO, false)?;
        let mut builder = X509::builder()?;
        builder.set_version(2)?;
        builder.set_serial_number(&*serial.to_asn1_integer()?)?;
        builder.set_subject_name(&subject.build())?;
        builder.set_issuer_name(self.authority.subject_name())?;
        builder.set_not_before(&*Asn1Time::days_from_now(0)?)?;
        builder.set_not_after(&*Asn1Time::days_from_now(DAYS)?)?;
        builder.set_pubkey(&*of.leaf.public_key()?)?;
        builder.append_extension(BasicConstraints::new().critical().build()?)?;
        builder.append_extension(ExtendedKeyUsage::new().server_auth().build()?)?;
        let context = builder.x509v3_context(Some(&self.authority), None);
        let names = SubjectAlternativeName::new().dns(name).build(&context)?;
        builder.append_extension(names)?;
        builder.sign(&self.key, self.digest())?;
        Ok(builder.build())
    }

    /// Some kinds of keys digest by themselves.
    fn digest(&self) -> MessageDigest {
        match self.key.id() {
            kind if ffi::hashes_itself(kind) => MessageDigest::null(),
            _ => MessageDigest::sha256(),
        }
    }

    /// The authority, which is sent so that clients can build the chain.
    pub(crate) fn authority(&self) -> &X509 {
        &self.authority
    }
}

impl Made {
    /// The cache is emptied when the default certificate, whose key they share, is replaced.
    fn find(&mut self, name: &[u8], of: &Arc<Certificate>) -> Option<X509> {
        if !self.of.as_ref().is_some_and(|own| Arc::ptr_eq(own, of)) {
            *self = Self { of: Some(of.clone()), ..Self::default() };
        }
        let (certificate, turn) = self.certificates.get_mut(name)?;
        let name = self.turns.remove(turn)?;
        self.turn += 1;
        *turn = self.turn;
        self.turns.insert(self.turn, name);
        Some(certificate.clone())
    }

    /// A certificate whose key differs from that of the others was made while the key was replaced,
    /// and is not kept.
    fn keep(&mut self, name: &[u8], of: &Arc<Certificate>, certificate: &X509, most: usize) {
        let current = self.of.as_ref().is_some_and(|own| Arc::ptr_eq(own, of));
        if most == 0 || !current || self.certificates.contains_key(name) {
            return;
        }
        if self.certificates.len() >= most
            && let Some((_, oldest)) = self.turns.pop_first()
        {
            self.certificates.remove(&oldest);
        }
        self.turn += 1;
        let name: Arc<[u8]> = name.into();
        self.certificates.insert(name.clone(), (certificate.clone(), self.turn));
        self.turns.insert(self.turn, name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificate::{CertificateDraft, IntermediateCache};
    use crate::dh::Exchange;
    use crate::tests::pair::{Made as Pem, ecdsa, make, rsa};
    use openssl::symm::Cipher;

    fn certificate(made: &Pem) -> Arc<Certificate> {
        let mut draft = CertificateDraft::default();
        draft.read(&made.pem(), &IntermediateCache::default()).unwrap();
        Arc::new(draft.complete("a", &Exchange::default()).unwrap())
    }

    #[test]
    fn certificates_are_made_for_names_and_kept() {
        let authority = make(&["ca"], ecdsa(), None);
        let forge = CertificateGenerator::read(&authority.pem(), None, 2).unwrap();
        let of = certificate(&make(&["a"], rsa(), None));
        let one = forge.certificate(b"x.test", &of).unwrap();
        assert!(one.verify(&authority.key).unwrap());
        assert_eq!(one.subject_alt_names().unwrap()[0].dnsname(), Some("x.test"));
        let again = |name: &[u8]| forge.certificate(name, &of).unwrap().to_der().unwrap();
        let first = one.to_der().unwrap();
        let second = again(b"y.test");
        assert_eq!(again(b"x.test"), first, "kept");
        again(b"z.test");
        assert_eq!(again(b"x.test"), first, "asked for after the other one");
        assert_ne!(again(b"y.test"), second, "forgotten");
        let other = certificate(&make(&["a"], rsa(), None));
        let key = forge.certificate(b"x.test", &other).unwrap().public_key().unwrap();
        assert!(key.public_eq(&other.leaf.public_key().unwrap()), "the key has been replaced");
    }

    #[test]
    fn certificates_made_with_a_replaced_key_are_not_kept() {
        let old = certificate(&make(&["a"], ecdsa(), None));
        let new = certificate(&make(&["a"], ecdsa(), None));
        let mut made = Made::default();
        assert!(made.find(b"x", &old).is_none());
        // Another thread asks with the new key before this one is done.
        assert!(made.find(b"x", &new).is_none());
        made.keep(b"x", &old, &old.leaf, 9);
        assert!(made.find(b"x", &new).is_none());
        made.keep(b"x", &new, &new.leaf, 9);
        assert!(made.find(b"x", &new).is_some());
    }

    #[test]
    fn any_name_is_an_answer_or_an_error() {
        let forge =
            CertificateGenerator::read(&make(&["ca"], ecdsa(), None).pem(), None, 0).unwrap();
        let of = certificate(&make(&["a"], ecdsa(), None));
        let long = [b'a'; 255];
        for name in [&b"\xff"[..], b"*", b",", b"a,DNS:b", b"x:y", &long] {
            if let Ok(made) = forge.certificate(name, &of) {
                let names = made.subject_alt_names().unwrap();
                assert_eq!(names.len(), 1);
                assert_eq!(names[0].dnsname().unwrap().as_bytes(), name);
            }
        }
        assert!(forge.made().certificates.is_empty());
    }

    #[test]
    fn an_authority_needs_its_key() {
        let authority = make(&["ca"], ecdsa(), None);
        let read =
            |text: &[u8], password| CertificateGenerator::read(text, password, 1).map(|_| ());
        assert!(read(&authority.certificate(), None).is_err());
        assert!(read(b"", None).is_err());
        let mut other = authority.certificate();
        other.extend(rsa().private_key_to_pem_pkcs8().unwrap());
        assert!(read(&other, None).is_err());
        let mut locked = authority.certificate();
        let key = &authority.key;
        locked.extend(
            key.private_key_to_pem_pkcs8_passphrase(Cipher::aes_128_cbc(), b"secret").unwrap(),
        );
        assert!(read(&locked, None).is_err() && read(&locked, Some("x")).is_err());
        assert_eq!(read(&locked, Some("secret")), Ok(()));
    }
}
