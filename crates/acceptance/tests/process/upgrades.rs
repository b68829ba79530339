//! Clients that begin in TCP mode and continue in HTTP mode, and how TCP sessions without a server
//! end.

use crate::support::{LogReceiver, Moment, Origin, Running, Setup};
use std::time::Duration;

/// A frontend in TCP mode with these lines, a backend `app` in HTTP mode and one in TCP mode,
/// `raw`.
fn tcp(lines: &str, origin: &Origin, log: &LogReceiver) -> Running {
    Setup::new(&format!(
        "global\n    nbthread 1\n\
         defaults\n    timeout connect 5s\n    timeout client 20s\n    timeout server 20s\n    \
         timeout http-request 20s\n    log <log> format raw local0\n\
         frontend web\n    mode tcp\n    option tcplog\n    bind <web>\n{lines}\n\
         backend app\n    mode http\n    http-request add-header x-by app\n    server s <origin>\n\
         backend raw\n    mode tcp\n    server s <origin>\n"
    ))
    .between(origin, log)
}

const SWITCH: &str = "    tcp-request inspect-delay 10s\n    \
     tcp-request content set-var(req.mode) internal.strm.is_htx,iif(http,tcp)\n    \
     tcp-request content switch-mode http if HTTP\n    tcp-request content reject\n    \
     http-request set-header x-mode %[var(req.mode)]\n    \
     http-request return status 404 if { path /here }\n    default_backend app";

#[test]
fn switch_mode_makes_a_session_one_of_messages() {
    let (origin, log) = (Origin::saying("ok"), LogReceiver::new());
    let weir = tcp(SWITCH, &origin, &log);
    let mut client = weir.web();
    for _ in 0..2 {
        assert_eq!(client.get("/").text(), "ok");
    }
    assert_eq!(client.get("/here").status(), 404);
    let (first, second) = (origin.request(0), origin.request(1));
    assert_eq!(first.header("x-mode"), Some("tcp"), "rules before are not evaluated again");
    assert_eq!(second.header("x-mode"), Some("http"), "of others they are");
    assert_eq!((first.header("x-by"), second.header("x-by")), (Some("app"), Some("app")));
    for end in [" -- ", " -- ", " LR "] {
        let line = log.line();
        assert!(line.contains(end), "{line}");
    }
    let mut other = weir.web();
    other.send("hello\r\n\r\n");
    other.expect_end();
    let line = log.line();
    assert!(line.contains(" web/<NOSRV> ") && line.contains(" PR "), "{line}");
}

#[test]
fn a_backend_in_http_mode_switches_too() {
    let (origin, log) = (Origin::saying("ok"), LogReceiver::new());
    let weir = tcp("    default_backend app", &origin, &log);
    let mut client = weir.web();
    assert_eq!((client.get("/").text(), client.get("/").text()), ("ok".into(), "ok".into()));
    assert_eq!(origin.request(1).header("x-by"), Some("app"));
    let line = log.line();
    assert!(line.contains("] web app/s ") && line.contains(" -- "), "{line}");
    let mut other = weir.web();
    assert_eq!(other.ask("junk\r\n\r\n").status(), 400);
    other.expect_end();
}

#[test]
fn a_client_that_sends_no_preface_is_logged() {
    let (origin, log) = (Origin::saying("ok"), LogReceiver::new());
    let lines = "    timeout http-request 50ms\n    default_backend app";
    let weir = tcp(lines, &origin, &log);
    assert_eq!(weir.web().response().status(), 408);
}

#[test]
fn switch_mode_selects_the_protocol() {
    let (origin, log) = (Origin::saying("ok"), LogReceiver::new());
    const PREFACE: &str = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let weir = tcp(SWITCH, &origin, &log);
    let mut client = weir.web();
    client.send(PREFACE);
    assert_eq!(client.take(9)[3], 4, "SETTINGS, since this is HTTP/2");
    // No rule waits for the first bytes here.
    let weir = tcp("    default_backend app", &origin, &log);
    let mut client = weir.web();
    client.send(PREFACE);
    assert_eq!(client.take(9)[3], 4, "SETTINGS, since this is HTTP/2");
    let weir = tcp(&SWITCH.replace("http if", "http proto h1 if"), &origin, &log);
    assert_eq!(weir.web().ask(PREFACE).status(), 400);
    let weir = Setup::http("    bind <plain> proto h1", "    server s <origin>");
    let weir = weir.between(&origin, &log);
    assert_eq!(weir.connect("plain").ask(PREFACE).status(), 400, "as the line says");
}

#[test]
fn a_line_that_is_for_bytes_stays_so() {
    let (origin, log) = (Origin::saying("ok"), LogReceiver::new());
    let lines = SWITCH.to_owned() + "\n";
    let text = lines.replacen("    tcp", "    bind <plain> proto none\n    tcp", 1);
    let weir = tcp(&text, &origin, &log);
    let mut client = weir.connect("plain");
    client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    client.expect_end();
    let line = log.line();
    assert!(line.contains(" web/<NOSRV> ") && line.contains(" PR "), "{line}");
}

#[test]
fn messages_cannot_go_to_a_backend_for_bytes() {
    let (origin, log) = (Origin::saying("ok"), LogReceiver::new());
    let text = SWITCH.replace("default_backend app", "use_backend %[str(raw)]");
    let weir = tcp(&text, &origin, &log);
    assert_eq!(weir.web().get("/").status(), 500);
    let line = log.line();
    assert!(line.contains(" raw/<NOSRV> ") && line.contains(" IR "), "{line}");
}

#[test]
fn a_client_without_a_server_sees_the_end_of_the_stream() {
    let (origin, log) = (Origin::saying("ok"), LogReceiver::new());
    let reject = "    tcp-request inspect-delay 5s\n    \
         tcp-request content reject if { req.len gt 0 }\n    default_backend raw";
    for (lines, code) in [("", " SC "), (reject, " PR ")] {
        let weir = tcp(lines, &origin, &log);
        let mut client = weir.web();
        client.send("hello");
        assert!(client.ends_cleanly(), "a reset: {lines}");
        let line = log.line();
        assert!(line.contains(code), "{line}");
    }
}

/// Manual, `timeout http-keep-alive`: behind a frontend in TCP mode, that of the backend is used.
/// (HAProxy 2.6 does not: it waits for `timeout client`.)
#[test]
fn the_backend_sets_the_wait_for_the_next_request() {
    let (origin, log) = (Origin::saying("ok"), LogReceiver::new());
    for front in ["    default_backend quick", SWITCH] {
        let front = front.replace("backend app", "backend quick");
        let lines = format!(
            "{front}\nbackend quick\n    mode http\n    timeout http-keep-alive 150ms\n    \
             server s <origin>"
        );
        let weir = tcp(&lines, &origin, &log);
        let mut client = weir.web();
        client.expect_open("/");
        client.expect_open("/");
        let begin = Moment::now();
        client.expect_end();
        assert!(begin.elapsed() < Duration::from_secs(5), "{front}");
    }
}
