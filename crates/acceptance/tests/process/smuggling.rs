//! Requests that two programs might read differently (RFC 9112 section 11.2): each is refused, or
//! reaches the server as one message with one length.
//!
//! After every request another client sends one over the same server connections and must get the
//! answer to its own request.

use crate::support::{Message, Origin, Running, Setup, reply, serve_forever};

/// The request that an attacker hides in another one.
const HIDDEN: &str = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";

/// The outcome of a request.
#[derive(Debug)]
enum Fate {
    /// The client gets this status, and no server gets the request.
    Refused(u16),
    /// The server gets the request with this body, and nothing else.
    Taken(String),
}

use Fate::{Refused, Taken};

/// A POST with these field lines and this body.
fn post(fields: &str, body: &str) -> String {
    format!("POST /open HTTP/1.1\r\nHost: a\r\n{fields}\r\n{body}")
}

/// The hidden request as a chunk, and the end of chunks.
fn as_chunk() -> String {
    format!("{:x}\r\n{HIDDEN}\r\n0\r\n\r\n", HIDDEN.len())
}

/// Field lines about the length of [`HIDDEN`]; `{n}` in a field is replaced by the body's length.
fn sized(fields: &str) -> String {
    post(&fields.replace("{n}", &HIDDEN.len().to_string()), HIDDEN)
}

fn whole() -> Fate {
    Taken(HIDDEN.to_owned())
}

/// Two fields that disagree: the coding counts, and the connection ends with the request.
fn length_and_coding() -> Vec<(String, Fate)> {
    let after_end = format!("0\r\n\r\n{HIDDEN}");
    let both = |first: &str, second: &str| format!("{first}\r\n{second}\r\n");
    let (length, coding) =
        (format!("Content-Length: {}", after_end.len()), "Transfer-Encoding: chunked");
    vec![
        (post(&both(&length, coding), &after_end), Taken(String::new())),
        (post(&both(coding, &length), &after_end), Taken(String::new())),
        (post(&both("Content-Length: 4", coding), &as_chunk()), whole()),
        (post(&both("Content-Length: 0", coding), &as_chunk()), whole()),
        (post("Content-Length: 6\r\nTransfer-Encoding:\r\n chunked\r\n", &as_chunk()), whole()),
    ]
}

/// Codings that one program may take for `chunked` and another may not.
fn odd_codings() -> Vec<(String, Fate)> {
    let codings = [
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: x",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding: chunked,",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: \u{b}chunked",
        "Transfer-Encoding: chunked;q=1",
        "Transfer-Encoding: \"chunked\"",
        "Transfer-Encoding: chun\0ked",
        "Transfer-Encoding : chunked",
        "Transfer-Encoding\t: chunked",
        "\u{b}Transfer-Encoding: chunked",
        "X: y\rTransfer-Encoding: chunked",
        "Transfer-Encoding",
        "Transfer-Encoding:",
    ];
    let refused =
        |coding: &&str| (sized(&format!("Content-Length: {{n}}\r\n{coding}\r\n")), Refused(400));
    let mut cases: Vec<_> = codings.iter().map(refused).collect();
    let two = "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n";
    cases.push((post(two, &as_chunk()), Refused(422)));
    // No coding at all: another field, or a part of one.
    for field in ["X: y\r\n Transfer-Encoding: chunked", "Transfer_Encoding: chunked"] {
        cases.push((sized(&format!("Content-Length: {{n}}\r\n{field}\r\n")), whole()));
    }
    cases
}

