//! The HTTP cache at its limits: clients that leave, objects that do not fit, odd requests and
//! fields.

use crate::support::{
    Client, Identity, LogReceiver, Message, Origin, Running, Setup, Talker, decoded, eventually,
    page,
};
use mux::BodyKind;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};

/// More than the socket buffers of a client that does not read.
const LARGE: usize = 15 << 20;

const RULES: &str = "    http-request cache-use c\n    http-response cache-store c\n    \
                     http-response set-header x-hit %[res.cache_hit],%[res.cache_name]\n";

/// An origin that answers `/N` with N bytes and these fields, in chunks if the path begins with
/// `/c`; the counter has its requests.
fn origin(fields: &'static str) -> (Origin, Arc<AtomicUsize>) {
    let count = Arc::<AtomicUsize>::default();
    let seen = count.clone();
    let origin = Origin::new(move |mut peer| {
        while let Some(request) = peer.request() {
            seen.fetch_add(1, SeqCst);
            let path = request.target().trim_start_matches('/');
            let size = path.trim_start_matches('c').split('?').next().unwrap_or_default();
            let size: usize = size.parse().unwrap_or(10);
            let chunked = path.starts_with('c');
            let framing = match chunked {
                true => "transfer-encoding: chunked".to_owned(),
                false => format!("content-length: {size}"),
            };
            peer.send(format!("HTTP/1.1 200 OK\r\n{framing}\r\n{fields}\r\n"));
            let body = "x".repeat(size);
            match (request.raw.starts_with(b"HEAD"), chunked) {
                (true, _) => {}
                (false, true) => {
                    let (front, back) = body.split_at(size / 2);
                    for part in [front, back].into_iter().filter(|part| !part.is_empty()) {
                        peer.send(format!("{:x}\r\n{part}\r\n", part.len()));
                    }
                    peer.send("0\r\n\r\n");
                }
                (false, false) => peer.send(body),
            }
        }
    });
    (origin, count)
}

fn start(origin: &Origin, sizes: &str, front: &str, back: &str) -> Running {
    let cache = format!("cache c\n    {sizes}\n    max-age 60\n");
    let text = format!("{RULES}{back}    server a <a>\n{cache}");
    Setup::http(front, &text).with("a", origin.address()).start()
}

const FRESH: &str = "cache-control: max-age=30\r\netag: \"v1\"\r\n";
const SMALL: &str = "total-max-size 4\n    max-object-size 100000";
const BIG: &str = "total-max-size 32\n    max-object-size 16000000";

fn is_hit(answer: &Message) -> bool {
    match answer.header("x-hit") {
        Some("1,c") => true,
        Some("0,") => false,
        other => panic!("not a value of x-hit: {other:?}"),
    }
}

/// Free blocks of the cache `c`.
fn free(weir: &Running) -> u64 {
    let said = weir.cli("show cache");
    let number = said.split("available blocks:").nth(1).and_then(|rest| rest.split(')').next());
    number.expect("a title").parse().expect("a number")
}

/// Objects of the cache that are being served.
fn pinned(weir: &Running) -> usize {
    weir.cli("show cache").matches("refcount:1").count()
}

fn objects(weir: &Running) -> usize {
    weir.cli("show cache").matches(" hash:").count()
}

/// A client that has asked for a large object of the cache and does not read it.
fn stalled(weir: &Running, target: &str) -> Client {
    let mut client = weir.web();
    client.send(format!("GET {target} HTTP/1.1\r\nhost: test\r\n\r\n"));
    assert!(is_hit(&client.head()));
    client
}

