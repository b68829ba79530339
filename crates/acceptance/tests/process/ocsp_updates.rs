//! OCSP responses that are fetched from their authorities (`ocsp-update`), against a responder that
//! answers as a test says.

use crate::support::{
    Identity, LogReceiver, Message, Origin, PATIENCE, Running, Setup, eventually, nobody,
    serve_forever,
};
use openssl::ssl::{SslConnector, SslMethod, SslVerifyMode, StatusType};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A value in the distinguished encoding.
fn der(tag: u8, contents: &[u8]) -> Vec<u8> {
    let length = contents.len();
    let mut all = vec![tag];
    match length {
        0..0x80 => all.push(length as u8),
        0x80..0x100 => all.extend([0x81, length as u8]),
        _ => all.extend([0x82, (length >> 8) as u8, length as u8]),
    }
    all.extend_from_slice(contents);
    all
}

/// The contents of a value.
fn contents(value: &[u8]) -> &[u8] {
    let skipped = if value[1] < 0x80 { 2 } else { 2 + usize::from(value[1] & 0x7f) };
    &value[skipped..]
}

/// The state of a certificate (RFC 6960 section 4.2.1).
#[derive(Clone, Copy)]
enum State {
    Good,
    Revoked,
    Unknown,
}

/// A response about the certificate of this identifier, good until a date.
fn response(id: &[u8], state: State, until: &str, by: &Identity) -> Vec<u8> {
    let date = |text: &str| der(0x18, text.as_bytes());
    let since = date("20200101000000Z");
    let state = match state {
        State::Good => der(0x80, &[]),
        State::Revoked => der(0xa1, &since),
        State::Unknown => der(0x82, &[]),
    };
    let single = [id.to_vec(), state, since.clone(), der(0xa0, &date(until))].concat();
    let responses = der(0x30, &der(0x30, &single));
    let data = der(0x30, &[der(0xa1, &by.subject()), since, responses].concat());
    // ecdsa-with-SHA256 (RFC 5758 section 3.2).
    let method = der(0x30, &der(0x06, &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2]));
    let signature = der(0x03, &[&[0], &by.sign(&data)[..]].concat());
    let basic = der(0x30, &[data, method, signature].concat());
    // id-pkix-ocsp-basic.
    let kind = der(0x06, &[0x2b, 6, 1, 5, 5, 7, 0x30, 1, 1]);
    let bytes = der(0x30, &[kind, der(0x04, &basic)].concat());
    der(0x30, &[der(0x0a, &[0]), der(0xa0, &bytes)].concat())
}

/// The certificate identifier in a query, which a GET has in its path.
fn asked(request: &Message) -> Vec<u8> {
    let path = request.target().rsplit('/').next().expect("a path");
    let text = path.replace("%2B", "+").replace("%2F", "/").replace("%3D", "=");
    let query = openssl::base64::decode_block(&text).expect("base64");
    (0..4).fold(&query[..], |value, _| contents(value)).to_vec()
}