/// Lengths that are read differently.
fn odd_lengths() -> Vec<(String, Fate)> {
    let lengths = [
        "Content-Length: {n}\r\nContent-Length: 0",
        "Content-Length: {n}, 0",
        "Content-Length: +{n}",
        "Content-Length: -{n}",
        "Content-Length: 0x{n}",
        "Content-Length: {n} {n}",
        "Content-Length: {n}.0",
        "Content-Length: 1844674407370955161{n}",
        "Content-Length: \u{b}{n}",
        "Content-Length : {n}",
        "Content-Length:",
    ];
    let refused = |length: &&str| (sized(&format!("{length}\r\n")), Refused(400));
    let mut cases: Vec<_> = lengths.iter().map(refused).collect();
    for length in [
        "Content-Length: {n}\r\nContent-Length: {n}",
        "Content-Length: {n}, {n}",
        "Content-Length:\r\n {n}",
        "Content-Length: 000{n}",
        "Connection: content-length\r\nContent-Length: {n}",
    ] {
        cases.push((sized(&format!("{length}\r\n")), whole()));
    }
    cases.push((sized("Content-Length: {n}\r\n").replace("POST", "GET"), whole()));
    cases.push((sized("Content-Length: {n}\r\n").replacen("\r\n", "\n", 4), whole()));
    cases
}

/// Chunks whose beginning or end other implementations see at another place.
fn odd_chunks() -> Vec<(String, Fate)> {
    let chunked = |body: &str| post("Transfer-Encoding: chunked\r\n", body);
    let size = HIDDEN.len();
    let refused = [
        format!("{size:x}\n{HIDDEN}\r\n0\r\n\r\n"),
        format!("{size:x}\r\n{HIDDEN}\n0\r\n\r\n"),
        format!("{size:x}\r\n{HIDDEN}xx0\r\n\r\n"),
        format!("{size:x};x\n{HIDDEN}\r\n0\r\n\r\n"),
        format!("{size:x};x=\"\r\n{HIDDEN}\r\n0\r\n\r\n"),
        format!("{size:x};\rx\r\n{HIDDEN}\r\n0\r\n\r\n"),
        format!("0x{size:x}\r\n{HIDDEN}\r\n0\r\n\r\n"),
        format!("+{size:x}\r\n{HIDDEN}\r\n0\r\n\r\n"),
        format!("-{size:x}\r\n{HIDDEN}\r\n0\r\n\r\n"),
        format!(" {size:x}\r\n{HIDDEN}\r\n0\r\n\r\n"),
        format!("100000000000000{size:x}\r\n{HIDDEN}\r\n0\r\n\r\n"),
        format!("\r\n{HIDDEN}\r\n0\r\n\r\n"),
        format!("0\r\nX : y\r\n\r\n{HIDDEN}"),
    ];
    let mut cases: Vec<_> = refused.iter().map(|body| (chunked(body), Refused(400))).collect();
    for field in ["Content-Length: 9", "Transfer-Encoding: chunked", "Host: b", "HOST: a"] {
        let body = format!("{size:x}\r\n{HIDDEN}\r\n0\r\nX: y\r\n{field}\r\n\r\n");
        cases.push((chunked(&body), Refused(400)));
    }
    cases.push((chunked(&format!("{size:x};a=\"b;c\"\r\n{HIDDEN}\r\n0;z\r\n\r\n")), whole()));
    cases.push((chunked(&format!("000{size:x} \r\n{HIDDEN}\r\n000\r\n\r\n")), whole()));
    let trailers = "0\r\nConnection: close\r\nTE: trailers\r\nContent_Length: 9\r\n\r\n";
    cases.push((chunked(&format!("{size:x}\r\n{HIDDEN}\r\n{trailers}")), whole()));
    cases
}

fn start(origin: &Origin) -> Running {
    let back = "    http-reuse always\n    server s <origin>";
    Setup::http("", back).with("origin", origin.address()).start()
}

/// Whether a message announces its length in a single way.
fn has_one_length(request: &Message) -> bool {
    let fields = request.all("content-length").count() + request.all("transfer-encoding").count();
    fields == 1
}

