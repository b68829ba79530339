//! A certificate for tests, and what listeners, servers, clients and origins make of it.

use sim::peers::ClientTls;
use std::sync::{Arc, LazyLock};
use testkit::certificates::{self, KeyKind, MemoryFiles};
use tls::{Acceptor, Connector, Defaults, Options, Store};

/// The name in the certificate.
pub(crate) const NAME: &str = "sim.example";

/// The certificate with its key.
static FILES: LazyLock<MemoryFiles> =
    LazyLock::new(|| MemoryFiles::self_signed(&[NAME], KeyKind::Rsa));

/// The server's side of TLS, with these protocols.
pub(crate) fn acceptor(alpn: &[u8]) -> Arc<Acceptor> {
    let options = Options { alpn: Some(alpn.to_vec()), ..Options::default() };
    certificates::acceptor(&FILES, options)
}

/// A client's side of TLS, with this protocol, for a machine of so many threads.
pub(crate) fn connector(alpn: &[u8], threads: usize) -> Arc<Connector> {
    let options = Options { alpn: Some(alpn.to_vec()), ..Options::default() };
    let settings = tls::ServerSettings { verify: false, options, ..tls::ServerSettings::default() };
    let defaults = Defaults { threads, ..Defaults::default() };
    Arc::new(Connector::new(settings, defaults, &Store::default(), &*FILES).unwrap())
}

/// TLS of scripted clients.
pub(crate) fn client_tls() -> ClientTls {
    ClientTls { connector: connector(b"\x08http/1.1", 1), name: NAME.to_owned() }
}
