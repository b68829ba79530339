//! Self-signed certificates in memory, and acceptors that have them.

use openssl::asn1::Asn1Time;
use openssl::ec::{EcGroup, EcKey};
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::x509::extension::SubjectAlternativeName;
use openssl::x509::{X509Builder, X509NameBuilder};
use std::io;
use std::path::Path;
use std::sync::Arc;
use tls::{Acceptor, BindSettings, CrtListEntry, Defaults, Files, Options, Store};

/// The kind of a certificate's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// On the curve P-256: generated in a millisecond.
    Ec,
    /// RSA: signatures have a fixed length, so that the sizes of a handshake do not depend on
    /// chance.
    Rsa,
}

/// Files by name: certificates with their keys.
#[derive(Clone, Debug)]
pub struct MemoryFiles(Vec<(String, Vec<u8>)>);

impl MemoryFiles {
    /// A self-signed certificate for each name, in a file of that name.
    pub fn self_signed(names: &[&str], key: KeyKind) -> Self {
        let file = |name: &&str| {
            let pem = self_signed(name, key).expect("the library makes certificates");
            ((*name).to_owned(), pem)
        };
        Self(names.iter().map(file).collect())
    }
}

impl Files for MemoryFiles {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let file = self.0.iter().find(|(name, _)| path == Path::new(name));
        file.map(|(_, bytes)| bytes.clone()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn list(&self, path: &Path) -> io::Result<Option<Vec<String>>> {
        self.read(path).map(|_| None)
    }
}

/// A bind line with all certificates of `files`, the first of which is the default.
///
/// # Panics
/// The options are invalid.
pub fn acceptor(files: &MemoryFiles, options: Options) -> Arc<Acceptor> {
    let entry = |(name, _): &(String, Vec<u8>)| CrtListEntry {
        path: name.clone(),
        ..CrtListEntry::default()
    };
    let certificates = files.0.iter().map(entry).collect();
    let settings = BindSettings { certificates, options, ..BindSettings::default() };
    let acceptor = Acceptor::new(settings, Defaults::default(), &Store::default(), files);
    Arc::new(acceptor.expect("valid options"))
}

/// A certificate with its key (PEM).
fn self_signed(name: &str, key: KeyKind) -> Result<Vec<u8>, ErrorStack> {
    let key = private_key(key)?;
    let mut subject = X509NameBuilder::new()?;
    subject.append_entry_by_nid(Nid::COMMONNAME, name)?;
    let subject = subject.build();
    let mut builder = X509Builder::new()?;
    builder.set_version(2)?;
    builder.set_subject_name(&subject)?;
    builder.set_issuer_name(&subject)?;
    builder.set_not_before(&*Asn1Time::days_from_now(0)?)?;
    builder.set_not_after(&*Asn1Time::days_from_now(2)?)?;
    builder.set_pubkey(&key)?;
    let mut alternative = SubjectAlternativeName::new();
    let alternative = alternative.dns(name).build(&builder.x509v3_context(None, None))?;
    builder.append_extension(alternative)?;
    builder.sign(&key, MessageDigest::sha256())?;
    Ok([builder.build().to_pem()?, key.private_key_to_pem_pkcs8()?].concat())
}

fn private_key(kind: KeyKind) -> Result<PKey<Private>, ErrorStack> {
    match kind {
        KeyKind::Ec => {
            let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1)?;
            PKey::from_ec_key(EcKey::generate(&group)?)
        }
        KeyKind::Rsa => PKey::from_rsa(Rsa::generate(2_048)?),
    }
}
