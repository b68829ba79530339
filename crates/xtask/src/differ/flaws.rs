//! Ways to spoil a message: every class of `docs/http1-strictness.md`, and bytes changed by chance.

use super::exchange::{Exchange, SentMessage};
use super::rng::Rng;

/// Framing that is ambiguous or wrong: fields between `|`, then the body.
const FRAMING: &[(&str, &str)] = &[
    ("Content-Length: 5|Transfer-Encoding: chunked", "3\r\nabc\r\n0\r\n\r\n"),
    ("Transfer-Encoding: chunked|Content-Length: 13", "3\r\nabc\r\n0\r\n\r\n"),
    ("Content-Length: 5|Content-Length: 5", "abcde"),
    ("Content-Length: 5|Content-Length: 6", "abcde"),
    ("Content-Length: 5, 5", "abcde"),
    ("Content-Length: 5, 6", "abcde"),
    ("Content-Length: 5,", "abcde"),
    ("Content-Length: 05", "abcde"),
    ("Content-Length: +5", "abcde"),
    ("Content-Length: -5", "abcde"),
    ("Content-Length: 0x5", "abcde"),
    ("Content-Length: 5 5", "abcde"),
    ("Content-Length: 5;a", "abcde"),
    ("Content-Length:", "abcde"),
    ("Content-Length: \"5\"", "abcde"),
    ("Content-Length: 18446744073709551616", "abcde"),
    ("Content-Length: 99999999999999999999999", "abcde"),
    ("Content_Length: 5", ""),
    ("Content-Length : 5", "abcde"),
    ("Content-Length\t: 5", "abcde"),
    ("Content-Length: \u{b}5", "abcde"),
    ("Transfer-Encoding : chunked", "3\r\nabc\r\n0\r\n\r\n"),
    ("Transfer-Encoding: xchunked", "3\r\nabc\r\n0\r\n\r\n"),
    ("Transfer-Encoding: chunked, chunked", "3\r\nabc\r\n0\r\n\r\n"),
    ("Transfer-Encoding: chunked|Transfer-Encoding: chunked", "3\r\nabc\r\n0\r\n\r\n"),
    ("Transfer-Encoding: chunked, gzip", "3\r\nabc\r\n0\r\n\r\n"),
    ("Transfer-Encoding: gzip, chunked", "3\r\nabc\r\n0\r\n\r\n"),
    ("Transfer-Encoding: gzip", "abc"),
    ("Transfer-Encoding: identity", "abc"),
    ("Transfer-Encoding: identity, chunked", "3\r\nabc\r\n0\r\n\r\n"),
    ("Transfer-Encoding: chunked;q=1", "3\r\nabc\r\n0\r\n\r\n"),
    ("Transfer-Encoding: \"chunked\"", "3\r\nabc\r\n0\r\n\r\n"),
    ("Transfer-Encoding: ,chunked", "3\r\nabc\r\n0\r\n\r\n"),
    ("Transfer-Encoding: chunked,", "3\r\nabc\r\n0\r\n\r\n"),
    ("Transfer-Encoding: CHUNKED", "3\r\nabc\r\n0\r\n\r\n"),
    ("Transfer-Encoding:", "abc"),
    ("Transfer-Encoding: \u{b}chunked", "3\r\nabc\r\n0\r\n\r\n"),
    ("Transfer-Encoding:\r\n chunked", "3\r\nabc\r\n0\r\n\r\n"),
    ("Transfer-Encoding: chun\r\n ked", "3\r\nabc\r\n0\r\n\r\n"),
    ("Transfer_Encoding: chunked", ""),
    ("X: y\rTransfer-Encoding: chunked", ""),
    ("X: y\nTransfer-Encoding: chunked", "3\r\nabc\r\n0\r\n\r\n"),
    ("Content-Length: 5\r\n 6", "abcde"),
];

