//! Answers of applications: heads, bodies, error output, and malformed answers.

use super::*;

#[test]
fn heads_of_answers_become_those_of_http() {
    for (output, status, reason, header, body) in [
        ("Status: 404 Nope\r\nContent-Length: 2\r\n\r\nhi", 404, "Nope", None, "hi"),
        ("Status: 404\r\n\r\n", 404, "Not Found", None, ""),
        ("Location: http://a/b\r\n\r\n", 302, "Found", Some(("location", "http://a/b")), ""),
        ("Location: /b\r\nStatus: 201 Made\r\n\r\n", 201, "Made", Some(("location", "/b")), ""),
        ("Content-Type: a\n\nhello", 200, "OK", Some(("content-type", "a")), "hello"),
        ("X: 1\r\nConnection: close\r\n\r\nok", 200, "OK", Some(("x", "1")), "ok"),
    ] {
        let (app, log) = (Responder::answering(output), LogReceiver::new());
        let weir = weir("", "", &app, &log);
        let mut client = weir.web();
        for _ in 0..2 {
            let answer = client.get("/x.php");
            assert_eq!(answer.status(), status, "{output}");
            let line = answer.start.clone();
            assert!(line.contains(reason) || status == 302, "{line}");
            if let Some((name, value)) = header {
                assert_eq!(answer.header(name), Some(value), "{output}");
            }
            assert_eq!(answer.text(), body, "{output}");
            assert_eq!(answer.header("content-length"), Some(&*body.len().to_string()));
        }
        assert_eq!(app.connections(), 1, "{output}");
    }
}

#[test]
fn answers_of_unknown_length_are_sent_as_they_come() {
    let (send, receive) = std::sync::mpsc::channel::<()>();
    let receive = std::sync::Mutex::new(receive);
    let app = Responder::new(move |conn| {
        let Some(request) = conn.request() else { return };
        conn.send(STDOUT, request.id, b"Content-Type: a\r\n\r\none");
        receive.lock().expect("one request").recv().expect("a word of the test");
        conn.send(STDOUT, request.id, b"two");
        let _ = conn.stream.write_all(&end(request.id, 0));
        let _ = conn.request();
    });
    let log = LogReceiver::new();
    let weir = weir("", "", &app, &log);
    let mut client = weir.web();
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    let head = client.head();
    assert_eq!(head.header("transfer-encoding"), Some("chunked"));
    assert_eq!(client.take(8), b"3\r\none\r\n");
    send.send(()).expect("the application waits");
    assert_eq!(client.take(13), b"3\r\ntwo\r\n0\r\n\r\n");
}

