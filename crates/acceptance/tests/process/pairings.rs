//! Requests and answers mean the same over every protocol of clients and servers, clear or
//! encrypted: one table of behaviours for every pairing.
//!
//! A frontend passes all requests to another frontend of the same program, over the protocols of
//! the pairing; that frontend has a scripted HTTP/1 origin.

use crate::support::{Client, Heard, Identity, Message, Origin, Running, Setup, Talker, reply};
use mux::BodyKind;

/// A version of HTTP, and whether it is encrypted.
#[derive(Clone, Copy, Debug)]
struct Side {
    version: u8,
    encrypted: bool,
}

/// The protocols and encryption of a pairing.
struct Bench {
    front: Side,
    weir: Running,
    origin: Origin,
}

impl Bench {
    fn new(front: Side, back: Side) -> Self {
        let origin = Origin::new(|mut peer| {
            while let Some(request) = peer.client.try_head() {
                if !answer(&mut peer.client, request) {
                    return;
                }
            }
        });
        let key = " ssl crt <dir>/key.pem alpn h2,http/1.1";
        let line = |side: Side| if side.encrypted { key } else { "" };
        let server = match (back.encrypted, back.version) {
            (true, 1) => "ssl verify none alpn http/1.1",
            (true, _) => "ssl verify none alpn h2,http/1.1 ws h2",
            (false, 1) => "",
            (false, _) => "proto h2",
        };
        let (front_line, back_line) = (line(front), line(back));
        let text = format!(
            "global\n    nbthread 1\ndefaults\n    mode http\n    timeout connect 5s\n    \
             timeout client 20s\n    timeout server 20s\n    retries 1\n    option redispatch\n\
             listen web\n    bind <web>{front_line}\n    \
             server dead 127.0.0.1:1 {server}\n    server s <inner> {server}\n    \
             balance first\n\
             listen inner\n    bind <inner>{back_line}\n    \
             http-request set-header x-version %[fc_http_major]\n    server s <origin>\n"
        );
        let setup = Setup::new(&text).file("key.pem", &Identity::new("a.test", None).pem());
        let weir = setup.with("origin", origin.address()).start();
        Self { front, weir, origin }
    }

    fn client(&self) -> Talker {
        Talker::connect(self.weir.address("web"), self.front.version, self.front.encrypted)
    }
}

/// The origin's behaviour by path; `false` ends the connection.
fn answer(client: &mut Client, request: Message) -> bool {
    let whole = |client: &mut Client| client.finish(request.clone(), false);
    let version = request.header("x-version").unwrap_or_default().to_owned();
    match request.target() {
        "/echo" => {
            let request = whole(client);
            let trailers = request.trailers.join("|");
            let said = format!("{} {} {trailers}", request.body.len(), sum(&request.body));
            client.send(reply("200 OK", &said));
        }
        "/chunks" => {
            client.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n");
            client.send("6\r\n world\r\n0\r\nx-sum: 11\r\nx-end: yes\r\n\r\n");
        }
        "/big" => {
            let body = vec![b'x'; 300_000];
            client.send(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len()));
            client.send(body);
        }
        "/early" => {
            client.send("HTTP/1.1 413 Payload Too Large\r\ncontent-length: 3\r\n\r\nno\n");
            return false;
        }
        "/cut" => {
            client.send("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this");
            return false;
        }
        "/hints" => {
            client.send("HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n");
            client.send(reply("200 OK", &version));
        }
        "/none" => client.send("HTTP/1.1 204 No Content\r\n\r\n"),
        "/same" => client.send("HTTP/1.1 304 Not Modified\r\netag: \"a\"\r\n\r\n"),
        "/upgrade" => {
            assert_eq!(request.header("upgrade"), Some("custom"));
            client.send("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\n");
            client.send("upgrade: custom\r\n\r\nwelcome");
            let heard = client.take(4);
            client.send(heard);
            return false;
        }
        "/head" => client.send("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n"),
        _ => client.send(reply("200 OK", &version)),
    }
    true
}

fn sum(body: &[u8]) -> u64 {
    body.iter().map(|byte| u64::from(*byte)).sum()
}