/// Chunked bodies that are wrong, or that some read otherwise.
const CHUNKS: &[&str] = &[
    "3 \r\nabc\r\n0\r\n\r\n",
    "3\t\r\nabc\r\n0\r\n\r\n",
    " 3\r\nabc\r\n0\r\n\r\n",
    "+3\r\nabc\r\n0\r\n\r\n",
    "-3\r\nabc\r\n0\r\n\r\n",
    "0x3\r\nabc\r\n0\r\n\r\n",
    "3h\r\nabc\r\n0\r\n\r\n",
    "\r\nabc\r\n0\r\n\r\n",
    ";x\r\nabc\r\n0\r\n\r\n",
    "0000000000000000000000003\r\nabc\r\n0\r\n\r\n",
    "00000003\r\nabc\r\n0\r\n\r\n",
    "ffffffffffffffff\r\nabc\r\n0\r\n\r\n",
    "fffffffffffffff\r\nabc\r\n0\r\n\r\n",
    "10000000000000003\r\nabc\r\n0\r\n\r\n",
    "100000000\r\nabc",
    "3\r\nabcX\r\n0\r\n\r\n",
    "3\r\nabc0\r\n\r\n",
    "3\r\nabc\r0\r\n\r\n",
    "3\r\nab\r\n0\r\n\r\n",
    "3\nabc\r\n0\r\n\r\n",
    "3\r\nabc\n0\r\n\r\n",
    "3\nabc\n0\n\n",
    "3\rabc\r\n0\r\n\r\n",
    "3\r\r\nabc\r\n0\r\n\r\n",
    "3;a\rb\r\nabc\r\n0\r\n\r\n",
    "3;a\nabc\r\n0\r\n\r\n",
    "3;a=\"\r\nabc\r\n0\r\n\r\n",
    "3;\0\u{1}\r\nabc\r\n0\r\n\r\n",
    "3 ;a=b\r\nabc\r\n0\r\n\r\n",
    "3 x\r\nabc\r\n0\r\n\r\n",
    "3\r\nabc\r\n0\n\n",
    "3\r\nabc\r\n0\r\n\n",
    "3\r\nabc\r\n0\r\nX: y\n\r\n",
    "3\r\nabc\r\n0\r\nX : y\r\n\r\n",
    "3\r\nabc\r\n0\r\nX\r\n\r\n",
    "3\r\nabc\r\n0\r\n X: y\r\n\r\n",
    "3\r\nabc\r\n0\r\nX: y\r\n z\r\n\r\n",
    "3\r\nabc\r\n0\r\nContent-Length: 7\r\n\r\n",
    "3\r\nabc\r\n0\r\nTransfer-Encoding: chunked\r\nHost: b\r\n\r\n",
    "3\r\nabc\r\n0\r\nX: a\0b\r\n\r\n",
    "3\r\nabc\r\n0\r\nX: a\rb\r\n\r\n",
    "3\r\nabc\r\n0\r\nConnection: close\r\n\r\n",
    "3\r\nabc\r\n0 \r\n\r\n",
    "3\r\nabc\r\nzz\r\n",
];

/// Field lines that are wrong or odd, in messages of both directions.
const FIELDS: &[&[u8]] = &[
    b"Foo : bar",
    b"Foo\t: bar",
    b"Foo bar: x",
    b"Foo",
    b": empty",
    b":",
    b"F(o: x",
    b"F@o: x",
    b"F\"o: x",
    b"F\0o: x",
    b"F\x01o: x",
    b"F\x7fo: x",
    b"F\xe9o: x",
    b"Foo: a\0b",
    b"Foo: a\x01b",
    b"Foo: a\x0bb",
    b"Foo: a\x7fb",
    b"Foo: a\xffb",
    b"Foo: a\rb",
    b"Foo: a\r",
    b"Foo: \r b",
    b"Foo: a\nBar: b",
    b"Foo: a\r\n b",
    b"Foo: a\r\n\tb \r\n c",
    b"Foo:\r\n b",
    b"Foo: a\r\n ",
    b"Foo: a\n b",
    b"Foo: a\r\n b: c",
    b"Foo;bar: x",
    b"{foo}: x",
    b"foo_bar: x",
    b"Connection: close, keep-alive",
    b"Connection: keep-alive, close",
    b"Connection: ,close,",
    b"Connection: \"close\"",
    b"Connection: close;x",
    b"Connection: Content-Length",
    b"Connection: Transfer-Encoding, close",
    b"Connection: upgrade",
    b"Upgrade: spdy",
    b"Upgrade: foo/1",
    b"Connection: upgrade\r\nUpgrade: foo/1, h2c",
    b"Connection: upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__",
    b"Expect: 200-ok",
    b"Expect: 100-continue, x",
];

