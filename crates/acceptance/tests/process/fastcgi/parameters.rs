//! Parameters and bodies of requests.

use super::*;
use mux::BodyKind;

#[test]
fn an_application_gets_the_parameters_of_the_manual() {
    let (app, log) = (Responder::answering(HELLO), LogReceiver::new());
    let lines = "    index index.php\n    path-info ^(/.+\\.php)(/.*)?$\n    \
                 set-param REDIRECT_STATUS 200\n    set-param EMPTY %[str()]\n    \
                 set-param OVER yes if { path_beg /over }\n    acl secret path_beg /a\n    \
                 pass-header Authorization if secret";
    let back = "    http-request set-header x-fetch \"%[fcgi.docroot] %[fcgi.index]\"";
    let weir = weir(lines, back, &app, &log);
    let mut client = weir.web();
    let (port, own) = (weir.address("web").port().to_string(), client.local().port().to_string());
    let answer = client.ask(
        "GET /a/index.php/p%20i?q=1&r HTTP/1.1\r\nHost: www.x.org:8001\r\nX-Dup: 1\r\nx-dup: 2\r\n\
         X_Under: 1\r\nProxy: evil\r\nAuthorization: Basic dTpw\r\nTE: trailers\r\n\r\n",
    );
    assert_eq!((answer.status(), answer.text().as_str()), (200, "hello"));
    assert!(answer.header("date").is_some(), "the date of an answer without one");
    let request = app.request(0);
    assert!(request.keep_conn);
    for (name, value) in [
        ("HTTP_HOST", "www.x.org:8001"),
        ("HTTP_AUTHORIZATION", "Basic dTpw"),
        ("HTTP_X_FETCH", "/var/www index.php"),
        ("AUTH_TYPE", "Basic"),
        ("REMOTE_USER", "u"),
        ("REDIRECT_STATUS", "200"),
        ("GATEWAY_INTERFACE", "CGI/1.1"),
        ("DOCUMENT_ROOT", "/var/www"),
        ("SCRIPT_NAME", "/a/index.php"),
        ("PATH_INFO", "/p i"),
        ("REQUEST_URI", "/a/index.php/p%20i?q=1&r"),
        ("REQUEST_METHOD", "GET"),
        ("QUERY_STRING", "q=1&r"),
        ("SERVER_NAME", "www.x.org:8001"),
        ("SERVER_PORT", &port),
        ("SERVER_PROTOCOL", "HTTP/1.1"),
        ("REMOTE_ADDR", "127.0.0.1"),
        ("REMOTE_PORT", &own),
        ("SCRIPT_FILENAME", "/var/www/a/index.php"),
        ("PATH_TRANSLATED", "/var/www/p i"),
        ("CONTENT_LENGTH", "0"),
    ] {
        assert_eq!(request.param(name), Some(value), "{name}");
    }
    assert_eq!(request.all("HTTP_X_DUP"), ["1", "2"]);
    assert!(request.param("SERVER_SOFTWARE").is_some_and(|it| it.starts_with("HAProxy ")));
    for absent in ["HTTP_X_UNDER", "HTTP_PROXY", "HTTP_TE", "EMPTY", "OVER", "HTTPS"] {
        assert_eq!(request.param(absent), None, "{absent}");
    }
}

#[test]
fn conditions_and_the_index_decide_by_request() {
    let (app, log) = (Responder::answering(HELLO), LogReceiver::new());
    let lines = "    index index.php\n    set-param OVER yes if { path_beg /over }\n    \
                 set-param REQUEST_METHOD OTHER unless { path_beg /over }\n    \
                 pass-header Authorization if { path_beg /pass }";
    let weir = weir(lines, "", &app, &log);
    let mut client = weir.web();
    client.ask("GET /over/? HTTP/1.1\r\nHost: h\r\nAuthorization: Basic dTpw\r\n\r\n");
    let request = app.request(0);
    assert_eq!(request.param("OVER"), Some("yes"));
    assert_eq!(request.param("SCRIPT_FILENAME"), Some("/var/www/over/index.php"));
    assert_eq!((request.param("QUERY_STRING"), request.param("PATH_INFO")), (None, None));
    assert_eq!(request.param("HTTP_AUTHORIZATION"), None);
    client.get("/other");
    assert_eq!(app.request(1).param("REQUEST_METHOD"), Some("OTHER"));
    client.ask("GET /pass HTTP/1.1\r\nHost: h\r\nAuthorization: Basic dTpw\r\n\r\n");
    assert_eq!(app.request(2).param("HTTP_AUTHORIZATION"), Some("Basic dTpw"));
}

