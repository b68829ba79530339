//! Peers that are too slow: replies and log lines.

use crate::support::{LogReceiver, Moment, Origin, Setup, eventually, pass, reply, shape};
use std::time::Duration;

const REQUEST_TIMEOUT: &str = "HTTP/1.1 408 Request Time-out\r\nContent-length: 110\r\n\
    Cache-Control: no-cache\r\nConnection: close\r\nContent-Type: text/html\r\n\r\n\
    <html><body><h1>408 Request Time-out</h1>\n\
    Your browser didn't send a complete request in time.\n</body></html>\n";

const GATEWAY_TIMEOUT: &str = "HTTP/1.1 504 Gateway Time-out\r\ncontent-length: 92\r\n\
    cache-control: no-cache\r\ncontent-type: text/html\r\n\r\n\
    <html><body><h1>504 Gateway Time-out</h1>\n\
    The server didn't respond in time.\n</body></html>\n";

#[test]
fn a_request_that_never_ends_is_a_408() {
    let log = LogReceiver::new();
    let origin = Origin::saying("hello");
    let weir = Setup::http("    timeout http-request 150ms", "    server s <origin>")
        .between(&origin, &log);
    let mut client = weir.web();
    client.send("GET / HTTP/1.1\r\nHo");
    let begin = Moment::now();
    assert_eq!(String::from_utf8_lossy(&client.rest()), REQUEST_TIMEOUT);
    assert!(begin.elapsed() < Duration::from_secs(5));
    assert_eq!(shape(&log.line()), "web web/<NOSRV> 408 cR-- \"<BADREQ>\"");
    assert_eq!(origin.connections(), 0);
    assert_eq!(weir.stat("web", "FRONTEND", "ereq"), "1");
}

#[test]
fn a_silent_client_gets_a_408_too() {
    let log = LogReceiver::new();
    let weir = Setup::http("    timeout client 150ms", "").with("log", log.address()).start();
    assert_eq!(String::from_utf8_lossy(&weir.web().rest()), REQUEST_TIMEOUT);
    assert_eq!(shape(&log.line()), "web web/<NOSRV> 408 cR-- \"<BADREQ>\"");
}

#[test]
fn an_idle_connection_is_closed_without_a_response() {
    let log = LogReceiver::new();
    let origin = Origin::saying("hello");
    let weir = Setup::http("    timeout http-keep-alive 100ms", "    server s <origin>")
        .between(&origin, &log);
    let mut client = weir.web();
    client.expect_open("/");
    client.expect_end();
    assert!(log.line().contains(" 200 "));
    assert_eq!(log.lines_for(Duration::from_millis(100)), Vec::<String>::new());
}

/// Manual, `timeout http-keep-alive`: empty lines are no new request, and do not refresh the
/// timeout.
#[test]
fn empty_lines_after_a_body_begin_no_request() {
    let log = LogReceiver::new();
    let front = "    timeout http-keep-alive 150ms\n    timeout http-request 10s\n    \
                 http-request return status 200";
    let weir = Setup::http(front, "").with("log", log.address()).start();
    let post = "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\nhi";
    let mut client = weir.web();
    // In one piece with the body, and in one of their own.
    client.send(format!("{post}\r\n"));
    assert_eq!(client.response().status(), 200);
    client.send("\r\n\n");
    let begin = Moment::now();
    client.expect_end();
    assert!(begin.elapsed() < Duration::from_secs(5));
    let mut client = weir.web();
    client.send(format!("{post}\r\n\r\n{post}\r\n"));
    assert_eq!([client.response().status(), client.response().status()], [200, 200]);
    client.close();
    for _ in 0..3 {
        assert!(log.line().contains(" 200 "));
    }
    assert_eq!(log.lines_for(Duration::from_millis(100)), Vec::<String>::new());
}

#[test]
fn probes_can_be_ignored() {
    let log = LogReceiver::new();
    let front = "    option http-ignore-probes\n    timeout client 100ms";
    let weir = Setup::http(front, "").with("log", log.address()).start();
    weir.web().expect_end();
    weir.web().close();
    assert_eq!(log.lines_for(Duration::from_millis(300)), Vec::<String>::new());
    assert_eq!(weir.stat("web", "FRONTEND", "ereq"), "0");
}

