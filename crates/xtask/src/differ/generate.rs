//! Generates exchanges from a seed: valid messages of every form, some of them spoilt afterwards.

use super::exchange::{Answer, Exchange, SentMessage};
use super::flaws;
use super::rng::Rng;
use super::setup::VARIANTS;

/// The field that tells the origin which answer is meant.
pub(super) const NUMBER: &str = "x-number:";

/// The exchange with this number. Every second one is valid.
pub(super) fn exchange(seed: u64, number: usize) -> Exchange {
    let mut rng = Rng::new(seed.wrapping_mul(1_000_003).wrapping_add(number as u64));
    let rng = &mut rng;
    let variant = if rng.chance(50) { 0 } else { rng.below(VARIANTS.len()) };
    let count = if rng.chance(60) { 1 } else { 2 + rng.below(3) };
    let mut exchange = Exchange {
        number,
        variant,
        client: vec![Vec::new()],
        half_close: false,
        answers: Vec::new(),
        methods: Vec::new(),
        flaws: Vec::new(),
        spoilt: Default::default(),
    };
    let spoilt = (number % 2 == 1).then(|| rng.below(count));
    let spoils_answer = rng.chance(35);
    for index in 0..count {
        let last = index + 1 == count;
        let (mut request, method) = request(rng, last);
        request.field(format!("{NUMBER} {index}"));
        let to_old = request.start.ends_with(b"HTTP/1.0");
        let mut answer = answer(rng, &method, to_old);
        if spoilt == Some(index) {
            let flaw = match spoils_answer {
                true => spoil_answer(&mut answer, &method, rng),
                false => flaws::request(&mut request, rng),
            };
            exchange.flaws.push(flaw);
            exchange.spoilt = match spoils_answer {
                true => (answer.pieces.concat(), true),
                false => (request.bytes(), false),
            };
        }
        exchange.client.last_mut().expect("one piece at least").extend(request.bytes());
        exchange.methods.push(method);
        exchange.answers.push(answer);
        // The next request is sent at once (a pipeline), or when the answer may have come.
        if !last && rng.chance(60) {
            exchange.client.push(Vec::new());
        }
    }
    if spoilt.is_some() && rng.chance(8) {
        flaws::stream(&mut exchange, rng);
    }
    if rng.chance(20) {
        cut(&mut exchange.client, rng);
    }
    exchange
}

/// Cuts one of the pieces in two.
fn cut(pieces: &mut Vec<Vec<u8>>, rng: &mut Rng) {
    let index = rng.below(pieces.len());
    if pieces[index].len() > 1 {
        let at = 1 + rng.below(pieces[index].len() - 1);
        let rest = pieces[index].split_off(at);
        pieces.insert(index + 1, rest);
    }
}

// ---- requests

const METHODS: &[&str] = &[
    "GET", "GET", "GET", "GET", "POST", "POST", "PUT", "HEAD", "DELETE", "OPTIONS", "PATCH", "FOO",
];

const TARGETS: &[&str] = &[
    "/",
    "/a",
    "/a/b?c=d&e",
    "/%7Efoo/%20?x=%00",
    "//x/../y",
    "/?",
    "/;p=1,2;q",
    "http://a.example/",
    "http://a.example/x?y",
    "http://A.Example:80/x",
    "http://a.example",
    "/a:b@c",
];

/// Lines that any request may have.
const REQUEST_FIELDS: &[&str] = &[
    "Accept: */*",
    "accept-encoding: gzip, br",
    "User-Agent: differ/1.0 (x; y)",
    "Cookie: a=b; c=\"d e\"",
    "X-One: 1",
    "X-One: 2",
    "x-empty:",
    "X-Blank:  \t",
    "X-Spaced:   a  b\t",
    "X-Under_score: u",
    "X.Dot: d",
    "X-Latin: \u{e9}\u{fc}",
    "TE: trailers",
    "TE: gzip;q=0.5, trailers",
    "TE: gzip",
    "Keep-Alive: timeout=5",
    "Proxy-Connection: keep-alive",
    "Via: 1.1 x",
    "If-None-Match: \"a\", W/\"b\"",
    "Range: bytes=0-10",
    "Content-Type: text/plain; charset=utf-8",
    "Max-Forwards: 3",
    "Connection: X-Other",
    "!#$%&'*+-.^`|~09: token",
];