#[test]
fn paths_that_lead_elsewhere_reach_no_application() {
    let (app, log) = (Responder::answering(HELLO), LogReceiver::new());
    let weir = weir("    path-info ^(/.+\\.php)(/.*)?$", "", &app, &log);
    for (target, status, state) in [
        ("/x%0a.php", 500, "IH--"),
        ("/x%00.php", 500, "IH--"),
        ("/../x.php", 403, "PH--"),
        ("/a/%2e%2e/%2e%2e/x.php", 403, "PH--"),
        ("/a.php/../../x", 403, "PH--"),
    ] {
        assert_eq!(weir.web().get(target).status(), status, "{target}");
        let line = log.line();
        assert!(line.contains(&format!(" {status} ")) && line.contains(state), "{line}");
    }
    assert_eq!(weir.web().get("/a/../x.php").status(), 200);
    assert_eq!(app.requests().len(), 1);
}

#[test]
fn header_names_with_other_characters_are_deleted_unless_an_option_says_otherwise() {
    for (option, status, seen) in [
        ("", 200, None),
        ("    option http-restrict-req-hdr-names delete", 200, None),
        ("    option http-restrict-req-hdr-names preserve", 200, Some("1")),
        ("    option http-restrict-req-hdr-names reject", 403, None),
    ] {
        let (app, log) = (Responder::answering(HELLO), LogReceiver::new());
        let weir = weir("", option, &app, &log);
        let answer = weir.web().ask("GET / HTTP/1.1\r\nHost: h\r\nX_Under: 1\r\n\r\n");
        assert_eq!(answer.status(), status, "{option}");
        if status == 200 {
            assert_eq!(app.request(0).param("HTTP_X_UNDER"), seen, "{option}");
        }
    }
}

/// Bodies of 0 bytes to 1 MB, with a length and in chunks, by either version of HTTP.
#[test]
fn bodies_arrive_whole_with_their_length() {
    let (app, log) = (Responder::answering(HELLO), LogReceiver::new());
    let weir = weir("", "", &app, &log);
    let mut number = 0;
    for size in [0, 1, 16_384, 40_000, 1_000_000] {
        let body: Vec<u8> = (0..size).map(|at: usize| at as u8).collect();
        let head = format!("POST /x.php HTTP/1.1\r\nHost: h\r\nContent-Length: {size}\r\n\r\n");
        let answer = weir.web().ask([head.as_bytes(), &body].concat());
        assert_eq!(answer.status(), 200, "{size}");
        let request = app.request(number);
        assert_eq!(request.param("CONTENT_LENGTH"), Some(&*size.to_string()));
        assert!(request.stdin == body, "{size}");
        number += 1;
    }
    let head = "POST /x.php HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
    let mut client = weir.web();
    client.send(format!("{head}3\r\nabc\r\n"));
    client.send("4\r\ndefg\r\n0\r\n\r\n");
    assert_eq!(client.response().status(), 200);
    let request = app.request(number);
    assert_eq!(request.param("CONTENT_LENGTH"), Some("7"));
    assert_eq!(request.stdin, b"abcdefg");
    let large = format!("{head}7530\r\n{}", "x".repeat(30_000));
    assert_eq!(weir.web().ask(large).status(), 400, "a body of unknown length, beyond a buffer");
    assert_eq!(app.requests().len(), number + 1);
}

#[test]
fn a_body_is_asked_for_when_its_client_waits() {
    let (app, log) = (Responder::answering(HELLO), LogReceiver::new());
    let weir = weir("", "", &app, &log);
    let mut client = weir.web();
    client.send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    assert_eq!(client.head().status(), 100);
    client.send("abc");
    assert_eq!(client.response().status(), 200);
    assert_eq!(app.request(0).stdin, b"abc");
    assert_eq!(app.request(0).param("HTTP_EXPECT"), None);
}

#[test]
fn clients_of_http_2_are_served_alike() {
    let (app, log) = (Responder::answering(HELLO), LogReceiver::new());
    let weir = weir("", "", &app, &log);
    let mut talker = Talker::connect(weir.address("web"), 2, false);
    talker.begin("POST /x.php?a", &[("x-a", "1")], BodyKind::Length(4));
    talker.say(b"body");
    talker.end(&[]);
    let heard = talker.hear();
    assert_eq!((heard.status, &heard.body[..]), (200, &b"hello"[..]));
    let request = app.request(0);
    assert_eq!(request.param("SERVER_PROTOCOL"), Some("HTTP/2.0"));
    assert_eq!((request.param("HTTP_X_A"), &request.stdin[..]), (Some("1"), &b"body"[..]));
}

#[test]
fn parameters_beyond_a_record_are_refused() {
    let (app, log) = (Responder::answering(HELLO), LogReceiver::new());
    let lines = format!("    set-param LONG {}", "%[str(0123456789abcdef),bytes(0,16)]".repeat(40));
    let lines = format!("{lines}\n    set-param DOUBLE %[req.hdr(x-long)]");
    let weir = weir(&lines, "", &app, &log);
    let request = |len: usize| {
        let long = "x".repeat(len);
        weir.web().ask(format!("GET / HTTP/1.1\r\nHost: h\r\nX-Long: {long}\r\n\r\n")).status()
    };
    assert_eq!((request(7_000), request(8_000)), (200, 500));
    assert_eq!(app.requests().len(), 1);
}