/// Request lines that are wrong or odd.
const REQUEST_LINES: &[&[u8]] = &[
    b"GET  / HTTP/1.1",
    b"GET\t/ HTTP/1.1",
    b"GET /  HTTP/1.1",
    b"GET / HTTP/1.1 ",
    b"GET / HTTP/1.1 x",
    b" GET / HTTP/1.1",
    b"\r\nGET / HTTP/1.1",
    b"\n\nGET / HTTP/1.1",
    b"\r\n\r\n\r\nGET / HTTP/1.1",
    b"\rGET / HTTP/1.1",
    b"\0GET / HTTP/1.1",
    b"get / HTTP/1.1",
    b"Get / HTTP/1.1",
    b"G@T / HTTP/1.1",
    b"G\"T / HTTP/1.1",
    b"G\0T / HTTP/1.1",
    b"GET",
    b"GET ",
    b"GET /",
    b"GET / ",
    b"GET /\r",
    b"GET / HTTP",
    b"GET / HTTP/",
    b"GET / HTTP/1",
    b"GET / HTTP/1.",
    b"GET / HTTP/.1",
    b"GET / HTTP/0.9",
    b"GET / HTTP/1.2",
    b"GET / HTTP/1.9",
    b"GET / HTTP/1.10",
    b"GET / HTTP/01.1",
    b"GET / HTTP/2.0",
    b"GET / HTTP/2",
    b"GET / HTTP/3.0",
    b"GET / http/1.1",
    b"GET / HTTP/1,1",
    b"GET / HTTP /1.1",
    b"GET / HTTX/1.1",
    b"GET / RTSP/1.0",
    b"GET /a b HTTP/1.1",
    b"GET /a#b HTTP/1.1",
    b"GET /#b HTTP/1.1",
    b"GET #b HTTP/1.1",
    b"GET /a\"b<c>d HTTP/1.1",
    b"GET /a\\b^c`d{e|f} HTTP/1.1",
    b"GET /a\0b HTTP/1.1",
    b"GET /a\x01b HTTP/1.1",
    b"GET /a\x7fb HTTP/1.1",
    b"GET /a\xe9b HTTP/1.1",
    b"GET /a\tb HTTP/1.1",
    b"GET /a\rb HTTP/1.1",
    b"GET /%zz%0 HTTP/1.1",
    b"GET a.example HTTP/1.1",
    b"GET a.example:80 HTTP/1.1",
    b"GET b.example:80 HTTP/1.1",
    b"GET * HTTP/1.1",
    b"GET ? HTTP/1.1",
    b"GET http:/a.example/ HTTP/1.1",
    b"GET http:// HTTP/1.1",
    b"GET http:///x HTTP/1.1",
    b"GET http://b.example/ HTTP/1.1",
    b"GET http://a.example:8080/ HTTP/1.1",
    b"GET http://a.example:/ HTTP/1.1",
    b"GET http://a.example:x/ HTTP/1.1",
    b"GET http://u:p@a.example/ HTTP/1.1",
    b"GET http://a.example@b.example/ HTTP/1.1",
    b"GET https://a.example:443/ HTTP/1.1",
    b"GET ftp://a.example/ HTTP/1.1",
    b"GET 1x://a.example/ HTTP/1.1",
    b"CONNECT / HTTP/1.1",
    b"CONNECT a.example HTTP/1.1",
    b"CONNECT a.example: HTTP/1.1",
    b"CONNECT a.example:x HTTP/1.1",
    b"CONNECT b.example:80 HTTP/1.1",
    b"CONNECT http://a.example/ HTTP/1.1",
    b"OPTIONS / HTTP/1.1",
    b"PRI * HTTP/1.1",
    b"GET / HTTP/1.0",
];

/// `Host` fields instead of the right one.
const HOSTS: &[&str] = &[
    "",
    "Host:",
    "Host: ",
    "Host: a.example|Host: a.example",
    "Host: a.example|Host: A.EXAMPLE",
    "Host: a.example|Host: b.example",
    "Host: a.example, b.example",
    "Host: a.example b.example",
    "Host: a.example/x",
    "Host: a.example:80",
    "Host: a.example:",
    "Host: a.example:x",
    "Host: a.example:99999",
    "Host: u@a.example",
    "Host: [::1]",
    "Host: [::1",
    "Host: a\"b",
    "Host: a\u{e9}b",
    "Host: a#b",
    "Host: a\\b",
    "Host: a?b",
    "Host: a.example\r\n x",
];