/// A valid request and its method.
fn request(rng: &mut Rng, last: bool) -> (SentMessage, String) {
    if last && rng.chance(4) {
        return upgrade(rng);
    }
    let method = *rng.pick(METHODS);
    let target = if method == "OPTIONS" && rng.chance(40) { "*" } else { *rng.pick(TARGETS) };
    let old = rng.chance(12);
    let version = if old { "HTTP/1.0" } else { "HTTP/1.1" };
    let mut message = SentMessage::new(format!("{method} {target} {version}"));
    if !old || rng.chance(50) {
        message.field(*rng.pick(&["Host: a.example", "host:a.example", "HOST:  a.example "]));
    }
    for _ in 0..rng.below(6) {
        message.field(*rng.pick(REQUEST_FIELDS));
    }
    connection(&mut message, rng, old, last);
    let bodyless = matches!(method, "GET" | "HEAD" | "DELETE" | "OPTIONS");
    if rng.chance(if bodyless && old {
        0
    } else if bodyless {
        12
    } else {
        90
    }) {
        body(&mut message, rng, old, 3_000);
        if !old && rng.chance(10) {
            message.field("Expect: 100-continue");
        }
    }
    shuffle(&mut message, rng);
    (message, method.to_owned())
}

/// A request that changes the protocol when the origin agrees.
fn upgrade(rng: &mut Rng) -> (SentMessage, String) {
    if rng.chance(30) {
        let mut message = SentMessage::new("CONNECT a.example:8443 HTTP/1.1");
        message.field("Host: a.example:8443");
        return (message, "CONNECT".to_owned());
    }
    let mut message = SentMessage::new("GET /chat HTTP/1.1");
    message.field("Host: a.example");
    message.field("Connection: Upgrade");
    message.field("Upgrade: websocket");
    message.field("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==");
    message.field("Sec-WebSocket-Version: 13");
    (message, "UPGRADE".to_owned())
}

fn connection(message: &mut SentMessage, rng: &mut Rng, old: bool, last: bool) {
    match (old, last) {
        (true, false) => message.field("Connection: keep-alive"),
        (true, true) if rng.chance(40) => message.field("Connection: Keep-Alive"),
        (false, true) if rng.chance(60) => message.field("Connection: close"),
        (false, _) if rng.chance(15) => message.field("Connection: keep-alive"),
        _ => {}
    }
}

/// A body with the field that announces it.
fn body(message: &mut SentMessage, rng: &mut Rng, old: bool, most: usize) {
    let data = text(rng, most);
    if !old && rng.chance(45) {
        message.field(*rng.pick(&["Transfer-Encoding: chunked", "transfer-encoding:chunked"]));
        message.body = chunks(&data, rng);
    } else {
        message.field(format!("Content-Length: {}", data.len()));
        message.body = data;
    }
}

fn text(rng: &mut Rng, most: usize) -> Vec<u8> {
    let length = match rng.below(10) {
        0 => 0,
        1..=6 => rng.below(40),
        _ => rng.below(most),
    };
    (0..length).map(|_| b"abcdefgh\r\n0123 :"[rng.below(16)]).collect()
}

/// The chunked form of a body: sizes, extensions and trailers by chance.
fn chunks(data: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = data;
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(1 + rng.below(rest.len()));
        rest = after;
        let extension = if rng.chance(15) { ";a=b;c=\"d e\"" } else { "" };
        let size = match rng.below(3) {
            0 => format!("{:x}", chunk.len()),
            1 => format!("{:X}", chunk.len()),
            _ => format!("0{:x}", chunk.len()),
        };
        out.extend_from_slice(format!("{size}{extension}\r\n").as_bytes());
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(if rng.chance(10) { b"000;x\r\n" } else { b"0\r\n" });
    if rng.chance(20) {
        out.extend_from_slice(b"X-Trailer: t\r\nX-More:  u \r\n");
    }
    out.extend_from_slice(b"\r\n");
    out
}

fn shuffle(message: &mut SentMessage, rng: &mut Rng) {
    for index in (1..message.fields.len()).rev() {
        message.fields.swap(index, rng.below(index + 1));
    }
}

// ---- answers