#[test]
fn hits_show_in_fetches_logs_statistics_and_commands() {
    let (origin, _) = origin(FRESH);
    let log = LogReceiver::new();
    let text = format!("{RULES}    server a <a>\ncache c\n    {SMALL}\n");
    let front = "    log-format \"%s %ST %[res.cache_hit] %[res.cache_name]\"";
    let setup = Setup::http(front, &text).with("a", origin.address());
    let weir = setup.with("log", log.address()).start();
    let mut client = weir.web();
    assert!(!is_hit(&client.get("/10")));
    assert!(log.line().ends_with("a 200 0 -"));
    assert!(is_hit(&client.get("/10")));
    assert!(log.line().ends_with("<CACHE> 200 1 c"));
    let csv = weir.cli("show stat");
    for (field, expected) in [("cache_lookups", "2"), ("cache_hits", "1")] {
        assert_eq!(crate::support::stat_of(&csv, "app", "BACKEND", field), expected);
        assert_eq!(crate::support::stat_of(&csv, "web", "FRONTEND", field), "0");
    }
    assert_eq!(objects(&weir), 1);
    assert_eq!(weir.cli("clear cache c key http://test/10"), "");
    assert_eq!(objects(&weir), 0);
    assert!(!is_hit(&client.get("/10")));
    assert_eq!(weir.cli("clear cache c prefix http://test/"), "");
    assert!(!is_hit(&client.get("/10")));
}

#[test]
fn a_client_that_leaves_in_the_middle_of_a_hit_leaves_nothing_pinned() {
    let (origin, count) = origin(FRESH);
    let weir = start(&origin, BIG, "", "");
    let all = free(&weir);
    let target = format!("/{LARGE}");
    assert!(!is_hit(&weir.web().get(&target)));
    let client = stalled(&weir, &target);
    eventually("the object is pinned", || (pinned(&weir) == 1).then_some(()));
    client.reset();
    eventually("nothing is pinned", || (pinned(&weir) == 0).then_some(()));
    assert_eq!(weir.web().get(&target).body.len(), LARGE);
    assert_eq!(count.load(SeqCst), 1);
    let client = stalled(&weir, &target);
    eventually("the object is pinned", || (pinned(&weir) == 1).then_some(()));
    weir.cli("clear cache c");
    assert_eq!(objects(&weir), 0);
    assert!(free(&weir) < all, "its blocks stay as long as it is sent");
    client.reset();
    eventually("all blocks are free", || (free(&weir) == all).then_some(()));
}

#[test]
fn an_object_that_outgrows_the_limit_is_forwarded_and_not_stored() {
    let (origin, count) = origin(FRESH);
    let weir = start(&origin, SMALL, "", "");
    let all = free(&weir);
    let mut client = weir.web();
    for target in ["/c200000", "/200000", "/c200000"] {
        let answer = client.get(target);
        assert_eq!((answer.body.len(), is_hit(&answer)), (200_000, false), "{target}");
    }
    assert_eq!((count.load(SeqCst), objects(&weir), free(&weir)), (3, 0, all));
    assert!(!is_hit(&client.get("/c90000")));
    let hit = client.get("/c90000");
    assert_eq!((hit.body.len(), is_hit(&hit)), (90_000, true));
}

#[test]
fn a_cache_full_of_objects_that_are_being_sent_stores_no_more() {
    let (origin, count) = origin(FRESH);
    let weir = start(&origin, BIG, "", "");
    let targets = ["a", "b", "d"].map(|query| format!("/{LARGE}?{query}"));
    let mut clients = Vec::new();
    for target in &targets[..2] {
        assert!(!is_hit(&weir.web().get(target)));
        clients.push(stalled(&weir, target));
    }
    eventually("both objects are pinned", || (pinned(&weir) == 2).then_some(()));
    for _ in 0..2 {
        let answer = weir.web().get(&targets[2]);
        assert_eq!((answer.body.len(), is_hit(&answer)), (LARGE, false));
    }
    assert_eq!((count.load(SeqCst), objects(&weir)), (4, 2));
    clients.into_iter().for_each(Client::reset);
    eventually("nothing is pinned", || (pinned(&weir) == 0).then_some(()));
    assert!(!is_hit(&weir.web().get(&targets[2])));
    assert!(is_hit(&weir.web().get(&targets[2])));
}