#[test]
fn long_answers_pass_whole_and_heads_have_no_body() {
    let body: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect();
    let output = [&b"Content-Type: a\r\n\r\n"[..], &body].concat();
    let (app, log) = (Responder::answering(output), LogReceiver::new());
    let weir = weir("", "", &app, &log);
    let mut client = weir.web();
    assert!(client.get("/").body == body);
    let answer = weir.web().ask("HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    assert_eq!((answer.status(), answer.body.len()), (200, 0));
}

/// FastCGI has no tunnels; an application that switches protocols must not leave the client in one.
#[test]
fn an_application_never_switches_protocols() {
    for protocol in ["h2c", "foo"] {
        let output =
            format!("Status: 101\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n\r\nPRI");
        let (app, log) = (Responder::answering(output), LogReceiver::new());
        let weir = weir("", "", &app, &log);
        let mut client = weir.web();
        client.send(format!(
            "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: {protocol}\r\n\
             HTTP2-Settings: AAMAAABk\r\n\r\n"
        ));
        assert_eq!(client.response().status(), 502, "{protocol}");
        let request = app.request(0);
        assert_eq!(request.param("HTTP_HTTP2_SETTINGS"), None);
        assert_ne!(request.param("HTTP_UPGRADE"), Some("h2c"));
    }
}

#[test]
fn error_output_is_logged_and_never_sent() {
    let app = Responder::new(|conn| {
        while let Some(request) = conn.request() {
            conn.send(STDERR, request.id, b"PHP Warning: x\nsecond \x1b[31mline\n");
            conn.send(STDOUT, request.id, b"Content-Type: a\r\n\r\nok");
            conn.send(STDERR, request.id, b"late");
            let _ = conn.stream.write_all(&end(request.id, 0));
        }
    });
    let (log, errors) = (LogReceiver::new(), LogReceiver::new());
    let lines = format!("    log-stderr {} format raw local0", errors.address());
    let weir = weir(&lines, "", &app, &log);
    let answer = weir.web().get("/");
    assert_eq!(answer.text(), "ok");
    assert_eq!(errors.line(), "PHP Warning: x");
    assert_eq!(errors.line(), "second ?[31mline");
    assert_eq!(errors.line(), "late");
}

/// A name, records for a request id, and the status and termination state that they cause.
type Case = (&'static str, fn(u16) -> Vec<u8>, u16, &'static str);

/// Each of these ends in the documented status, and the next request is served.
#[test]
fn answers_that_are_none_are_refused_and_hold_no_other_request() {
    let cases: &[Case] = &[
        ("no header", |id| [record(STDOUT, id, b"hello"), end(id, 0)].concat(), 502, "PH--"),
        ("empty", |id| end(id, 0), 502, "PH--"),
        ("empty stdout", |id| [record(STDOUT, id, b""), end(id, 0)].concat(), 502, "PH--"),
        (
            "a line feed first",
            |id| [record(STDOUT, id, b"\nhello"), end(id, 0)].concat(),
            502,
            "PH--",
        ),
        ("a NUL", |id| [record(STDOUT, id, b"A: \0\r\n\r\n"), end(id, 0)].concat(), 502, "PH--"),
        (
            "a bad status",
            |id| [record(STDOUT, id, b"Status: 1\r\n\r\n"), end(id, 0)].concat(),
            502,
            "PH--",
        ),
        (
            "short of its length",
            |id| [record(STDOUT, id, b"Content-Length: 9\r\n\r\nab"), end(id, 0)].concat(),
            502,
            "PH--",
        ),
        ("overloaded", |id| end(id, 2), 503, "PH--"),
        ("multiplexing refused", |id| end(id, 1), 503, "PH--"),
        ("an unknown role", |id| end(id, 3), 502, "PH--"),
        ("an unknown status", |id| end(id, 9), 502, "PH--"),
        ("another version", |_| b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), 502, "PH--"),
        ("request 0", |_| record(STDOUT, 0, b"A: b\r\n\r\n"), 502, "PH--"),
        ("a record of clients", |id| record(4, id, b""), 502, "PH--"),
        ("an end that is too short", |id| record(3, id, &[0; 4]), 502, "PH--"),
        ("a flood of nothing", |id| record(STDERR, id, b"").repeat(1_100), 502, "PH--"),
    ];
    for (name, bytes, status, state) in cases {
        let bytes = *bytes;
        let app = Responder::new(move |conn: &mut AppConn| {
            while let Some(request) = conn.request() {
                match request.param("SCRIPT_NAME") {
                    Some("/bad") => _ = conn.stream.write_all(&bytes(request.id)),
                    _ => conn.answer(&request, HELLO),
                }
            }
        });
        let log = LogReceiver::new();
        let weir = weir("", "    retries 0", &app, &log);
        assert_eq!(weir.web().get("/bad").status(), *status, "{name}");
        let line = log.line();
        assert!(line.contains(&format!(" {status} ")) && line.contains(state), "{name}: {line}");
        assert_eq!(weir.web().get("/good").text(), "hello", "{name}");
    }
}

#[test]
fn connections_that_close_inside_an_answer_end_it() {
    for (output, status, state) in [
        (&b""[..], 502, "SH--"),
        (b"Content-Type: a", 502, "SH--"),
        (b"Content-Length: 9\r\n\r\nab", 200, "SD--"),
        (b"Content-Type: a\r\n\r\nab", 200, "SD--"),
    ] {
        let app = Responder::new(move |conn| {
            let Some(request) = conn.request() else { return };
            if !output.is_empty() {
                conn.send(STDOUT, request.id, output);
            }
        });
        let log = LogReceiver::new();
        let weir = weir("", "", &app, &log);
        let mut client = weir.web();
        client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_eq!(client.head().status(), status);
        let line = log.line();
        assert!(line.contains(state), "{line}");
    }
}