fn reply(kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// An authority, its responder, and the number of queries so far.
struct Scene {
    authority: Arc<Identity>,
    responder: Origin,
}

const TYPE: &str = "application/ocsp-response";
const FOREVER: &str = "20991231235959Z";

impl Scene {
    /// A responder whose script makes an answer of the authority, the number of the query and the
    /// identifier that is asked for.
    fn new(script: impl Fn(&Identity, usize, &[u8]) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let authority = Arc::new(Identity::new("authority", None));
        let (own, count) = (authority.clone(), AtomicUsize::new(0));
        let responder = Origin::new(move |peer| {
            serve_forever(peer, |request| {
                script(&own, count.fetch_add(1, Relaxed), &asked(request))
            });
        });
        Self { authority, responder }
    }

    fn url(&self) -> String {
        format!("http://{}/ocsp", self.responder.address())
    }

    /// A listener with a certificate of the authority that names this URL.
    fn setup(&self, url: &str, global: &str, words: &str, list: &str) -> Setup {
        let leaf = Identity::with_responder("a.test", &self.authority, url);
        Setup::new(&format!(
            "global\n    nbthread 2\n    stats socket <dir>/cli level admin\n    crt-base <dir>\n\
             {global}defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    \
             timeout server 20s\nfrontend web\n    bind <web> ssl {words}\n    \
             http-request return status 200\n"
        ))
        .file("a.pem", &(leaf.pem() + &self.authority.certificate()))
        .file("list", list)
    }

    fn start(&self, global: &str) -> Running {
        self.setup(&self.url(), global, LIST, "a.pem [ocsp-update on]\n").start()
    }
}

const LIST: &str = "crt-list <dir>/list";

/// The response that a client gets in its handshake.
fn stapled(address: SocketAddr) -> Option<Vec<u8>> {
    let mut builder = SslConnector::builder(SslMethod::tls()).expect("a context");
    builder.set_verify(SslVerifyMode::NONE);
    let mut config = builder.build().configure().expect("a session");
    config.set_verify_hostname(false);
    config.set_status_type(StatusType::OCSP).expect("a request for a response");
    let stream = TcpStream::connect_timeout(&address, PATIENCE).expect("a listener");
    let session = config.connect("a.test", stream).expect("a handshake");
    session.ssl().ocsp_status().filter(|it| !it.is_empty()).map(<[u8]>::to_vec)
}

/// The columns of the only update, once one has ended so.
fn update(weir: &Running, end: &str) -> Vec<String> {
    eventually(end, || {
        let shown = weir.cli("show ssl ocsp-updates");
        let row = shown.lines().find(|line| line.ends_with(&format!("| {end}")))?;
        Some(row.split(" | ").map(str::to_owned).collect())
    })
}

/// The response that is held for the certificate, as people read it.
fn held(weir: &Running, id: &str) -> String {
    weir.cli(&format!("show ssl ocsp-response {id}"))
}

#[test]
fn a_good_response_is_fetched_at_the_start_stapled_shown_and_logged() {
    let scene = Scene::new(|own, _, id| reply(TYPE, &response(id, State::Good, FOREVER, own)));
    let log = LogReceiver::new();
    let global = "    log <log> format raw local0\n";
    let setup = scene.setup(&scene.url(), global, LIST, "a.pem [ocsp-update on]\n");
    let weir = setup.with("log", log.address()).start();
    let row = update(&weir, "Update successful");
    assert_eq!(row[1], weir.path("a.pem").display().to_string());
    assert_eq!(row[4..7], ["1", "0", "1"]);
    assert!(row[2].ends_with(" +0000") && row[3].ends_with(" +0000"), "{row:?}");
    assert!(held(&weir, &row[0]).contains("Cert Status: good"), "{}", held(&weir, &row[0]));
    assert!(stapled(weir.address("web")).is_some());
    let line = log.find("<OCSP-UPDATE>");
    assert!(line.contains(&format!("{} 1 \"Update successful\" 0 1", row[1])), "{line}");
    let query = scene.responder.request(0);
    assert!(query.start.starts_with("GET /ocsp/"), "{}", query.start);
    assert_eq!(scene.responder.requests().len(), 1);
}

#[test]
fn clients_are_told_that_the_certificate_is_revoked() {
    let scene = Scene::new(|own, _, id| reply(TYPE, &response(id, State::Revoked, FOREVER, own)));
    let weir = scene.start("");
    let row = update(&weir, "Update successful");
    assert!(held(&weir, &row[0]).contains("Cert Status: revoked"));
    assert!(stapled(weir.address("web")).is_some());
}

/// A script of a responder, and how an update with it ends.
type Failure = (fn(&Identity, usize, &[u8]) -> Vec<u8>, &'static str, &'static str);

const FAILURES: &[Failure] = &[
    (|_, _, _| reply(TYPE, b"garbage"), "4", "OCSP response check failure"),
    (|_, _, _| reply(TYPE, b""), "4", "OCSP response check failure"),
    (|_, _, _| reply(TYPE, &vec![0x30; 100_000]), "4", "OCSP response check failure"),
    (
        |own, _, id| reply(TYPE, &response(id, State::Good, "20200102000000Z", own)),
        "4",
        "OCSP response check failure",
    ),
    (
        |own, _, id| reply(TYPE, &response(id, State::Unknown, FOREVER, own)),
        "4",
        "OCSP response check failure",
    ),
    (
        |_, _, id| {
            let other = Identity::new("authority", None);
            reply(TYPE, &response(id, State::Good, FOREVER, &other))
        },
        "4",
        "OCSP response check failure",
    ),
    (
        |own, _, id| {
            let mut other = id.to_vec();
            *other.last_mut().expect("a serial number") ^= 1;
            reply(TYPE, &response(&other, State::Good, FOREVER, own))
        },
        "4",
        "OCSP response check failure",
    ),
    (|_, _, _| reply("text/html", b"<p>"), "3", "Missing \"ocsp-response\" header"),
    (|_, _, _| b"HTTP/1.1 500 E\r\ncontent-length: 0\r\n\r\n".to_vec(), "2", "HTTP error"),
    (|_, _, _| b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx".to_vec(), "3", "Missing"),
];

#[test]
fn answers_that_are_no_valid_response_are_not_stapled() {
    for (script, number, text) in FAILURES {
        let scene = Scene::new(script);
        let weir = scene.start("");
        let row = eventually(text, || {
            let shown = weir.cli("show ssl ocsp-updates");
            let row = shown.lines().find(|line| line.contains(&format!("| {number} | {text}")))?;
            Some(row.split(" | ").map(str::to_owned).collect::<Vec<_>>())
        });
        assert_eq!((&*row[3], &*row[4]), ("-", "0"), "{text}");
        assert_eq!(stapled(weir.address("web")), None, "{text}");
    }
}

#[test]
fn a_responder_that_is_not_reached_is_an_http_error() {
    let scene = Scene::new(|_, _, _| Vec::new());
    let list = "a.pem [ocsp-update on]\n";
    let global = "    httpclient.retries 0\n";
    let weir = scene.setup(&format!("http://{}/", nobody()), global, LIST, list).start();
    assert_eq!(update(&weir, "HTTP error")[4..7], ["0", "1", "2"]);
    assert_eq!(stapled(weir.address("web")), None);
}

#[test]
fn failed_updates_are_repeated_and_a_later_failure_keeps_the_response() {
    let scene = Scene::new(|own, number, id| match number {
        2 => reply(TYPE, &response(id, State::Good, FOREVER, own)),
        _ => reply(TYPE, b"garbage"),
    });
    let weir = scene.start("    ocsp-update.mindelay 1\n    ocsp-update.maxdelay 1\n");
    let row = update(&weir, "Update successful");
    assert_eq!(row[4..7], ["1", "2", "1"]);
    let row = update(&weir, "OCSP response check failure");
    assert_eq!(row[4], "1");
    assert!(stapled(weir.address("web")).is_some());
}

#[test]
fn nothing_is_fetched_without_a_responder_or_with_the_option_off() {
    let good =
        |own: &Identity, _: usize, id: &[u8]| reply(TYPE, &response(id, State::Good, FOREVER, own));
    let scene = Scene::new(good);
    let plain = Identity::new("b.test", Some(&scene.authority));
    let on = "    ocsp-update.mode on\n";
    for (global, words, list, fetches) in [
        ("", LIST, "b.pem [ocsp-update on]\n", false),
        ("", LIST, "a.pem\n", false),
        (on, LIST, "a.pem [ocsp-update off]\n", false),
        (on, LIST, "a.pem\n", true),
        (on, "crt a.pem", "", true),
        ("    ocsp-update.mode on\n    ocsp-update.disable on\n", "crt a.pem", "", false),
        ("", "crt a.pem ocsp-update on", "", true),
        ("", "crt a.pem ocsp-update on crt b.pem", "", true),
    ] {
        let before = scene.responder.requests().len();
        let setup = scene.setup(&scene.url(), global, words, list);
        let weir = setup.file("b.pem", &(plain.pem() + &scene.authority.certificate())).start();
        match fetches {
            true => drop(update(&weir, "Update successful")),
            // The first query is made at the start.
            false => {
                assert_eq!(weir.cli("show ssl ocsp-updates").lines().count(), 1, "{global}{list}");
            }
        }
        let count = scene.responder.requests().len() - before;
        assert_eq!(count, usize::from(fetches), "{global}, {words}, {list}");
    }
}

#[test]
fn operators_have_a_response_fetched() {
    let scene = Scene::new(|own, _, id| reply(TYPE, &response(id, State::Good, FOREVER, own)));
    let setup = scene.setup(&scene.url(), "", "crt a.pem", "");
    // An empty file: a response may come at run time.
    let weir = setup.file("a.pem.ocsp", "").start();
    assert_eq!(stapled(weir.address("web")), None);
    let path = weir.path("a.pem").display().to_string();
    let said = weir.cli(&format!("update ssl ocsp-response {path}"));
    assert!(said.contains("Cert Status: good"), "{said}");
    assert!(stapled(weir.address("web")).is_some());
    assert_eq!(weir.cli("show ssl ocsp-updates").lines().count(), 1);
    assert!(weir.cli("update ssl ocsp-response nope").contains("'nope' has no OCSP response"));
    assert!(weir.cli("update ssl ocsp-response").contains("expects the file of a certificate"));
}

#[test]
fn lists_that_contradict_each_other_and_malformed_values_are_refused() {
    let scene = Scene::new(|_, _, _| Vec::new());
    for (global, words, list, part) in [
        ("", "crt-list <dir>/list", "a.pem [ocsp-update maybe]\n", "'maybe' is neither 'on' nor"),
        ("", "crt-list <dir>/list", "a.pem [ocsp-update]\n", "missing 'on' or 'off'"),
        ("", "crt a.pem ocsp-update maybe", "", "'maybe' is neither 'on' nor 'off'"),
        ("    ocsp-update.mode maybe\n", "crt a.pem", "", "'ocsp-update.mode' expects either"),
        ("    ocsp-update.mindelay x\n", "crt a.pem", "", "'ocsp-update.mindelay'"),
        (
            "",
            "crt-list <dir>/list",
            "a.pem [ocsp-update on]\na.pem [ocsp-update off] b.test\n",
            "is 'on' in one list and 'off' in another",
        ),
    ] {
        let mut weir = scene.setup(&scene.url(), global, words, list).start();
        assert!(!weir.wait().success(), "{list}{words}");
        weir.expect_error(part);
    }
}