#[test]
fn garbage_in_dates_and_directives_stores_nothing_stale() {
    for (fields, stored) in [
        ("expires: garbage\r\n", false),
        ("expires: 0\r\netag: \"v\"\r\n", false),
        ("expires: Thu, 99 Nov 2099 99:99:99 GMT\r\n", false),
        ("cache-control: max-age=abc\r\netag: \"v\"\r\n", false),
        ("cache-control: max-age=-1\r\netag: \"v\"\r\n", false),
        ("cache-control: max-age=\r\netag: \"v\"\r\n", false),
        ("cache-control: max-age=30\r\nage: x\r\n", false),
        ("cache-control: max-age=30\r\nage: 99999999999999999999\r\n", false),
        ("cache-control: NO-STORE, max-age=30\r\n", false),
        ("cache-control: \"no-store\", max-age=30\r\n", false),
        ("cache-control: max-age=30, Private=\"a,b\"\r\n", false),
        ("cache-control: max-age=99999999999999999999\r\n", true),
        ("cache-control: max-age=\"30\"\r\n", true),
        ("cache-control: ,;,=,max-age=30,,\r\n", true),
        ("cache-control: max-age=30, \"\r\n", true),
        ("last-modified: garbage\r\ncache-control: max-age=30\r\n", true),
    ] {
        let (origin, _) = origin(fields);
        let weir = start(&origin, SMALL, "", "");
        let mut client = weir.web();
        assert!(!is_hit(&client.get("/10")));
        assert_eq!(is_hit(&client.get("/10")), stored, "{fields}");
    }
}

#[test]
fn a_head_request_is_answered_from_a_get_and_stores_nothing() {
    let (origin, count) = origin(FRESH);
    let weir = start(&origin, SMALL, "", "");
    let mut client = weir.web();
    let head = "HEAD /50000 HTTP/1.1\r\nhost: test\r\n\r\n";
    client.send(head);
    assert!(!is_hit(&client.head()));
    assert_eq!(objects(&weir), 0);
    assert!(!is_hit(&client.get("/50000")));
    // The next answer on the connection shows that no body came.
    client.send(head);
    let answer = client.head();
    assert!(is_hit(&answer));
    assert_eq!(answer.header("content-length"), Some("50000"));
    assert_eq!(client.get("/50000").body.len(), 50_000);
    assert_eq!(count.load(SeqCst), 2);
    assert_eq!(pinned(&weir), 0);
}

#[test]
fn requests_of_http_1_0_neither_read_nor_store() {
    let (origin, count) = origin(FRESH);
    let weir = start(&origin, SMALL, "", "");
    let old = || weir.web().ask("GET /10 HTTP/1.0\r\nhost: test\r\n\r\n");
    assert!(!is_hit(&old()) && !is_hit(&old()));
    assert_eq!(objects(&weir), 0);
    assert!(!is_hit(&weir.web().get("/10")));
    assert!(is_hit(&weir.web().get("/10")));
    let answer = old();
    assert_eq!((answer.body.len(), is_hit(&answer)), (10, false));
    assert_eq!(count.load(SeqCst), 4);
}

#[test]
fn clients_of_both_versions_share_objects() {
    let (origin, count) = origin(FRESH);
    let weir = start(&origin, SMALL, "    bind <h2> proto h2", "");
    for (number, target) in ["/0", "/10", "/90000", "/c90000"].into_iter().enumerate() {
        let mut h2 = Talker::connect(weir.address("h2"), 2, false);
        let size = target.trim_start_matches("/c").trim_start_matches('/').parse().unwrap();
        for expected in ["0,", "1,c", "1,c"] {
            let heard = h2.ask(&format!("GET {target}"), &[]);
            assert_eq!((heard.status, heard.body.len()), (200, size), "{target}");
            assert_eq!(heard.header("x-hit"), Some(expected), "{target}");
            assert!(heard.whole);
        }
        let other = "GET TARGET HTTP/1.1\r\nhost: example.org\r\n\r\n".replace("TARGET", target);
        let answer = weir.web().ask(other);
        assert_eq!((answer.body.len(), is_hit(&answer)), (size, true), "{target}");
        let heard = h2.ask(&format!("GET {target}"), &[("if-none-match", "\"v1\"")]);
        assert_eq!((heard.status, heard.body.len()), (304, 0), "{target}");
        h2.begin(&format!("HEAD {target}"), &[], BodyKind::None);
        let heard = h2.hear();
        assert_eq!((heard.status, heard.body.len(), heard.whole), (200, 0, true), "{target}");
        assert_eq!(count.load(SeqCst), number + 1);
    }
    assert_eq!(pinned(&weir), 0);
}