const STATUSES: &[&str] = &[
    "200 OK",
    "200 OK",
    "200 OK",
    "200 ",
    "201 Created",
    "204 No Content",
    "206 Partial Content",
    "301 Moved",
    "304 Not Modified",
    "404 Not Found",
    "418 I'm a teapot",
    "500 Oops  two  spaces",
    "503 Service Unavailable",
];

const ANSWER_FIELDS: &[&str] = &[
    "Server: o",
    "Date: Sat, 21 Nov 2026 10:00:00 GMT",
    "Set-Cookie: a=b; path=/",
    "Set-Cookie: c=d",
    "X-Empty:",
    "Content-Type: text/html",
    "ETag: \"x\"",
    "Keep-Alive: timeout=5",
    "Connection: X-Foo",
    "Vary: *",
    "X-Latin: \u{e9}",
    "X-Under_score: u",
];

/// A valid answer to a request with this method.
fn answer(rng: &mut Rng, method: &str, to_old: bool) -> Answer {
    let (message, close) = answer_message(rng, method, to_old);
    let mut pieces = vec![message.bytes()];
    if !to_old && method != "UPGRADE" && rng.chance(8) {
        let interim = *rng.pick(&[
            "HTTP/1.1 100 Continue\r\n\r\n",
            "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n",
        ]);
        pieces.insert(0, interim.as_bytes().to_vec());
    }
    if rng.chance(15) {
        cut(&mut pieces, rng);
    }
    Answer { pieces, early: rng.chance(6), close }
}

/// `to_old`: the request is HTTP/1.0, so that neither chunks nor interim answers are allowed (RFC
/// 9112 section 6.1, RFC 9110 section 15.2).
fn answer_message(rng: &mut Rng, method: &str, to_old: bool) -> (SentMessage, bool) {
    if method == "UPGRADE" && rng.chance(80) {
        let mut message = SentMessage::new("HTTP/1.1 101 Switching Protocols");
        message.field("Connection: Upgrade");
        message.field("Upgrade: websocket");
        message.field("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        message.body = b"\x81\x05hello".to_vec();
        return (message, false);
    }
    if method == "CONNECT" && rng.chance(80) {
        let mut message = SentMessage::new("HTTP/1.1 200 Connected");
        message.body = b"opaque bytes".to_vec();
        return (message, false);
    }
    let old = rng.chance(8);
    let status = *rng.pick(STATUSES);
    let mut message = SentMessage::new(format!("HTTP/1.{} {status}", u8::from(!old)));
    for _ in 0..rng.below(4) {
        message.field(*rng.pick(ANSWER_FIELDS));
    }
    let bodyless = status.starts_with("204") || status.starts_with("304");
    let mut close = false;
    if bodyless {
        if status.starts_with("304") && rng.chance(30) {
            message.field("Content-Length: 10");
        }
    } else if rng.chance(8) {
        message.body = text(rng, 2_000);
        close = true;
    } else {
        let most = if rng.chance(5) { 60_000 } else { 2_000 };
        body(&mut message, rng, old || to_old, most);
    }
    if method == "HEAD" {
        message.body.clear();
        close = false;
    }
    if !close && rng.chance(10) {
        message.field("Connection: close");
        close = true;
    } else if old && rng.chance(30) {
        message.field("Connection: keep-alive");
    } else {
        close |= old;
    }
    shuffle(&mut message, rng);
    (message, close)
}

/// Makes another answer with one malformed part, and returns the description of that part.
fn spoil_answer(answer: &mut Answer, method: &str, rng: &mut Rng) -> String {
    let (mut message, _) = answer_message(rng, method, false);
    let flaw = flaws::answer(&mut message, rng);
    // An end that was not announced would race with the next request.
    let text = String::from_utf8_lossy(&message.bytes()).to_ascii_lowercase();
    let frames = ["content-length:", "transfer-encoding:", " 204 ", " 304 "];
    let framed = frames.iter().any(|it| text.contains(it));
    let close = text.contains("\r\nconnection: close\r\n") || !framed;
    *answer = Answer { pieces: vec![message.bytes()], early: rng.chance(10), close };
    if rng.chance(10) {
        cut(&mut answer.pieces, rng);
    }
    format!("answer: {flaw}")
}
