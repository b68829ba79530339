//! Requests in early data: which of them are forwarded before the handshake is over, and the
//! answers to those that are too early.

use crate::support::{
    Eager, EarlyOrigin, Identity, LogReceiver, Running, Secure, Setup, eventually,
};

const ROOM: u32 = 16_384;

/// Frontends and backends that never use a connection twice; log lines have this format.
fn start(log: &LogReceiver, format: &str, proxies: &str) -> Running {
    let text = format!(
        "global
    nbthread 1
    stats socket <dir>/cli level admin
defaults
    mode http
    timeout connect 5s
    timeout client 20s
    timeout server 20s
    http-reuse never
    log <log> format raw local0
    log-format \"{format}\"
{proxies}"
    );
    Setup::new(&text)
        .file("a.pem", &Identity::new("a.test", None).pem())
        .with("log", log.address())
        .start()
}

/// A proxy with these backends, each with its server's options and a line of its own.
fn edge(origin: &EarlyOrigin, log: &LogReceiver, backends: &[(&str, &str, &str)]) -> Running {
    let mut text = "frontend web
    bind <web> ssl crt <dir>/a.pem allow-0rtt
    bind <plain>
    use_backend %[path,field(2,/)]
"
    .to_owned();
    for (name, options, line) in backends {
        let server = format!("server s {} ssl verify none {options}", origin.address());
        text += &format!("backend {name}\n    {line}\n    {server}\n");
    }
    start(log, "%b/%s %ST %ts %rc %[bc_err] %[bc_err_str]", &text)
}

/// Sends a request without TLS; returns the status and the server's answer, which says when it got
/// the request.
fn ask(edge: &Running, request: &str) -> (u16, String) {
    let answer = edge.connect("plain").ask(format!("{request} HTTP/1.1\r\nHost: x\r\n\r\n"));
    (answer.status(), answer.text())
}

fn ok(text: &str) -> (u16, String) {
    (200, text.to_owned())
}

/// Sends a request in early data; the handshake continues when the server has received the request.
fn ask_early(edge: &Running, origin: &EarlyOrigin, target: &str, fields: &str) -> String {
    let mut client = Eager::new(edge);
    client.shake();
    client.ask("/nowhere");
    assert_eq!(client.answer(), "HTTP/1.1 503 Service Unavailable");
    client.again(edge);
    let before = origin.handshakes();
    assert!(client.say_early(&format!("GET {target} HTTP/1.1\r\nhost: x\r\n{fields}\r\n")));
    eventually("a server is asked", || (origin.handshakes() > before).then_some(()));
    client.shake();
    let answer = client.whole_answer();
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    format!("{} {body}", &head["HTTP/1.1 ".len().."HTTP/1.1 200".len()])
}

/// `allow-0rtt` of servers, with `retry-on 0rtt-rejected`.
#[test]
fn requests_go_early() {
    let (origin, log) = (EarlyOrigin::new(ROOM, "200 OK"), LogReceiver::new());
    let backends = [
        ("always", "allow-0rtt", "retry-on 0rtt-rejected"),
        ("any", "allow-0rtt", "retry-on all-retryable-errors"),
        ("named", "allow-0rtt alpn http/1.1", "retry-on 0rtt-rejected"),
    ];
    let edge = edge(&origin, &log, &backends);
    for (backend, ..) in backends {
        let get = format!("GET /{backend}");
        assert_eq!(ask(&edge, &get), ok("late"), "there is no session yet: {backend}");
        for request in [format!("POST /{backend}"), format!("DELETE /{backend}")] {
            assert_eq!(ask(&edge, &request), ok("late"), "it may change something: {request}");
        }
        assert_eq!(ask(&edge, &get), ok("early"), "{backend}");
        assert_eq!(ask(&edge, &get), ok("early"), "with the next session: {backend}");
        for _ in 0..5 {
            assert_eq!(log.line(), format!("{backend}/s 200 -- 0 0 Success"));
        }
    }
    let long = format!("GET /always/{}", "x".repeat(12_000));
    assert_eq!(ask(&edge, &long), ok("early"));
    let short = EarlyOrigin::new(5_000, "200 OK");
    let port = short.address().port();
    edge.cli(&format!("set server always/s addr 127.0.0.1 port {port}"));
    assert_eq!(ask(&edge, "GET /always"), ok("late"), "this one does not know it");
    assert_eq!(ask(&edge, &long), ok("late"), "it is too long");
    assert_eq!(ask(&edge, "GET /always"), ok("early"));
}

