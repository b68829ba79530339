//! Sessions without the library's object, with rustls as the client: another implementation of
//! records, which changes its keys.

use super::own_records::{Stream, operations};
use super::pair::{Memory, bind, ecdsa, make};
use crate::{Acceptor, Conn, Defaults, Options, Scratch, Step, Store, Wire};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, ClientConnection, RootCertStore, SupportedCipherSuite};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::sync::Arc;
use stdx::Prng;

/// Bytes to and from the client.
#[derive(Default)]
struct Queues {
    up: VecDeque<u8>,
    down: VecDeque<u8>,
}

impl Wire for Queues {
    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.up.read(buffer)? {
            0 => Err(ErrorKind::WouldBlock.into()),
            count => Ok(count),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.down.write(bytes)
    }
}

struct Session {
    client: ClientConnection,
    server: Conn,
    queues: Queues,
    scratch: Scratch,
}

/// An acceptor, and the certificate of its authority.
fn acceptor() -> (Acceptor, Vec<u8>) {
    let authority = make(&["ca"], ecdsa(), None);
    let leaf = make(&["a.test"], ecdsa(), Some(&authority));
    let files = Memory::default().with("a.pem", leaf.pem());
    let defaults = Defaults { own_records: true, ..Defaults::default() };
    let line = bind(&["a.pem"], Options::default());
    let acceptor = Acceptor::new(line, defaults, &Store::default(), &files).unwrap();
    (acceptor, authority.certificate.to_der().unwrap())
}

impl Session {
    fn new((acceptor, authority): &(Acceptor, Vec<u8>), suite: SupportedCipherSuite) -> Self {
        let mut provider = rustls::crypto::ring::default_provider();
        provider.cipher_suites = vec![suite];
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(authority.clone())).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(&[suite.version()])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let client = ClientConnection::new(Arc::new(config), "a.test".try_into().unwrap()).unwrap();
        let server = acceptor.accept().unwrap();
        let (queues, scratch) = Default::default();
        let mut session = Self { client, server, queues, scratch };
        for _ in 0..10 {
            session.client_output();
            let step = session.server.handshake(&mut session.queues, &session.scratch).unwrap();
            session.client_input();
            if step == Step::Done && !session.client.is_handshaking() {
                assert!(session.server.library().is_none(), "{suite:?}");
                return session;
            }
        }
        panic!("the handshake does not end");
    }

    /// Sends what the client has to send.
    fn client_output(&mut self) {
        while self.client.wants_write() {
            self.client.write_tls(&mut self.queues.up).unwrap();
        }
    }

    /// The client receives all that was sent to it.
    fn client_input(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        while !self.queues.down.is_empty() {
            self.client.read_tls(&mut self.queues.down).unwrap();
            let state = self.client.process_new_packets().unwrap();
            let mut plain = vec![0; state.plaintext_bytes_to_read()];
            self.client.reader().read_exact(&mut plain).unwrap();
            all.extend(plain);
        }
        all
    }

    fn server_recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.server.recv(&mut self.queues, &self.scratch, buffer)
    }
}

#[test]
fn random_operations_with_rustls_as_client_lose_nothing() {
    let random = Prng::new(8_446);
    let acceptor = acceptor();
    let suites = rustls::crypto::ring::ALL_CIPHER_SUITES;
    let suites: Vec<_> = suites.iter().filter(|it| !format!("{it:?}").contains("RSA")).collect();
    assert_eq!(suites.len(), 6);
    for round in 0..operations() / 500 + suites.len() {
        let suite = *suites[round % suites.len()];
        let mut session = Session::new(&acceptor, suite);
        let (mut up, mut down) = (Stream::default(), Stream::default());
        let mut buffer = vec![0; 40_000];
        for _ in 0..500 {
            let size = match random.below(3) {
                0 => random.below(50),
                1 => random.below(2_000),
                _ => random.below(40_000),
            } as usize;
            match random.below(6) {
                0 => {
                    let sent = session.client.writer().write(&up.next(size)).unwrap();
                    up.sent += sent as u64;
                    session.client_output();
                }
                1 => {
                    let bytes = down.next(size);
                    let parts = [IoSlice::new(&bytes)];
                    let sent =
                        session.server.send(&mut session.queues, &session.scratch, &parts).unwrap();
                    down.sent += sent as u64;
                }
                2 | 3 => match session.server_recv(&mut buffer[..size]) {
                    Ok(count) => up.note_received(&buffer[..count]),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
                },
                4 => down.note_received(&session.client_input()),
                _ if suite.tls13().is_some() && random.below(4) == 0 => {
                    session.client.refresh_traffic_keys().unwrap();
                    session.client_output();
                }
                _ => {}
            }
        }
        down.note_received(&session.client_input());
        assert_eq!(down.received, down.sent, "{suite:?}");
        loop {
            match session.server_recv(&mut buffer) {
                Ok(count) => up.note_received(&buffer[..count]),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WouldBlock);
                    break;
                }
            }
        }
        assert_eq!(up.received, up.sent, "{suite:?}");
        session.client.send_close_notify();
        session.client_output();
        assert_eq!(session.server_recv(&mut buffer).unwrap(), 0);
        session.server.close(&mut session.queues, &session.scratch);
        session.client.read_tls(&mut session.queues.down).unwrap();
        assert!(session.client.process_new_packets().unwrap().peer_has_closed());
    }
}