#[test]
fn hits_are_compressed_for_clients_that_accept_it() {
    let text = page();
    let length = text.len();
    let body = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncache-control: max-age=30\r\n\
         content-length: {length}\r\n\r\n{text}"
    );
    let origin = Origin::answering(body);
    let weir = start(&origin, SMALL, "", "    compression algo gzip\n");
    let ask =
        |fields: &str| weir.web().ask(format!("GET /x HTTP/1.1\r\nhost: test\r\n{fields}\r\n"));
    for hit in [false, true, true] {
        let answer = ask("accept-encoding: gzip\r\n");
        assert_eq!((is_hit(&answer), answer.header("content-encoding")), (hit, Some("gzip")));
        assert_eq!(decoded("gzip", &answer.body), text.as_bytes());
        let plain = ask("");
        assert_eq!((is_hit(&plain), plain.header("content-encoding")), (true, None));
        assert_eq!(plain.text(), text);
    }
    assert_eq!(origin.requests().len(), 1);
    assert_eq!(pinned(&weir), 0);
}

#[test]
fn a_client_that_stops_reading_a_hit_is_given_up_after_its_timeout() {
    let (origin, _) = origin(FRESH);
    let weir = start(&origin, BIG, "    timeout client 300ms", "");
    let target = format!("/{LARGE}");
    assert!(!is_hit(&weir.web().get(&target)));
    let mut client = stalled(&weir, &target);
    eventually("nothing is pinned", || (pinned(&weir) == 0).then_some(()));
    assert!(client.rest().len() < LARGE, "the body is cut");
    assert!(is_hit(&weir.web().get(&target)));
}

#[test]
fn a_client_of_http_2_that_leaves_in_the_middle_of_a_hit_leaves_nothing_pinned() {
    let (origin, _) = origin(FRESH);
    let weir = start(&origin, BIG, "    bind <h2> proto h2", "");
    let all = free(&weir);
    let line = "GET /900000";
    let heard = Talker::connect(weir.address("h2"), 2, false).ask(line, &[]);
    assert_eq!(heard.body.len(), 900_000);
    // The windows of a stream and of its connection hold the body back.
    let mut client = Talker::connect(weir.address("h2"), 2, false);
    client.begin(line, &[], BodyKind::None);
    eventually("the object is pinned", || (pinned(&weir) == 1).then_some(()));
    drop(client);
    eventually("nothing is pinned", || (pinned(&weir) == 0).then_some(()));
    weir.cli("clear cache c");
    assert_eq!(free(&weir), all);
}

#[test]
fn a_response_whose_client_or_server_leaves_is_not_stored() {
    let gone = Arc::new(Barrier::new(2));
    let wait = gone.clone();
    let origin = Origin::new(move |mut peer| {
        let Some(request) = peer.request() else { return };
        peer.send(format!("HTTP/1.1 200 OK\r\ncontent-length: {LARGE}\r\n{FRESH}\r\n"));
        peer.send("x".repeat(500_000));
        if request.target() == "/client" {
            wait.wait();
            // A proxy without payload to send does not notice, as with HAProxy.
            let _ = peer.client.try_send("x".repeat(1_000));
            // Until the proxy has closed the connection.
            peer.request();
        }
    });
    let weir = start(&origin, BIG, "", "");
    let all = free(&weir);
    for target in ["/client", "/server"] {
        let mut client = weir.web();
        client.send(format!("GET {target} HTTP/1.1\r\nhost: test\r\n\r\n"));
        assert!(!is_hit(&client.head()));
        client.take(100_000);
        match target {
            "/client" => {
                client.reset();
                gone.wait();
            }
            _ => assert!(client.rest().len() < LARGE),
        }
        eventually("its blocks are free", || (free(&weir) == all).then_some(()));
        assert_eq!(objects(&weir), 0, "{target}");
    }
}

#[test]
fn a_response_that_a_later_rule_replaces_is_not_stored() {
    for rule in [
        "http-response deny if { res.hdr(x-hit) -m found }",
        "http-response return status 200 content-type text/plain string other",
    ] {
        let (origin, count) = origin(FRESH);
        let weir = start(&origin, SMALL, "", &format!("    {rule}\n"));
        let all = free(&weir);
        for _ in 0..2 {
            assert_ne!(weir.web().get("/10").text(), "x".repeat(10), "{rule}");
        }
        assert_eq!((count.load(SeqCst), objects(&weir), free(&weir)), (2, 0, all), "{rule}");
    }
}