/// Sends one request and the bytes behind it, then sends a request as another client.
fn play(weir: &Running, origin: &Origin, request: &str, fate: &Fate) {
    let before = origin.requests().len();
    let mut client = weir.web();
    let _ = client.try_send(request);
    client.half_close();
    let answers = String::from_utf8_lossy(&client.rest()).into_owned();
    let mut other = weir.web();
    for _ in 0..2 {
        assert_eq!(other.get("/other").text(), "/other", "after {request:?}");
    }
    let seen = origin.requests().split_off(before);
    let (others, seen): (Vec<_>, Vec<_>) = seen.iter().partition(|it| it.target() == "/other");
    assert_eq!(others.len(), 2, "after {request:?}");
    match fate {
        Refused(status) => {
            assert!(answers.starts_with(&format!("HTTP/1.1 {status} ")), "{request:?}: {answers}");
            assert!(seen.is_empty(), "{request:?} reached the server: {seen:?}");
        }
        Taken(body) => {
            assert!(answers.starts_with("HTTP/1.1 200 "), "{request:?}: {answers}");
            assert_eq!(seen.len(), 1, "{request:?}: {seen:?}");
            assert_eq!((seen[0].target(), &*seen[0].text()), ("/open", body.as_str()));
            assert!(has_one_length(seen[0]), "{request:?}: {:?}", seen[0].headers);
            assert_eq!(answers.matches("HTTP/1.1 ").count(), 1, "{request:?}: {answers}");
        }
    }
}

#[test]
fn no_request_hides_in_another() {
    let origin = Origin::new(|peer| {
        serve_forever(peer, |request| reply("200 OK", request.target()).into_bytes());
    });
    let weir = start(&origin);
    let classes = [length_and_coding(), odd_codings(), odd_lengths(), odd_chunks()];
    for (request, fate) in classes.iter().flatten() {
        play(&weir, &origin, request, fate);
    }
}

#[test]
fn no_line_comes_out_of_a_template() {
    let origin = Origin::new(|peer| {
        serve_forever(peer, |request| reply("200 OK", request.target()).into());
    });
    let front = "    http-request replace-header X-A .* \"%[req.hdr(x-b)]\"\n    \
                 http-request replace-path .* \"/%[req.hdr(x-b)]\"";
    let weir = Setup::http(front, "    server s <origin>").with("origin", origin.address()).start();
    let said = r"a\x0d\x0aEvil:\x0d\x0a\x0d\x0aGET";
    let request = format!("GET / HTTP/1.1\r\nHost: a\r\nX-A: a\r\nX-B: {said}\r\n\r\n");
    let heard = "a%0D%0AEvil:%0D%0A%0D%0AGET";
    let mut client = weir.web();
    assert_eq!(client.ask(request).text(), format!("/{heard}"));
    assert_eq!(origin.requests().len(), 1);
    assert_eq!(origin.request(0).header("x-a"), Some(heard));
}

#[test]
fn length_fields_that_rules_write_do_not_split_messages() {
    let origin = Origin::new(|peer| {
        serve_forever(peer, |request| reply("200 OK", request.target()).into());
    });
    let front = "    http-request set-header Content-Length 40 if { path /set }\n    \
                 http-request add-header Content-Length 40 if { path /add }\n    \
                 http-request set-header Transfer-Encoding chunked if { path /coded }\n    \
             http-response add-header Content-Length 40";
    let weir = Setup::http(front, "    server s <origin>").with("origin", origin.address()).start();
    let mut client = weir.web();
    let targets = ["/set", "/add", "/coded", "/plain"];
    for target in targets {
        let answer = client.get(target);
        assert_eq!((answer.status(), answer.text()), (200, target.to_owned()));
        assert_eq!(answer.all("content-length").count(), 1, "{target}");
    }
    let body = "POST /add HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
    assert_eq!(client.ask(body).text(), "/add");
    client.expect_open("/end");
    let seen = origin.requests();
    let heard: Vec<_> = seen.iter().map(Message::target).collect();
    assert_eq!(heard, ["/set", "/add", "/coded", "/plain", "/add", "/end"]);
    for request in &seen[..4] {
        assert_eq!(
            (request.header("content-length"), request.header("transfer-encoding")),
            (None, None)
        );
    }
    assert_eq!(seen[4].all("content-length").collect::<Vec<_>>(), ["3"]);
    assert_eq!(origin.connections(), 1, "nothing has upset the server");
}