/// Status lines that are wrong or odd.
const STATUS_LINES: &[&[u8]] = &[
    b"HTTP/1.1  200 OK",
    b"HTTP/1.1\t200\tOK",
    b"HTTP/1.1 200",
    b"HTTP/1.1 200  two",
    b"HTTP/1.1 20 OK",
    b"HTTP/1.1 2000 OK",
    b"HTTP/1.1 2x0 OK",
    b"HTTP/1.1 099 OK",
    b"HTTP/1.1 000 OK",
    b"HTTP/1.1 600 OK",
    b"HTTP/1.1 999 OK",
    b"HTTP/1.1 -20 OK",
    b"HTTP/1.1",
    b"HTTP/1.1 ",
    b" HTTP/1.1 200 OK",
    b"\r\nHTTP/1.1 200 OK",
    b"\nHTTP/1.1 200 OK",
    b"HTTP/1.2 200 OK",
    b"HTTP/2.0 200 OK",
    b"HTTP/0.9 200 OK",
    b"HTTP/1.10 200 OK",
    b"HTTP/2 200 OK",
    b"http/1.1 200 OK",
    b"ICY 200 OK",
    b"HTTX/1.1 200 OK",
    b"HTTP/1.1 200 O\0K",
    b"HTTP/1.1 200 O\x01K",
    b"HTTP/1.1 200 O\xe9K",
    b"HTTP/1.1 200 O\rK",
    b"HTTP/1.1 100 Continue",
    b"HTTP/1.1 101 Switching",
    b"HTTP/1.1 102 Processing",
    b"HTTP/1.1 199 What",
    b"HTTP/1.1 204 No Content",
    b"HTTP/1.1 205 Reset Content",
    b"HTTP/1.1 304 Not Modified",
    b"junk",
    b"",
];

type Spoil = fn(&mut SentMessage, &mut Rng) -> String;

/// Spoils a request; returns a description of the flaw.
pub(super) fn request(message: &mut SentMessage, rng: &mut Rng) -> String {
    const WAYS: &[(usize, Spoil)] = &[
        (20, framing),
        (20, chunks),
        (20, field),
        (20, request_line),
        (8, host),
        (4, line_ends),
        (4, sizes),
        (12, byte),
        (3, old_chunks),
        (2, between),
    ];
    weighed(WAYS, message, rng)
}

/// Spoils an answer; returns a description of the flaw.
pub(super) fn answer(message: &mut SentMessage, rng: &mut Rng) -> String {
    const WAYS: &[(usize, Spoil)] = &[
        (20, framing),
        (20, chunks),
        (20, field),
        (20, status_line),
        (4, line_ends),
        (4, sizes),
        (12, byte),
        (3, old_chunks),
        (10, length),
        (3, between),
    ];
    weighed(WAYS, message, rng)
}

fn weighed(ways: &[(usize, Spoil)], message: &mut SentMessage, rng: &mut Rng) -> String {
    let mut left = rng.below(ways.iter().map(|way| way.0).sum());
    for (weight, spoil) in ways {
        match left.checked_sub(*weight) {
            Some(less) => left = less,
            None => return spoil(message, rng),
        }
    }
    unreachable!("the weights add up to their sum")
}

fn unframed(message: &mut SentMessage) {
    message.without("content-length:");
    message.without("transfer-encoding:");
    message.without("expect:");
}

fn insert(message: &mut SentMessage, lines: &str, rng: &mut Rng) {
    for line in lines.split('|').filter(|line| !line.is_empty()) {
        let at = rng.below(message.fields.len() + 1);
        message.fields.insert(at, line.as_bytes().to_vec());
    }
}

fn framing(message: &mut SentMessage, rng: &mut Rng) -> String {
    let (lines, body) = *rng.pick(FRAMING);
    unframed(message);
    insert(message, lines, rng);
    message.body = body.into();
    format!("framing {lines:?}")
}

fn chunks(message: &mut SentMessage, rng: &mut Rng) -> String {
    let body = *rng.pick(CHUNKS);
    unframed(message);
    message.field("Transfer-Encoding: chunked");
    message.body = body.into();
    format!("chunks {body:?}")
}

