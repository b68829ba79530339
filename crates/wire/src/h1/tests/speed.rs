//! Prints the cost of parsing a typical head: `cargo test --release -p wire -- --ignored
//! --nocapture speed`. There is no limit to pass.

use std::hint::black_box;

use htx::Head;

use crate::h1::{HeadKind, HeadParser, Limits, encode};

const REQUEST: &[u8] =
    b"GET /index.html?x=1 HTTP/1.1\r\nHost: www.example.org\r\nUser-Agent: wrk/4.2.0\r\n\
Accept: text/html, */*\r\nAccept-Encoding: gzip\r\nCookie: session=0123456789abcdef\r\n\r\n";

#[test]
#[ignore = "a measurement, not a test"]
#[allow(clippy::disallowed_methods, reason = "a measurement needs the clock")]
fn speed_of_a_typical_request() {
    const TURNS: u32 = 2_000_000;
    let mut head = Head::with_capacity(1024, 16);
    let mut out = Vec::with_capacity(1024);
    let start = std::time::Instant::now();
    for _ in 0..TURNS {
        let mut parser = HeadParser::new();
        let done =
            parser.parse(HeadKind::Request, black_box(REQUEST), Limits::default(), &mut head);
        black_box(done.unwrap());
    }
    let parsed = start.elapsed() / TURNS;
    let start = std::time::Instant::now();
    for _ in 0..TURNS {
        out.clear();
        encode::head(black_box(&head), &mut out);
        black_box(&out);
    }
    let written = start.elapsed() / TURNS;
    println!("{} bytes, 5 headers: parsed in {parsed:?}, written in {written:?}", REQUEST.len());
}