#[test]
fn a_client_without_a_request_is_logged_without_dontlognull() {
    let log = LogReceiver::new();
    let weir = Setup::http("", "").with("log", log.address()).start();
    weir.web().close();
    assert_eq!(shape(&log.line()), "web web/<NOSRV> 400 CR-- \"<BADREQ>\"");

    let weir = Setup::http("    option dontlognull", "").with("log", log.address()).start();
    let mut client = weir.web();
    client.half_close();
    assert!(client.rest().starts_with(b"HTTP/1.1 400 Bad request\r\n"));
    assert_eq!(log.lines_for(Duration::from_millis(200)), Vec::<String>::new());
}

#[test]
fn a_server_that_does_not_answer_is_a_504() {
    let log = LogReceiver::new();
    let origin = Origin::new(|mut peer| {
        peer.request();
        let _ = peer.client.rest();
    });
    let weir =
        Setup::http("", "    timeout server 150ms\n    server s <origin>").between(&origin, &log);
    let mut client = weir.web();
    let answer = client.get("/");
    assert_eq!(String::from_utf8_lossy(&answer.raw), GATEWAY_TIMEOUT);
    assert_eq!(shape(&log.line()), "web app/s 504 sH-- \"GET / HTTP/1.1\"");
    assert_eq!(client.get("/").status(), 504, "the connection is kept");
    assert_eq!(weir.stat("app", "s", "eresp"), "2");
}

#[test]
fn a_server_that_stops_within_a_body_ends_the_connection() {
    let log = LogReceiver::new();
    let origin = Origin::new(|mut peer| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
        let _ = peer.client.rest();
    });
    let weir =
        Setup::http("", "    timeout server 150ms\n    server s <origin>").between(&origin, &log);
    let mut client = weir.web();
    client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    client.head();
    assert_eq!(client.rest(), b"half");
    assert_eq!(shape(&log.line()), "web app/s 200 sD-- \"GET / HTTP/1.1\"");
}

/// A client stalls in its body: returns the answer that it gets, and its log line.
fn stall_in_a_body(front: &str, back: &str) -> (String, String) {
    let log = LogReceiver::new();
    let origin = Origin::new(|mut peer| {
        peer.client.head();
        let _ = peer.client.rest();
    });
    let weir = Setup::http(front, &format!("{back}\n    server s <origin>")).between(&origin, &log);
    let mut client = weir.web();
    client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\nhalf");
    let answer = String::from_utf8_lossy(&client.rest()).into_owned();
    (answer.lines().next().unwrap_or_default().to_owned(), shape(&log.line()))
}

#[test]
fn a_client_that_stops_within_its_body_has_the_server_s_time() {
    let (front, back) = ("    timeout client 100ms", "    timeout server 300ms");
    let (answer, line) = stall_in_a_body(front, back);
    assert_eq!(answer, "HTTP/1.1 504 Gateway Time-out");
    assert_eq!(line, "web app/s 504 sH-- \"POST / HTTP/1.1\"");
}

#[test]
fn a_client_that_stops_within_its_body_has_its_own_time_when_the_server_has_no_limit() {
    let (front, back) = ("    timeout client 150ms", "    timeout server 0");
    let (answer, line) = stall_in_a_body(front, back);
    assert_eq!(answer, "");
    assert_eq!(line, "web app/s -1 cD-- \"POST / HTTP/1.1\"");
}

/// Longer than the limits of half-closed tunnels.
const IDLE: Duration = Duration::from_millis(300);

