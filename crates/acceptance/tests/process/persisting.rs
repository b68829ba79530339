//! Requests that insist on a server, and servers that clients are sent to.

use crate::support::{LogReceiver, Origin, Setup, reply, shape};
use std::net::SocketAddr;

/// A port that is closed.
fn nowhere() -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address")
}

#[test]
fn persist_goes_to_the_server_that_is_down() {
    let (origin, log) = (Origin::saying("ok"), LogReceiver::new());
    let servers = "    cookie C insert\n    retries 1\n    timeout connect 100ms\n    \
         server d <nowhere> cookie d\n    server s <origin> cookie s";
    let bound = "GET / HTTP/1.1\r\nHost: test\r\nCookie: C=d\r\n\r\n";
    for (lines, status, line) in [
        ("", 200, "web app/s 200 --DI \"GET / HTTP/1.1\""),
        ("    option persist", 503, "web app/d 503 SCDN \"GET / HTTP/1.1\""),
        ("    option persist\n    option redispatch", 200, "web app/s 200 --DI \"GET / HTTP/1.1\""),
        ("    force-persist if TRUE", 503, "web app/d 503 SCDN \"GET / HTTP/1.1\""),
    ] {
        let setup = Setup::http("", &format!("{lines}\n{servers}")).with("nowhere", nowhere());
        let weir = setup.between(&origin, &log);
        weir.cli("set server app/d health down");
        assert_eq!(weir.web().ask(bound).status(), status, "{lines}");
        assert_eq!(shape(&log.find("\"GET / HTTP/1.1\"")), line, "{lines}");
    }
}

/// The close of an unused connection does not count against its server.
#[test]
fn a_stale_connection_does_not_move_a_session() {
    let bound = "GET / HTTP/1.1\r\nHost: test\r\nCookie: C=a\r\n\r\n";
    for lines in ["    option redispatch 1", "    option redispatch\n    retries 1"] {
        let first = Origin::new(|mut peer| {
            if peer.request().is_some() {
                peer.send(reply("200 OK", "first"));
            }
            peer.request();
        });
        let (second, log) = (Origin::saying("second"), LogReceiver::new());
        let back = format!(
            "{lines}\n    cookie C insert indirect\n    server a <origin> cookie a\n    \
             server b <b> cookie b"
        );
        let weir = Setup::http("", &back).with("b", second.address()).between(&first, &log);
        let mut client = weir.web();
        for number in 0..2 {
            let answer = client.ask(bound);
            assert_eq!((&*answer.text(), answer.header("set-cookie")), ("first", None), "{lines}");
            assert!(shape(&log.line()).starts_with("web app/a 200 --VN "), "{lines} {number}");
        }
        assert_eq!(weir.stat("app", "BACKEND", "wredis"), "0", "{lines}");
    }
}

#[test]
fn a_server_may_be_somewhere_else() {
    let (origin, log) = (Origin::saying("ok"), LogReceiver::new());
    let back = "    server s <origin> redir http://other.example";
    let weir = Setup::http("", back).between(&origin, &log);
    for method in ["GET", "HEAD"] {
        let mut client = weir.web();
        client.send(format!("{method} http://test/a?b HTTP/1.1\r\nHost: test\r\n\r\n"));
        let answer = client.head();
        let location = answer.header("location");
        assert_eq!((answer.status(), location), (302, Some("http://other.example/a?b")));
        client.expect_end();
        assert!(shape(&log.line()).starts_with("web app/s 302 LC-- "));
    }
    let request = "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\nab";
    assert_eq!(weir.web().ask(request).text(), "ok", "others are served");
}

#[test]
fn an_rdp_cookie_names_its_server_by_address() {
    let echo = |name: &'static str| {
        Origin::new(move |mut peer| {
            peer.client.take(20);
            peer.send(name);
        })
    };
    let (first, second) = (echo("first"), echo("second"));
    let weir = Setup::new(
        "global\n    nbthread 1\n\
         defaults\n    mode tcp\n    timeout connect 5s\n    timeout client 20s\n    \
         timeout server 20s\n\
         listen web\n    bind <web>\n    tcp-request inspect-delay 5s\n    \
         tcp-request content accept if RDP_COOKIE\n    persist rdp-cookie\n    balance first\n    \
         server a <a>\n    server b <b>\n",
    )
    .with("a", first.address())
    .with("b", second.address())
    .start();
    let ask = |port: u16| {
        let cookie = format!("Cookie: msts=16777343.{}.0000\r\n", port.swap_bytes());
        let length = u8::try_from(11 + cookie.len()).expect("a short cookie");
        let mut client = weir.web();
        client.send(
            [&[3, 0, 0, length, length - 5, 0xe0, 0, 0, 0, 0, 0], cookie.as_bytes()].concat(),
        );
        String::from_utf8(client.rest()).expect("a name")
    };
    assert_eq!(ask(second.address().port()), "second");
    assert_eq!(ask(first.address().port()), "first");
    assert_eq!(ask(1), "first", "nobody's address");
}
