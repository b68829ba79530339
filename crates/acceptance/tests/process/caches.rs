//! The HTTP cache: hits, bodies of all sizes and both versions of HTTP, what is not stored.

use crate::support::{Origin, Setup};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

const CACHE: &str =
    "cache small\n    total-max-size 4\n    max-object-size 1000000\n    max-age 60\n";
const BACK: &str = "    http-request cache-use small\n    http-response cache-store small\n    \
                    http-response set-header x-rules ran\n    server a <a>\n";

/// A server that answers with `size` bytes and these fields, and counts its requests.
fn origin(size: usize, fields: &'static str) -> (Origin, Arc<AtomicUsize>) {
    let count = Arc::<AtomicUsize>::default();
    let seen = count.clone();
    let origin = Origin::new(move |mut peer| {
        while peer.request().is_some() {
            let number = seen.fetch_add(1, SeqCst);
            let body = format!("{number:07},").repeat(size / 8);
            let length = body.len();
            peer.send(format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n{fields}\r\n{body}"));
        }
    });
    (origin, count)
}

fn setup(origin: &Origin) -> Setup {
    Setup::http("", &format!("{BACK}{CACHE}")).with("a", origin.address())
}

#[test]
fn objects_are_served_from_the_cache() {
    for size in [0, 8, 1_024, 80_000, 900_000] {
        let (origin, count) = origin(size, "cache-control: max-age=30\r\netag: \"v1\"\r\n");
        let weir = setup(&origin).start();
        let mut client = weir.web();
        let first = client.get("/x");
        assert!(first.header("age").is_none());
        for _ in 0..3 {
            let hit = client.get("/x");
            assert_eq!(hit.header("age"), Some("0"), "{size}");
            assert_eq!(hit.header("x-rules"), Some("ran"), "rules about responses see hits");
            assert!(hit.text() == first.text(), "{size}");
        }
        assert_eq!(count.load(SeqCst), 1, "{size}");
        let same = "GET /x HTTP/1.1\r\nhost: test\r\nif-none-match: \"v1\"\r\n\r\n";
        client.send(same);
        assert_eq!(client.head().status(), 304);
        assert_ne!(client.get("/y").text(), if size > 0 { first.text() } else { "-".into() });
    }
}

#[test]
fn responses_that_must_not_be_stored_are_not() {
    for fields in [
        "cache-control: no-store\r\n",
        "cache-control: private\r\n",
        "vary: x\r\ncache-control: max-age=9\r\n",
    ] {
        let (origin, count) = origin(100, fields);
        let weir = setup(&origin).start();
        let mut client = weir.web();
        client.get("/x");
        assert!(client.get("/x").header("age").is_none(), "{fields}");
        assert_eq!(count.load(SeqCst), 2, "{fields}");
    }
}

#[test]
fn a_response_that_ends_early_is_not_stored() {
    let origin = Origin::new(|mut peer| {
        peer.request();
        peer.send(
            "HTTP/1.1 200 OK\r\ncontent-length: 100\r\ncache-control: max-age=30\r\n\r\nonly this",
        );
    });
    let weir = setup(&origin).start();
    for _ in 0..2 {
        let mut client = weir.web();
        client.send("GET /x HTTP/1.1\r\nhost: localhost\r\n\r\n");
        assert!(client.head().header("age").is_none());
    }
}

#[test]
fn bytes_behind_the_length_of_a_response_are_not_stored() {
    let answer = "HTTP/1.1 200 OK\r\ncache-control: max-age=30\r\ncontent-length: 3\r\n\r\n\
                  oneHTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\ntwo";
    let origin = Origin::answering(answer);
    let weir = setup(&origin).start();
    for _ in 0..3 {
        assert_eq!(weir.web().get("/a").text(), "one");
    }
    assert_eq!(origin.requests().len(), 1);
}

#[test]
fn an_error_in_place_of_a_response_is_not_stored() {
    let count = Arc::<AtomicUsize>::default();
    let seen = count.clone();
    let origin = Origin::new(move |mut peer| {
        while peer.request().is_some() {
            seen.fetch_add(1, SeqCst);
            // Without a length, any body would be whole.
            let head = "cache-control: max-age=30\r\ntransfer-encoding: chunked\r\n";
            peer.send(format!("HTTP/1.1 200 OK\r\n{head}\r\n1\r\nx\r\n0\r\n\r\n"));
        }
    });
    let long = "x".repeat(20_000);
    let lines = format!("    http-after-response set-header x-long {long} if {{ status 200 }}\n");
    let back = format!("{BACK}{lines}{CACHE}");
    let weir = Setup::http("", &back).with("a", origin.address()).start();
    for requests in 1..3 {
        assert_eq!(weir.web().get("/x").status(), 500);
        assert_eq!(count.load(SeqCst), requests);
    }
}
