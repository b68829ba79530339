//! A certificate for tests, and what listeners, servers, clients and origins make of it.

use openssl::asn1::Asn1Time;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::PKey;
use openssl::rsa::Rsa;
use openssl::x509::extension::SubjectAlternativeName;
use openssl::x509::{X509Builder, X509NameBuilder};
use sim::peers::ClientTls;
use std::io;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use tls::{Acceptor, BindSettings, Connector, CrtListEntry, Defaults, Files, Options, Store};

/// The name in the certificate.
pub(crate) const NAME: &str = "sim.example";

/// A certificate that signs itself, and its key. RSA signatures have a fixed length, so that the
/// sizes of a handshake do not depend on chance.
static CERTIFICATE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let key = PKey::from_rsa(Rsa::generate(2_048).unwrap()).unwrap();
    let mut subject = X509NameBuilder::new().unwrap();
    subject.append_entry_by_nid(Nid::COMMONNAME, NAME).unwrap();
    let subject = subject.build();
    let mut builder = X509Builder::new().unwrap();
    builder.set_version(2).unwrap();
    builder.set_subject_name(&subject).unwrap();
    builder.set_issuer_name(&subject).unwrap();
    builder.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::days_from_now(2).unwrap()).unwrap();
    builder.set_pubkey(&key).unwrap();
    let mut alternative = SubjectAlternativeName::new();
    let alternative = alternative.dns(NAME).build(&builder.x509v3_context(None, None)).unwrap();
    builder.append_extension(alternative).unwrap();
    builder.sign(&key, MessageDigest::sha256()).unwrap();
    [builder.build().to_pem().unwrap(), key.private_key_to_pem_pkcs8().unwrap()].concat()
});

/// The only file.
struct OneFile;

impl Files for OneFile {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match path.to_str() {
            Some(NAME) => Ok(CERTIFICATE.clone()),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn list(&self, path: &Path) -> io::Result<Option<Vec<String>>> {
        self.read(path).map(|_| None)
    }
}

/// The server's side of TLS, with these protocols.
pub(crate) fn acceptor(alpn: &[u8]) -> Arc<Acceptor> {
    let options = Options { alpn: Some(alpn.to_vec()), ..Options::default() };
    let certificate = CrtListEntry { path: NAME.to_owned(), ..CrtListEntry::default() };
    let settings =
        BindSettings { certificates: vec![certificate], options, ..BindSettings::default() };
    let made = Acceptor::new(settings, Defaults::default(), &Store::default(), &OneFile);
    Arc::new(made.unwrap())
}

/// A client's side of TLS, with this protocol, for a machine of so many threads.
pub(crate) fn connector(alpn: &[u8], threads: usize) -> Arc<Connector> {
    let options = Options { alpn: Some(alpn.to_vec()), ..Options::default() };
    let settings = tls::ServerSettings { verify: false, options, ..tls::ServerSettings::default() };
    let defaults = Defaults { threads, ..Defaults::default() };
    Arc::new(Connector::new(settings, defaults, &Store::default(), &OneFile).unwrap())
}

/// TLS of scripted clients.
pub(crate) fn client_tls() -> ClientTls {
    ClientTls { connector: connector(b"\x08http/1.1", 1), name: NAME.to_owned() }
}
