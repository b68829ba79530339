//! Tests of sessions that go on without the library's object: all answers stay, all bytes arrive.

use super::pair::{Memory, Pair, bind, connector, ecdsa, make, rsa, trusting};
use crate::{
    Acceptor, Conn, Connector, Defaults, OptionKeyword, Options, ServerSettings, SessionKind, Store,
};
use std::io::{ErrorKind, IoSlice};
use stdx::Prng;

/// A session to make.
#[derive(Clone, Copy, Debug)]
struct Case {
    ciphers: &'static str,
    is_tls13: bool,
    is_rsa: bool,
    /// The client shows a certificate.
    is_mutual: bool,
    own_records: bool,
}

/// Sessions that the record layer of this process can go on with.
const CASES: [(&str, bool, bool); 7] = [
    ("TLS_AES_128_GCM_SHA256", true, false),
    ("TLS_AES_256_GCM_SHA384", true, false),
    ("TLS_CHACHA20_POLY1305_SHA256", true, false),
    ("ECDHE-ECDSA-AES128-GCM-SHA256", false, false),
    ("ECDHE-ECDSA-AES256-GCM-SHA384", false, false),
    ("ECDHE-ECDSA-CHACHA20-POLY1305", false, false),
    ("ECDHE-RSA-AES128-GCM-SHA256", false, true),
];

fn cases() -> impl Iterator<Item = Case> {
    CASES.into_iter().flat_map(|(ciphers, is_tls13, is_rsa)| {
        [false, true].map(|is_mutual| Case {
            ciphers,
            is_tls13,
            is_rsa,
            is_mutual,
            own_records: true,
        })
    })
}

fn options(given: &[(&str, &str)]) -> Options {
    let mut options = Options::default();
    for (name, value) in given {
        OptionKeyword::find(name).unwrap().read(&mut options, value).unwrap();
    }
    options
}

/// Both sides of a bind line and a server line.
struct Sides(Acceptor, Connector);

impl Sides {
    fn new(case: Case) -> Self {
        let authority = make(&["ca"], ecdsa(), None);
        let key = if case.is_rsa { rsa() } else { ecdsa() };
        let files = Memory::default()
            .with("ca.pem", authority.certificate())
            .with("a.pem", make(&["a.test"], key, Some(&authority)).pem())
            .with("client.pem", make(&["client"], ecdsa(), Some(&authority)).pem());
        let mut line = bind(&["a.pem"], options(&[("alpn", "h2,http/1.1")]));
        if case.is_mutual {
            let given = [("verify", "required"), ("ca-file", "ca.pem"), ("alpn", "h2,http/1.1")];
            line.options = options(&given);
        }
        let mut server = ServerSettings {
            certificate: case.is_mutual.then(|| "client.pem".to_owned()),
            ..trusting()
        };
        if case.is_tls13 {
            server.options.ciphersuites = Some(case.ciphers.to_owned());
        } else {
            server.options = options(&[("force-tlsv12", ""), ("ciphers", case.ciphers)]);
            line.options.ciphers = Some(case.ciphers.to_owned());
        }
        server.options.alpn = Some(b"\x08http/1.1".to_vec());
        let defaults = Defaults {
            own_records: case.own_records,
            keeps_secrets: true,
            capture: 200,
            ..Defaults::default()
        };
        let acceptor = Acceptor::new(line, defaults, &Store::default(), &files).unwrap();
        Self(acceptor, connector(server, &files).unwrap())
    }

    /// A pair whose handshake is over.
    fn joined(&self) -> Pair {
        let mut pair = self.begun();
        let (client, server) = pair.shake();
        client.unwrap();
        server.unwrap();
        pair
    }

    fn begun(&self) -> Pair {
        let client = self.1.connect(0, Some("a.test"), None).unwrap();
        Pair::new(client, self.0.accept().unwrap())
    }
}

