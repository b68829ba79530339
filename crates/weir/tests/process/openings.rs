//! What goes before the first byte at listeners that belong to no proxy: those of `log-forward`
//! sections. Never frontends, which have tests of their own.

use crate::support::{Identity, LogReceiver, PATIENCE, Running, Secure, Setup};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

const V1: &[u8] = b"PROXY TCP4 1.2.3.4 5.6.7.8 42 1337\r\n";

/// A NetScaler header with the magic number 1234.
fn netscaler() -> Vec<u8> {
    let mut headers = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    headers.extend([0, 42, 5, 57]);
    headers.resize(40, 0);
    [&1234_u32.to_be_bytes()[..], &40_u32.to_be_bytes(), &headers].concat()
}

/// Who signs, the server and a client.
struct People {
    authority: Identity,
    server: Identity,
    client: Identity,
}

impl People {
    fn new() -> Self {
        let authority = Identity::new("authority", None);
        let [server, client] = ["a.test", "operator"].map(|it| Identity::new(it, Some(&authority)));
        Self { authority, server, client }
    }

    fn files(&self, setup: Setup) -> Setup {
        setup.file("ca.pem", &self.authority.certificate()).file("a.pem", &self.server.pem())
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("a listener");
    stream.set_read_timeout(Some(PATIENCE)).expect("a stream");
    stream
}

const DEMANDING: &str = "ssl crt <dir>/a.pem ca-file <dir>/ca.pem verify required";

/// A connection that has sent its header.
fn announced(address: SocketAddr) -> TcpStream {
    let mut stream = connect(address);
    stream.write_all(V1).expect("it is read");
    stream
}

fn forward(options: &str, files: impl Fn(Setup) -> Setup) -> (Running, LogReceiver) {
    let log = LogReceiver::new();
    let setup = Setup::new(&format!(
        "global\n    nbthread 2\nlog-forward others\n    bind <tcp> {options}\n    \
         timeout client 5s\n    log <log> format raw local0\n"
    ));
    (files(setup).with("log", log.address()).start(), log)
}

#[test]
fn logs_of_others_come_through_tls_behind_a_header() {
    let people = People::new();
    let (weir, log) = forward(&format!("accept-proxy {DEMANDING}"), |it| people.files(it));
    let show = |it: &mut _| Secure::show(it, &people.client);
    let address = weir.address("tcp");
    let mut secure = Secure::try_over(announced(address), "a.test", show).expect("TLS");
    secure.0.write_all(b"<13>one\n").expect("it is read");
    assert_eq!(log.line(), "one");
    assert!(Secure::try_connect(address, "a.test", show).is_err(), "without a header");
    let mut clear = announced(address);
    clear.write_all(b"<13>in the clear\n").expect("it is read");
    assert!(clear.read_to_end(&mut Vec::new()).is_ok_and(|count| count < 10), "it is closed");
    secure.0.write_all(b"<13>two\n").expect("it is read");
    assert_eq!(log.line(), "two", "nothing of the others");
}

#[test]
fn logs_of_others_may_come_behind_headers_of_both_kinds() {
    let (weir, log) = forward("accept-netscaler-cip 1234 accept-proxy proto none", |it| it);
    let mut stream = connect(weir.address("tcp"));
    let words = [&netscaler(), V1, b"<13>one\n<13>two\n<13>"].concat();
    stream.write_all(&words).expect("it is read");
    assert_eq!([log.line(), log.line()], ["one", "two"]);
    stream.write_all(b"three\n").expect("it is read");
    assert_eq!(log.line(), "three");
}