/// The time for which a tunnel stays after one side has closed and the other is silent.
fn half_closed_tunnel(client_closes: bool, timeout: &str) -> (Duration, String) {
    let log = LogReceiver::new();
    let origin = Origin::new(move |mut peer| {
        peer.request();
        peer.send("HTTP/1.1 101 Go\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
        if !client_closes {
            pass(IDLE);
            peer.client.half_close();
        }
        let _ = peer.client.rest();
        pass(Duration::from_secs(3));
    });
    let back = format!("    timeout tunnel 20s\n{timeout}\n    server s <origin>");
    let (front, back) = match timeout.contains("client") {
        true => (timeout, back.replace(timeout, "")),
        false => ("", back),
    };
    let weir = Setup::http(front, &back).between(&origin, &log);
    let mut client = weir.web();
    client.send("GET / HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
    assert_eq!(client.head().status(), 101);
    let begin = Moment::now();
    if client_closes {
        pass(IDLE);
        client.half_close();
    }
    let line = log.line();
    (begin.elapsed(), shape(&line))
}

#[test]
fn half_closed_tunnels_have_limits_of_their_own() {
    let (took, line) = half_closed_tunnel(true, "    timeout server-fin 150ms");
    assert_eq!(line, "web app/s 101 sD-- \"GET / HTTP/1.1\"");
    // The limit begins with the end of the other direction.
    assert!((IDLE + IDLE / 3..Duration::from_secs(3)).contains(&took), "{took:?}");
    let (took, line) = half_closed_tunnel(false, "    timeout client-fin 150ms");
    assert_eq!(line, "web app/s 101 cD-- \"GET / HTTP/1.1\"");
    assert!((IDLE + IDLE / 3..Duration::from_secs(3)).contains(&took), "{took:?}");
}

#[test]
fn the_time_in_a_tarpit_is_logged_as_that_in_a_queue() {
    let log = LogReceiver::new();
    let origin = Origin::saying("ok");
    let front = "    timeout tarpit 200ms\n    http-request tarpit if { path / }";
    let weir = Setup::http(front, "    server s <origin>").between(&origin, &log);
    assert_eq!(weir.web().get("/").status(), 500);
    let line = log.line();
    let times = line.split(' ').find(|word| word.matches('/').count() == 4).expect("the times");
    let times: Vec<i64> = times.split('/').map(|it| it.parse().expect("a number")).collect();
    // Timers count in begun milliseconds: one of 200 may end after 199 and a bit.
    assert!(times[0] == -1 && (199..=times[4]).contains(&times[1]), "{line}");
    assert!(line.contains(" PT-- "), "{line}");
}

#[test]
fn a_tarpit_ends_when_its_client_leaves_in_the_middle_of_a_body() {
    let (log, origin) = (LogReceiver::new(), Origin::saying("ok"));
    let front = "    timeout tarpit 60s\n    http-request tarpit";
    let weir = Setup::http(front, "    server s <origin>").between(&origin, &log);
    let mut client = weir.web();
    client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 100000\r\n\r\n");
    client.send(vec![b'x'; 60_000]);
    eventually("it is held", || (weir.stat("web", "FRONTEND", "req_tot") == "1").then_some(()));
    client.close();
    assert!(log.line().contains(" PT-- "));
}

#[test]
fn a_client_that_stops_reading_is_cut_off() {
    let log = LogReceiver::new();
    let origin = Origin::new(|mut peer| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 50000000\r\n\r\n");
        peer.send(vec![b'x'; 50_000_000]);
    });
    let weir =
        Setup::http("    timeout client 200ms", "    server s <origin>").between(&origin, &log);
    let mut client = weir.web();
    client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    client.head();
    let line = log.line();
    assert!(line.contains(" app/s ") && line.contains(" cD-- "), "{line}");
}

#[test]
fn slow_but_steady_is_in_time() {
    let origin = Origin::new(|mut peer| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n");
        for byte in "steady".bytes() {
            pass(Duration::from_millis(60));
            peer.send([byte]);
        }
    });
    let weir = Setup::http("", "    timeout server 250ms\n    server s <origin>")
        .with("origin", origin.address())
        .start();
    assert_eq!(weir.web().get("/").text(), "steady");
}

#[test]
fn an_unreachable_server_is_a_503_when_the_connect_timeout_is_over() {
    // A backlog of one that is full takes no connection and refuses none.
    let log = LogReceiver::new();
    let full = Full::new();
    let weir = Setup::http("", "    timeout connect 100ms\n    retries 0\n    server s <origin>")
        .with("origin", full.address)
        .with("log", log.address())
        .start();
    assert_eq!(weir.web().get("/").status(), 503);
    assert_eq!(shape(&log.line()), "web app/s 503 sC-- \"GET / HTTP/1.1\"");
}

/// `option abortonclose`: a client that leaves ends the connection attempt for its request.
#[test]
fn a_client_that_leaves_ends_the_attempt_to_connect() {
    for shut in [true, false] {
        let (full, log) = (Full::new(), LogReceiver::new());
        let back = "    option abortonclose\n    timeout connect 20s\n    retries 0\n    \
                    server s <origin>";
        let weir =
            Setup::http("", back).with("origin", full.address).with("log", log.address()).start();
        let mut client = weir.web();
        client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
        let begun = || (weir.stat("app", "s", "scur") == "1").then_some(());
        eventually("the server is asked", begun);
        match shut {
            true => client.half_close(),
            false => client.close(),
        }
        assert_eq!(shape(&log.line()), "web app/s -1 CC-- \"GET / HTTP/1.1\"");
    }
}