/// All answers of a session.
fn answers(conn: &Conn) -> Vec<(&'static str, String)> {
    let certificate = |it: Option<crate::CertificateFields>| {
        format!("{:?}", it.map(|it| (it.der(), it.sha1(), it.serial(), it.key_kind())))
    };
    let offer = conn.offer();
    vec![
        ("alpn", format!("{:?}", conn.alpn())),
        ("npn", format!("{:?}", conn.npn())),
        ("protocol", format!("{:?}", conn.protocol())),
        ("server name", format!("{:?}", conn.server_name())),
        ("version", conn.version().to_owned()),
        ("cipher", conn.cipher().to_owned()),
        ("bits", format!("{:?}", conn.cipher_bits())),
        ("resumed", conn.is_resumed().to_string()),
        ("verify result", conn.verify_result().to_string()),
        ("checked", format!("{:?}", conn.checked())),
        ("shown", conn.has_shown().to_string()),
        ("peer certificate", certificate(conn.peer_certificate())),
        ("peer chain", format!("{:?}", conn.peer_chain())),
        ("own certificate", certificate(conn.own_certificate())),
        ("session id", format!("{:?}", conn.session_id())),
        ("session key", format!("{:?}", conn.session_key())),
        ("client random", format!("{:?}", conn.client_random())),
        ("server random", format!("{:?}", conn.server_random())),
        ("unique id", format!("{:?}", conn.unique_id())),
        ("secret", format!("{:?}", conn.secret("CLIENT_RANDOM"))),
        ("client secret", format!("{:?}", conn.secret("CLIENT_TRAFFIC_SECRET_0"))),
        ("handshake secret", format!("{:?}", conn.secret("SERVER_HANDSHAKE_TRAFFIC_SECRET"))),
        ("exporter secret", format!("{:?}", conn.secret("EXPORTER_SECRET"))),
        ("offer", format!("{offer:?}")),
        ("names", conn.cipher_names(b"\x13\x01\xc0\x2b\x7a\x7a")),
        ("accepts", conn.accepts().to_string()),
        ("answered", conn.has_answered().to_string()),
        ("over", conn.is_over().to_string()),
        ("stands", conn.stands().to_string()),
        ("early", format!("{} {}", conn.is_early(), conn.was_early_taken())),
        ("failure", format!("{:?}", conn.failure())),
    ]
}

#[test]
fn every_query_is_answered_as_before() {
    for case in cases() {
        let sides = Sides::new(case);
        for resumed in [false, true] {
            let mut pair = sides.begun();
            pair.server.delay_take_over(true);
            let (client, server) = pair.shake();
            client.unwrap();
            server.unwrap();
            assert!(pair.server.library().is_some());
            let before = answers(&pair.server);
            assert_eq!(pair.server.is_resumed(), resumed, "{case:?}");
            pair.server.delay_take_over(false);
            assert!(pair.server.library().is_none(), "{case:?}");
            assert_eq!(answers(&pair.server), before, "{case:?}");
            if case.is_mutual {
                assert!(pair.server.peer_certificate().is_some(), "{case:?}");
            }
            assert_eq!(pair.server.unique_id(), pair.client.unique_id());
            assert_eq!(pair.server.client_random(), pair.client.client_random());
            exchange(&mut pair);
        }
    }
}

