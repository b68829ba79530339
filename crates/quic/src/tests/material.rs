//! Certificates, files and acceptors for tests.

use openssl::asn1::Asn1Time;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::PKey;
use openssl::x509::extension::SubjectAlternativeName;
use openssl::x509::{X509Builder, X509NameBuilder};
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use tls::{Acceptor, BindSettings, CrtListEntry, Defaults, Files, Options, Store};

/// Files in memory.
struct Memory(HashMap<String, Vec<u8>>);

impl Files for Memory {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let name = path.to_str().unwrap();
        self.0.get(name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn list(&self, path: &Path) -> io::Result<Option<Vec<String>>> {
        match self.0.contains_key(path.to_str().unwrap()) {
            true => Ok(None),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// A certificate for a name that signs itself, and its key.
fn certificate(name: &str) -> Vec<u8> {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    let key = PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap();
    let mut subject = X509NameBuilder::new().unwrap();
    subject.append_entry_by_nid(Nid::COMMONNAME, name).unwrap();
    let subject = subject.build();
    let mut builder = X509Builder::new().unwrap();
    builder.set_version(2).unwrap();
    builder.set_subject_name(&subject).unwrap();
    builder.set_issuer_name(&subject).unwrap();
    builder.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::days_from_now(2).unwrap()).unwrap();
    builder.set_pubkey(&key).unwrap();
    let mut alternative = SubjectAlternativeName::new();
    let alternative = alternative.dns(name).build(&builder.x509v3_context(None, None)).unwrap();
    builder.append_extension(alternative).unwrap();
    builder.sign(&key, MessageDigest::sha256()).unwrap();
    [builder.build().to_pem().unwrap(), key.private_key_to_pem_pkcs8().unwrap()].concat()
}

/// A bind line with certificates for these names, the first of which is the default.
pub(super) fn acceptor(names: &[&str], change: impl FnOnce(&mut Options)) -> Arc<Acceptor> {
    let mut options = Options { alpn: Some(b"\x02h3".to_vec()), ..Options::default() };
    change(&mut options);
    let files = names.iter().map(|name| ((*name).to_owned(), certificate(name))).collect();
    let listed = |name: &&str| CrtListEntry { path: (*name).to_owned(), ..CrtListEntry::default() };
    let certificates = names.iter().map(listed).collect();
    let settings = BindSettings { certificates, options, ..BindSettings::default() };
    let made = Acceptor::new(settings, Defaults::default(), &Store::default(), &Memory(files));
    Arc::new(made.unwrap())
}