#[test]
fn requests_wait_for_the_handshake() {
    let (origin, log) = (EarlyOrigin::new(ROOM, "200 OK"), LogReceiver::new());
    let backends = [
        ("unasked", "allow-0rtt", ""),
        ("forbidden", "", "retry-on 0rtt-rejected"),
        ("unrepeated", "allow-0rtt no-ssl-reuse", "retry-on 0rtt-rejected"),
        ("unsure", "allow-0rtt alpn h2,http/1.1", "retry-on 0rtt-rejected"),
        ("once", "allow-0rtt", "retry-on 0rtt-rejected\n    retries 0"),
        ("final", "allow-0rtt", "retry-on 0rtt-rejected\n    http-request disable-l7-retry"),
    ];
    let edge = edge(&origin, &log, &backends);
    for (backend, ..) in backends {
        for _ in 0..2 {
            assert_eq!(ask(&edge, &format!("GET /{backend}")), ok("late"), "{backend}");
        }
    }
}

/// Clients that have asked early themselves, and say so or not.
#[test]
fn requests_go_as_early_as_they_came() {
    let (origin, log) = (EarlyOrigin::new(ROOM, "200 OK"), LogReceiver::new());
    let backends = [("asked", "allow-0rtt", ""), ("forbidden", "", "retry-on 0rtt-rejected")];
    let edge = edge(&origin, &log, &backends);
    assert_eq!(ask(&edge, "GET /asked"), ok("late"));
    assert_eq!(ask(&edge, "GET /asked"), ok("late"));
    assert_eq!(ask_early(&edge, &origin, "/asked", ""), "200 early, told");
    assert_eq!(ask_early(&edge, &origin, "/forbidden", ""), "200 late, told");
    let mut client = Secure::connect(edge.address("web"), "a.test");
    assert_eq!(client.get("/asked"), "late", "this one has waited");
}

/// `retry-on 0rtt-rejected`, and a server that has forgotten its sessions.
#[test]
fn a_server_may_refuse_to_be_asked_early() {
    let (origin, log) = (EarlyOrigin::new(ROOM, "200 OK"), LogReceiver::new());
    let backends =
        [("always", "allow-0rtt", "retry-on 0rtt-rejected"), ("asked", "allow-0rtt", "")];
    let edge = edge(&origin, &log, &backends);
    let other = EarlyOrigin::new(ROOM, "200 OK");
    let port = other.address().port();
    for backend in ["always", "asked"] {
        assert_eq!(ask(&edge, &format!("GET /{backend}")), ok("late"));
        edge.cli(&format!("set server {backend}/s addr 127.0.0.1 port {port}"));
        log.line();
    }
    assert_eq!(ask(&edge, "GET /always"), ok("late"));
    assert_eq!(log.line(), "always/s 200 -- 1 0 Success");
    assert_eq!(edge.stat("always", "s", "wretr"), "1");
    assert_eq!(other.handshakes(), 1, "the connection that stands will do");
    let answer = ask_early(&edge, &other, "/asked", "");
    assert!(answer.starts_with("425 "), "{answer}");
    log.line();
    assert_eq!(log.line(), "asked/s 425 SC 0 38 Server refused early data");
    assert_eq!(edge.stat("asked", "s", "econ"), "1");
    let answer = ask_early(&edge, &other, "/asked", "");
    assert_eq!(answer, "200 late, told", "a session is tried once");
    assert_eq!(ask_early(&edge, &other, "/asked", ""), "200 early, told", "there is another");
}