/// Bytes in both directions; the client reads tickets with them.
fn exchange(pair: &mut Pair) {
    let mut buffer = [0; 100];
    pair.client_send(&[IoSlice::new(b"request")]).unwrap();
    assert_eq!(pair.server_recv(&mut buffer).unwrap(), 7);
    assert_eq!(pair.server_recv(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(pair.server_send(b"response").unwrap(), 8);
    assert_eq!(pair.client_recv(&mut buffer).unwrap(), 8);
    assert_eq!(&buffer[..8], b"response");
}

#[test]
fn requests_that_arrive_with_the_handshake_are_read() {
    for case in cases() {
        let sides = Sides::new(case);
        for _ in 0..2 {
            let mut pair = sides.begun();
            while !pair.step_client() {
                pair.step_server();
            }
            let whole = vec![3; 40_000];
            assert_eq!(pair.client_send(&[IoSlice::new(&whole)]).unwrap(), 40_000);
            while !pair.step_server() {}
            assert!(pair.server.library().is_none(), "{case:?}");
            // In a full handshake of TLS 1.2 the server has the last word.
            let waits = !case.is_tls13 && !pair.server.is_resumed();
            assert_eq!(pair.server.has_buffered(), !waits, "{case:?}");
            let mut received = Vec::new();
            let mut buffer = [0; 9_000];
            while received.len() < whole.len() {
                let count = pair.server_recv(&mut buffer).unwrap();
                received.extend_from_slice(&buffer[..count]);
            }
            assert_eq!(received, whole);
            exchange(&mut pair);
        }
    }
}

#[test]
fn other_sessions_stay_with_the_library() {
    for (ciphers, is_tls13, own_records) in [
        ("ECDHE-ECDSA-AES128-SHA256", false, true),
        ("ECDHE-ECDSA-AES256-CCM", false, true),
        ("TLS_AES_128_CCM_SHA256", true, true),
        ("TLS_AES_128_GCM_SHA256", true, false),
    ] {
        let case = Case { ciphers, is_tls13, is_rsa: false, is_mutual: false, own_records };
        let mut sides = Sides::new(case);
        if is_tls13 && own_records {
            let files = Memory::default().with("a.pem", make(&["a.test"], ecdsa(), None).pem());
            let line = bind(&["a.pem"], options(&[("ciphersuites", ciphers)]));
            let defaults = Defaults { own_records, ..Defaults::default() };
            sides.0 = Acceptor::new(line, defaults, &Store::default(), &files).unwrap();
        }
        let mut pair = sides.joined();
        assert!(pair.server.library().is_some(), "{case:?}");
        exchange(&mut pair);
    }
}

#[test]
fn early_data_delays_the_change_and_does_not_prevent_it() {
    let files = Memory::default().with("a.pem", make(&["a.test"], ecdsa(), None).pem());
    let line = bind(&["a.pem"], options(&[("allow-0rtt", "")]));
    let defaults = Defaults { own_records: true, ..Defaults::default() };
    let acceptor = Acceptor::new(line, defaults, &Store::default(), &files).unwrap();
    let connector = connector(trusting(), &files).unwrap();
    let mut pair =
        Pair::new(connector.connect(0, Some("a.test"), None).unwrap(), acceptor.accept().unwrap());
    let (client, server) = pair.shake();
    client.unwrap();
    server.unwrap();
    exchange(&mut pair);
    assert!(pair.server.library().is_none(), "nothing was early");
}

#[test]
fn sessions_are_counted_by_kind() {
    // Other tests have sessions as well: only the own change is sure.
    let case = cases().next().unwrap();
    let pair = Sides::new(case).joined();
    assert!(SessionKind::Own.sessions() >= 1);
    assert!(SessionKind::Library.sessions() >= 1, "the client");
    drop(pair);
}

#[test]
fn a_changed_record_ends_the_session_with_the_words_of_the_library() {
    let mut failures = Vec::new();
    for own_records in [true, false] {
        let case = Case { own_records, ..cases().next().unwrap() };
        let mut pair = Sides::new(case).joined();
        exchange(&mut pair);
        pair.client_send(&[IoSlice::new(b"request")]).unwrap();
        *pair.up.bytes.back_mut().unwrap() ^= 1;
        let mut buffer = [0; 100];
        assert_eq!(pair.server_recv(&mut buffer).unwrap_err().kind(), ErrorKind::InvalidData);
        assert_eq!(pair.server_recv(&mut buffer).unwrap_err().kind(), ErrorKind::InvalidData);
        let _ = pair.client_recv(&mut buffer);
        failures.push((pair.server.failure().cloned(), pair.client.failure().cloned()));
    }
    assert!(failures[0].0.is_some() && failures[0].1.is_some());
    assert_eq!(failures[0], failures[1]);
}

#[test]
fn closing_is_told_in_both_directions() {
    for case in cases() {
        let mut pair = Sides::new(case).joined();
        exchange(&mut pair);
        let mut buffer = [0; 100];
        pair.client_send(&[IoSlice::new(b"last")]).unwrap();
        pair.client_close();
        assert_eq!(pair.server_recv(&mut buffer).unwrap(), 4);
        assert!(pair.server.has_buffered());
        assert_eq!(pair.server_recv(&mut buffer).unwrap(), 0);
        assert_eq!(pair.server_recv(&mut buffer).unwrap(), 0);
        pair.server_close();
        assert_eq!(pair.client_recv(&mut buffer).unwrap(), 0, "{case:?}");
    }
}

#[test]
fn a_silent_connection_is_quiet_and_data_is_kept_for_the_next_read() {
    for case in cases() {
        let mut pair = Sides::new(case).joined();
        exchange(&mut pair);
        assert!(pair.server_is_quiet());
        pair.client_send(&[IoSlice::new(b"more")]).unwrap();
        assert!(!pair.server_is_quiet());
        assert!(!pair.server_is_quiet());
        let mut buffer = [0; 3];
        assert_eq!(pair.server_recv(&mut buffer).unwrap(), 3);
        assert!(pair.server.has_buffered());
        assert_eq!(pair.server_recv(&mut buffer).unwrap(), 1);
        assert!(pair.server_is_quiet());
        pair.client_close();
        assert!(!pair.server_is_quiet());
        assert_eq!(pair.server_recv(&mut buffer).unwrap(), 0);
    }
}

/// How many random operations are made: `PROPTEST_CASES` for many.
pub(crate) fn operations() -> usize {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|it| it.parse().ok());
    cases.unwrap_or(20) * 500
}

/// Bytes that were sent and not yet received, as numbers that go on.
#[derive(Default)]
pub(crate) struct Stream {
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

impl Stream {
    /// The next bytes to send.
    pub(crate) fn next(&self, count: usize) -> Vec<u8> {
        (self.sent..self.sent + count as u64).map(|number| (number % 251) as u8).collect()
    }

    pub(crate) fn note_received(&mut self, bytes: &[u8]) {
        for byte in bytes {
            assert_eq!(u64::from(*byte), self.received % 251);
            self.received += 1;
        }
    }
}

#[test]
fn random_operations_with_the_library_at_the_other_end_lose_nothing() {
    let random = Prng::new(36);
    let cases: Vec<_> = cases().filter(|case| !case.is_mutual).collect();
    for round in 0..operations() / 500 + cases.len() {
        let mut pair = Sides::new(cases[round % cases.len()]).joined();
        let (mut up, mut down) = (Stream::default(), Stream::default());
        let mut buffer = vec![0; 40_000];
        let mut offers = [None, None];
        for _ in 0..500 {
            let size = match random.below(4) {
                0 => random.below(20),
                1 => random.below(600),
                2 => random.below(20_000),
                _ => random.below(40_000),
            } as usize;
            (pair.up.room, pair.down.room) = match random.below(3) {
                0 => (random.below(50_000) as usize, random.below(50_000) as usize),
                _ => (usize::MAX, usize::MAX),
            };
            let room = |pipe: &super::pair::Pipe| pipe.room.max(pipe.bytes.len());
            (pair.up.room, pair.down.room) = (room(&pair.up), room(&pair.down));
            match random.below(5) {
                0 => {
                    // A write that waits has to be repeated with the same bytes.
                    let count: usize = *offers[0].get_or_insert(size);
                    let bytes = up.next(count);
                    let cut = random.below(count as u32 + 1) as usize;
                    let parts = [IoSlice::new(&bytes[..cut]), IoSlice::new(&bytes[cut..])];
                    if let Ok(sent) = pair.client_send(&parts) {
                        up.sent += sent as u64;
                        offers[0] = None;
                    }
                }
                1 => {
                    let count: usize = *offers[1].get_or_insert(size);
                    let bytes = down.next(count);
                    if let Ok(sent) = pair.server_send(&bytes) {
                        down.sent += sent as u64;
                        offers[1] = None;
                    }
                }
                2 => match pair.server_recv(&mut buffer[..size]) {
                    Ok(count) => up.note_received(&buffer[..count]),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
                },
                3 => match pair.client_recv(&mut buffer[..size]) {
                    Ok(count) => down.note_received(&buffer[..count]),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
                },
                _ => {
                    pair.server_is_quiet();
                }
            }
            assert!(up.received <= up.sent + (1 << 17) && pair.server.library().is_none());
        }
    }
}