#[test]
fn objects_are_served_over_tls_and_to_the_end_of_a_connection() {
    let (origin, count) = origin(FRESH);
    let front = "    bind <tls> ssl crt <dir>/key.pem alpn h2,http/1.1";
    let text = format!("{RULES}    server a <a>\ncache c\n    {BIG}\n");
    let identity = Identity::new("a.test", None).pem();
    let setup = Setup::http(front, &text).file("key.pem", &identity);
    let weir = setup.with("a", origin.address()).start();
    for version in [1, 2] {
        for number in 0..3 {
            let mut client = Talker::connect(weir.address("tls"), version, true);
            let heard = client.ask("GET /900000", &[]);
            let expected = if (version, number) == (1, 0) { "0," } else { "1,c" };
            assert_eq!(heard.header("x-hit"), Some(expected));
            assert_eq!((heard.body.len(), heard.whole), (900_000, true));
        }
    }
    assert_eq!(count.load(SeqCst), 1);
    let request = "GET /900000 HTTP/1.1\r\nhost: example.org\r\nconnection: close\r\n\r\n";
    assert!(!is_hit(&weir.web().ask(request)), "http and https are not the same");
    let mut client = weir.web();
    let answer = client.ask(request);
    assert_eq!((answer.body.len(), is_hit(&answer)), (900_000, true));
    client.expect_end();
}

#[test]
fn frontends_and_backends_use_caches_of_their_own() {
    let (origin, count) = origin(FRESH);
    let front = "    http-request set-var(txn.f) bool(true) if { path_beg /1 }\n    \
                 http-request cache-use f if { var(txn.f) -m bool }\n    \
                 http-response cache-store f if { var(txn.f) -m bool }\n    \
                 http-response set-header x-front %[res.cache_name]";
    let text = format!("{RULES}    server a <a>\ncache c\n    {SMALL}\ncache f\n    {SMALL}\n");
    let weir = Setup::http(front, &text).with("a", origin.address()).start();
    let mut client = weir.web();
    for (target, name) in [("/10", "f"), ("/20", "c")] {
        assert_eq!(client.get(target).header("x-front"), Some(""), "{target}");
        for _ in 0..2 {
            assert_eq!(client.get(target).header("x-front"), Some(name), "{target}");
        }
    }
    assert_eq!(count.load(SeqCst), 2);
    // Both caches have stored the responses that passed through both.
    assert_eq!(weir.cli("show cache").matches(" hash:").count(), 3);
    weir.cli("clear cache f");
    assert_eq!(client.get("/10").header("x-front"), Some("c"));
    assert_eq!(count.load(SeqCst), 2);
}

#[test]
fn the_key_of_a_cache_is_the_url_at_its_lookup() {
    let (origin, count) = origin(FRESH);
    let front = "    http-request cache-use f\n    http-response cache-store f\n    \
                 http-response set-header x-front %[res.cache_name]";
    let text = format!(
        "    http-request set-path /20\n{RULES}    server a <a>\n\
         cache c\n    {SMALL}\ncache f\n    {SMALL}\n"
    );
    let weir = Setup::http(front, &text).with("a", origin.address()).start();
    let mut client = weir.web();
    for (target, name) in [("/10", ""), ("/10", "f"), ("/20", "c"), ("/20", "c"), ("/10", "f")] {
        let answer = client.get(target);
        assert_eq!((answer.header("x-front"), answer.body.len()), (Some(name), 20), "{target}");
    }
    assert_eq!(count.load(SeqCst), 1);
}

#[test]
fn a_rule_that_stores_twice_stores_once() {
    let (origin, count) = origin(FRESH);
    let weir = start(&origin, SMALL, "", "    http-response cache-store c\n");
    let mut client = weir.web();
    assert!(!is_hit(&client.get("/10")));
    assert!(is_hit(&client.get("/10")));
    assert_eq!((count.load(SeqCst), objects(&weir)), (1, 1));
}