/// A listener without accepts, its backlog filled.
struct Full {
    address: std::net::SocketAddr,
    listener: i32,
    _clients: Vec<std::net::TcpStream>,
}

impl Full {
    fn new() -> Self {
        let options = sys::listen::Options { backlog: 1, ..Default::default() };
        let any = "127.0.0.1:0".parse().expect("an address");
        let listener = sys::listen::tcp(any, &options).expect("a port");
        let address = sys::socket::local_address(listener).expect("a listening socket");
        let mut clients = Vec::new();
        let patience = Duration::from_millis(100);
        while let Ok(client) = std::net::TcpStream::connect_timeout(&address, patience) {
            clients.push(client);
        }
        Self { address, listener, _clients: clients }
    }
}

impl Drop for Full {
    fn drop(&mut self) {
        sys::close(self.listener);
    }
}

#[test]
fn keep_alive_waits_as_long_as_it_may() {
    let origin = Origin::new(|peer| {
        crate::support::serve_forever(peer, |_| reply("200 OK", "x").into_bytes());
    });
    let front = "    timeout http-request 100ms\n    timeout http-keep-alive 10s";
    let weir = Setup::http(front, "    server s <origin>").with("origin", origin.address()).start();
    let mut client = weir.web();
    client.expect_open("/1");
    pass(Duration::from_millis(300));
    client.expect_open("/2");
    client.send("GET /3");
    assert!(client.rest().starts_with(b"HTTP/1.1 408 "), "the next request has its own limit");
}

/// Whether a session on which only the client speaks, every 40 ms, outlives these lines.
fn outlives(front: &str, back: &str, http: bool) -> bool {
    let origin = Origin::new(|mut peer| drop(peer.client.rest()));
    let back = format!("{back}\n    server s <origin>");
    let weir = Setup::http(front, &back).between(&origin, &LogReceiver::new());
    let mut client = weir.web();
    if http {
        client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n");
    }
    let (begin, mut open) = (Moment::now(), true);
    while open && begin.elapsed() < Duration::from_millis(3_000) {
        open = client.try_send("x").is_ok() && !client.has_ended();
        pass(Duration::from_millis(40));
    }
    open
}

#[test]
fn sent_bytes_do_not_reset_timeouts_with_independent_streams() {
    let (tcp, time) = ("    mode tcp", "    timeout server 1500ms");
    let option = format!("{time}\n    option independent-streams");
    std::thread::scope(|scope| {
        for (http, mode) in [(false, tcp), (true, "")] {
            for (lines, open) in [(time, true), (&*option, false)] {
                scope.spawn(move || {
                    let back = format!("{mode}\n{lines}");
                    assert_eq!(outlives(mode, &back, http), open, "http: {http}: {lines}");
                });
            }
        }
    });
}

/// As in HAProxy, a client that is silent for too long counts as half-closed, and the server's own
/// timeout continues.
#[test]
fn a_silent_client_of_tcp_mode_gets_the_last_bytes_of_its_server() {
    for (limit, heard, late) in [("20s", "ab", true), ("500ms", "a", false)] {
        let log = LogReceiver::new();
        let origin = Origin::new(move |mut peer| {
            peer.send("a");
            let told = peer.client.rest();
            assert_eq!(told, b"x", "it is told that no more comes");
            if late {
                pass(Duration::from_millis(300));
                peer.send("b");
            } else {
                pass(Duration::from_secs(2));
            }
        });
        let front = "    mode tcp\n    timeout client 200ms\n    log-format \"%B %ts\"";
        let back = format!("    mode tcp\n    timeout server {limit}\n    server s <origin>");
        let weir = Setup::http(front, &back).between(&origin, &log);
        let mut client = weir.web();
        client.send("x");
        assert_eq!(String::from_utf8_lossy(&client.rest()), heard, "{limit}");
        assert_eq!(log.line(), format!("{} cD", heard.len()), "{limit}");
    }
}