/// A behaviour: its name, the client's actions, and the expected answers.
type Behaviour = (&'static str, fn(&Bench));

const BEHAVIOURS: &[Behaviour] = &[
    ("a dead server is passed over", |bench| {
        let heard = bench.client().ask("GET /", &[]);
        assert_eq!((heard.status, heard.whole), (200, true));
    }),
    ("bodies with a length", |bench| {
        let body = vec![7; 200_000];
        let mut client = bench.client();
        client.begin("POST /echo", &[], BodyKind::Length(body.len() as u64));
        client.say(&body);
        client.end(&[]);
        assert_eq!(text(&client.hear()), "200000 1400000 ");
    }),
    ("bodies in pieces, with trailers", |bench| {
        let mut client = bench.client();
        client.begin("POST /echo", &[("te", "trailers")], BodyKind::Chunked);
        client.say(b"abc");
        client.say(b"def");
        client.end(&[("x-check", "one"), ("x-more", "two")]);
        assert_eq!(text(&client.hear()), "6 597 x-check: one|x-more: two");
    }),
    ("answers in pieces, with trailers", |bench| {
        let heard = bench.client().ask("GET /chunks", &[]);
        assert_eq!(text(&heard), "hello world");
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(heard.trailers, [pair("x-sum", "11"), pair("x-end", "yes")]);
        assert!(heard.whole);
    }),
    ("answers larger than any window", |bench| {
        let heard = bench.client().ask("GET /big", &[]);
        assert_eq!((heard.body.len(), heard.whole), (300_000, true));
        assert_eq!(heard.header("content-length"), Some("300000"));
    }),
    ("answers before the request is complete", |bench| {
        let mut client = bench.client();
        client.begin("POST /early", &[], BodyKind::Length(1_000_000));
        client.say(&[0; 1_000]);
        let heard = client.hear();
        assert_eq!((heard.status, text(&heard)), (413, "no\n".to_owned()));
    }),
    ("answers that are cut short", |bench| {
        let heard = bench.client().ask("GET /cut", &[]);
        assert_eq!((heard.status, heard.whole), (200, false));
    }),
    ("interim answers", |bench| {
        let heard = bench.client().ask("GET /hints", &[]);
        assert_eq!((heard.interim, heard.status), (vec![103], 200));
    }),
    ("answers without a body", |bench| {
        let mut client = bench.client();
        for (line, status) in [("GET /none", 204), ("GET /same", 304), ("HEAD /head", 200)] {
            let heard = client.ask(line, &[]);
            assert_eq!((heard.status, heard.body.len(), heard.whole), (status, 0, true), "{line}");
        }
        assert_eq!(client.ask("GET /", &[]).status, 200, "the connection goes on");
    }),
    ("upgrades", |bench| {
        let mut client = bench.client();
        client.begin(
            "GET /upgrade",
            &[("connection", "upgrade"), ("upgrade", "custom")],
            BodyKind::None,
        );
        let heard = client.hear();
        assert_eq!((heard.status, heard.header("upgrade")), (101, Some("custom")));
        assert_eq!(client.take(7), b"welcome");
        client.say(b"echo");
        assert_eq!(client.take(4), b"echo");
    }),
    ("a client that leaves takes its request along", |bench| {
        let mut client = bench.client();
        client.begin("POST /echo", &[], BodyKind::Length(1_000));
        client.say(b"some");
        drop(client);
        let heard = bench.client().ask("GET /", &[]);
        assert_eq!(heard.status, 200);
    }),
];

fn text(heard: &Heard) -> String {
    String::from_utf8_lossy(&heard.body).into_owned()
}

fn pair(front: Side, back: Side) {
    let bench = Bench::new(front, back);
    let heard = bench.client().ask("GET /", &[]);
    assert_eq!(text(&heard), back.version.to_string(), "what is spoken behind {front:?}");
    for (name, behave) in BEHAVIOURS {
        let behaves = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| behave(&bench)));
        assert!(behaves.is_ok(), "{name}: {front:?} in front of {back:?}");
    }
    assert!(bench.origin.connections() > 0);
}

const H1: Side = Side { version: 1, encrypted: false };
const H2: Side = Side { version: 2, encrypted: false };
const H1_TLS: Side = Side { version: 1, encrypted: true };
const H2_TLS: Side = Side { version: 2, encrypted: true };
const ALL: [Side; 4] = [H1, H2, H1_TLS, H2_TLS];

#[test]
fn every_client_with_clear_servers_of_http_1() {
    ALL.into_iter().for_each(|front| pair(front, H1));
}

#[test]
fn every_client_with_clear_servers_of_http_2() {
    ALL.into_iter().for_each(|front| pair(front, H2));
}

#[test]
fn every_client_with_encrypted_servers_of_http_1() {
    ALL.into_iter().for_each(|front| pair(front, H1_TLS));
}

#[test]
fn every_client_with_encrypted_servers_of_http_2() {
    ALL.into_iter().for_each(|front| pair(front, H2_TLS));
}