/// `retry-on 425` (RFC 8470 section 5.2).
#[test]
fn a_server_may_find_a_request_too_early() {
    let (origin, log) = (EarlyOrigin::new(ROOM, "425 Too Early"), LogReceiver::new());
    let backends = [
        ("always", "allow-0rtt", "retry-on 0rtt-rejected"),
        ("asked", "allow-0rtt", ""),
        ("again", "allow-0rtt", "retry-on 425"),
    ];
    let edge = edge(&origin, &log, &backends);
    let retries = |backend: &str| edge.stat(backend, "s", "wretr");
    for (backend, ..) in backends {
        assert_eq!(ask(&edge, &format!("GET /{backend}")), ok("late"));
    }
    assert_eq!(ask(&edge, "GET /always"), ok("late"), "the client cannot help it");
    assert_eq!(retries("always"), "1");
    assert_eq!(ask_early(&edge, &origin, "/asked", ""), "425 early, told");
    assert_eq!(retries("asked"), "0");
    assert_eq!(ask_early(&edge, &origin, "/again", ""), "200 late", "now it is safe");
    assert_eq!(retries("again"), "1");
    let answer = ask_early(&edge, &origin, "/again", "early-data: 1\r\n");
    assert_eq!(answer, "425 early, told", "somebody behind the client knows better");
    assert_eq!(retries("again"), "1");
}

/// A client may take its time.
#[test]
fn a_request_that_waits_for_its_client_takes_no_server_slot() {
    let (origin, log) = (EarlyOrigin::new(ROOM, "425 Too Early"), LogReceiver::new());
    let edge = edge(&origin, &log, &[("one", "allow-0rtt maxconn 1", "retry-on 425")]);
    assert_eq!(ask(&edge, "GET /one"), ok("late"));
    let mut client = Eager::new(&edge);
    client.shake();
    client.ask("/nowhere");
    assert_eq!(client.answer(), "HTTP/1.1 503 Service Unavailable");
    client.again(&edge);
    assert!(client.ask_early("/one"));
    eventually("a server is asked", || (origin.handshakes() == 2).then_some(()));
    let stat = |name| edge.stat("one", "s", name);
    eventually("its place is free", || (stat("scur") == "0").then_some(()));
    assert_eq!(ask(&edge, "GET /one"), ok("late"), "another has it");
    client.shake();
    assert!(client.whole_answer().ends_with("late"));
    // Each attempt is a session: two requests at once, and one that was sent twice.
    assert_eq!(["qcur", "stot", "wretr"].map(stat), ["0", "4", "1"]);
    eventually("its place is free again", || (stat("scur") == "0").then_some(()));
}

#[test]
fn a_connection_counts_when_its_handshake_is_over() {
    let (origin, log) = (EarlyOrigin::new(ROOM, "200 OK"), LogReceiver::new());
    let edge = edge(&origin, &log, &[("one", "allow-0rtt", "retry-on 0rtt-rejected")]);
    assert_eq!(ask(&edge, "GET /one"), ok("late"));
    let gone = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = gone.local_addr().expect("a bound socket").port();
    std::thread::spawn(move || gone.incoming().for_each(drop));
    edge.cli(&format!("set server one/s addr 127.0.0.1 port {port}"));
    assert_eq!(ask(&edge, "GET /one").0, 503);
    assert_eq!(edge.stat("one", "s", "connect"), "1");
}

/// Streams that begin early wait for the end of the handshake, also where a session has become
/// theirs by its first bytes.
#[test]
fn streams_wait_for_the_handshake() {
    let log = LogReceiver::new();
    let text = "frontend web
    mode tcp
    bind <web> ssl crt <dir>/a.pem allow-0rtt
    tcp-request inspect-delay 5s
    tcp-request content switch-mode http if { req.len gt 0 }
    default_backend none
backend none
";
    let edge = start(&log, "%ST %[ssl_fc_has_early]", text);
    let mut client = Eager::new(&edge);
    client.shake();
    client.ask("/");
    assert_eq!(client.answer(), "HTTP/1.1 503 Service Unavailable");
    assert_eq!(log.line(), "503 0");
    client.again(&edge);
    let fields = "\0\x07:method\x03GET\0\x07:scheme\x05https\0\x05:path\x01/\0\x0a:authority\x01x";
    let length = char::from(fields.len() as u8);
    let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    assert!(client.say_early(&format!("{preface}\0\0{length}\x01\x05\0\0\0\x01{fields}")));
    client.shake();
    assert_eq!(log.line(), "503 0");
}