fn old_chunks(message: &mut SentMessage, rng: &mut Rng) -> String {
    let start = String::from_utf8_lossy(&message.start).replace("HTTP/1.1", "HTTP/1.0");
    message.start = start.into_bytes();
    unframed(message);
    message.field("Transfer-Encoding: chunked");
    if rng.chance(50) {
        message.field("Connection: keep-alive");
    }
    message.body = b"3\r\nabc\r\n0\r\n\r\n".to_vec();
    "chunks in HTTP/1.0".into()
}

fn field(message: &mut SentMessage, rng: &mut Rng) -> String {
    let line = *rng.pick(FIELDS);
    let at = rng.below(message.fields.len() + 1);
    message.fields.insert(at, line.to_vec());
    format!("field \"{}\"", line.escape_ascii())
}

fn request_line(message: &mut SentMessage, rng: &mut Rng) -> String {
    message.start = rng.pick(REQUEST_LINES).to_vec();
    format!("request line \"{}\"", message.start.escape_ascii())
}

fn status_line(message: &mut SentMessage, rng: &mut Rng) -> String {
    message.start = rng.pick(STATUS_LINES).to_vec();
    format!("status line \"{}\"", message.start.escape_ascii())
}

fn host(message: &mut SentMessage, rng: &mut Rng) -> String {
    let lines = *rng.pick(HOSTS);
    message.without("host:");
    insert(message, lines, rng);
    format!("host {lines:?}")
}

fn line_ends(message: &mut SentMessage, _: &mut Rng) -> String {
    message.eol = b"\n";
    "bare LF".into()
}

fn sizes(message: &mut SentMessage, rng: &mut Rng) -> String {
    match rng.below(5) {
        0 => {
            (0..100).for_each(|n| message.field(format!("x-{n}: y")));
            "about a hundred fields".into()
        }
        1 => {
            (0..200).for_each(|n| message.field(format!("x-{n}: y")));
            "two hundred fields".into()
        }
        2 => {
            message.field(format!("x-long: {}", "y".repeat(20_000)));
            "a field of 20,000 bytes".into()
        }
        3 => {
            message.field(format!("{}: y", "x".repeat(14_000)));
            "a name of 14,000 bytes".into()
        }
        _ => {
            message.start.extend(std::iter::repeat_n(b'x', 17_000));
            "a start line of 17,000 bytes".into()
        }
    }
}

/// The body is longer or shorter than announced.
fn length(message: &mut SentMessage, rng: &mut Rng) -> String {
    unframed(message);
    message.field("Content-Length: 10");
    let (body, what) = match rng.below(3) {
        0 => ("short", "a body cut short"),
        1 => ("0123456789and more", "more than the body"),
        _ => ("0123456789HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", "a second answer"),
    };
    message.body = body.into();
    what.into()
}

/// Inserts bytes before or after the message.
fn between(message: &mut SentMessage, rng: &mut Rng) -> String {
    let what = *rng.pick(&["\r\n", "\n", "junk", "\0", "\r\n\r\n ", "GET"]);
    message.body.extend_from_slice(what.as_bytes());
    format!("{what:?} after the message")
}

/// One byte of the head, or of the chunks, is changed, doubled or left out.
fn byte(message: &mut SentMessage, rng: &mut Rng) -> String {
    const BYTES: &[u8] = b"\0\x01\t\n\r \"(),/:;<=>@[\\]{}\x7f\x80\xff09afAFxX-_";
    let field = rng.below(message.fields.len() + 1);
    let line = match field {
        0 => &mut message.start,
        n => &mut message.fields[n - 1],
    };
    if line.is_empty() {
        line.push(b' ');
    }
    let at = rng.below(line.len());
    let byte = *rng.pick(BYTES);
    let before = line.escape_ascii().to_string();
    match rng.below(3) {
        0 => line[at] = byte,
        1 => line.insert(at, byte),
        _ => drop(line.remove(at)),
    }
    format!("byte: \"{before}\" became \"{}\"", line.escape_ascii())
}

/// The client's stream ends early.
pub(super) fn stream(exchange: &mut Exchange, rng: &mut Rng) {
    let last = exchange.client.last_mut().expect("one piece at least");
    let keep = rng.below(last.len().max(1));
    last.truncate(keep);
    exchange.half_close = true;
    exchange.flaws.push("the client's stream ends early".into());
}
