//! Prints the cost of one exchange's heads on both connections: `cargo test --release -p mux --
//! --ignored --nocapture speed`. There is no limit to pass.

use std::hint::black_box;

use htx::Head;

use crate::h1::{H1Conn, H1ConnSettings, HeadStep};
use crate::{BodyKind, Side};

const REQUEST: &[u8] =
    b"GET /index.html?x=1 HTTP/1.1\r\nHost: www.example.org\r\nUser-Agent: wrk/4.2.0\r\n\
Accept: text/html, */*\r\nAccept-Encoding: gzip\r\nCookie: session=0123456789abcdef\r\n\r\n";
const RESPONSE: &[u8] =
    b"HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Sat, 21 Nov 2026 10:00:00 GMT\r\n\
Content-Type: text/plain\r\nContent-Length: 64\r\nConnection: keep-alive\r\n\r\n";

fn one_way(from: &mut H1Conn, to: &mut H1Conn, input: &[u8], head: &mut Head, out: &mut Vec<u8>) {
    let Ok(HeadStep::Complete { body, .. }) = from.handle_head(black_box(input), head) else {
        panic!("the head is valid");
    };
    out.clear();
    to.encode_head(head, body, out);
    if let BodyKind::Length(n) = body {
        from.skip_payload(n);
        to.encode_data(n).unwrap();
    }
    to.encode_end(None, out);
    black_box(out);
}

#[test]
#[ignore = "a measurement, not a test"]
#[allow(clippy::disallowed_methods, reason = "a measurement needs the clock")]
fn speed_of_an_exchange() {
    const TURNS: u32 = 1_000_000;
    let mut client = H1Conn::new(Side::Client, H1ConnSettings::default());
    let mut server = H1Conn::new(Side::Server, H1ConnSettings::default());
    let (mut head, mut out) = (Head::with_capacity(1024, 16), Vec::with_capacity(1024));
    let start = std::time::Instant::now();
    for _ in 0..TURNS {
        one_way(&mut client, &mut server, REQUEST, &mut head, &mut out);
        one_way(&mut server, &mut client, RESPONSE, &mut head, &mut out);
        client.reset_for_next();
        server.reset_for_next();
    }
    println!("one exchange, both heads parsed, edited and written: {:?}", start.elapsed() / TURNS);
}
