//! Payload in every framing, both ways.

use crate::support::{LogReceiver, Message, Origin, Running, Setup, pass, reply, shape};
use std::time::Duration;

fn start(origin: &Origin) -> Running {
    Setup::http("", "    server s <origin>").with("origin", origin.address()).start()
}

/// Answers with the request's own body, framed as its path says.
fn echo(request: &Message) -> Vec<u8> {
    match request.target() {
        "/chunked" => {
            let mut answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
            for piece in request.body.chunks(7) {
                answer.extend_from_slice(format!("{:X};ext=\"1\"\r\n", piece.len()).as_bytes());
                answer.extend_from_slice(piece);
                answer.extend_from_slice(b"\r\n");
            }
            answer.extend_from_slice(b"0\r\nX-Sum: Done\r\n\r\n");
            answer
        }
        _ => reply("200 OK", &request.text()).into_bytes(),
    }
}

fn echoing() -> Origin {
    Origin::new(|peer| crate::support::serve_forever(peer, echo))
}

#[test]
fn a_body_with_a_length_goes_both_ways() {
    let origin = echoing();
    let weir = start(&origin);
    let mut client = weir.web();
    for size in [0, 1, 1_000, 16_384, 100_000] {
        let body = "b".repeat(size);
        let answer = client
            .ask(format!("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: {size}\r\n\r\n{body}"));
        assert_eq!(answer.text(), body);
        assert_eq!(answer.header("content-length"), Some(size.to_string().as_str()));
    }
}

#[test]
fn chunks_are_framed_anew_without_extensions_and_with_trailers() {
    let origin = echoing();
    let weir = start(&origin);
    let mut client = weir.web();
    client.send("POST /chunked HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: Chunked\r\n\r\n");
    client.send("5;name=value\r\nhello\r\n");
    client.send("1\r\n \r\n00005\r\nworld\r\n0\r\nX-Check: Yes\r\n\r\n");
    let answer = client.response();
    assert_eq!(answer.text(), "hello world");
    assert_eq!(answer.header("transfer-encoding"), Some("chunked"));
    assert_eq!(answer.trailers, ["x-sum: Done"]);
    let sent = origin.request(0);
    assert_eq!(sent.text(), "hello world");
    assert_eq!(sent.trailers, ["x-check: Yes"]);
    client.expect_open("/");
}

#[test]
fn five_megabytes_go_both_ways() {
    let origin = echoing();
    let weir = start(&origin);
    let body: Vec<u8> = (0..5_000_000).map(|n: u32| b'a' + (n / 1_000 % 26) as u8).collect();
    for target in ["/", "/chunked"] {
        let mut client = weir.web();
        client.send(format!(
            "PUT {target} HTTP/1.1\r\nHost: test\r\nContent-Length: {}\r\n\r\n",
            body.len()
        ));
        client.send(&body);
        assert!(client.response().body == body, "the body came back changed");
        client.expect_open("/");
    }
}

#[test]
fn five_megabytes_in_chunks_arrive() {
    let origin = echoing();
    let weir = start(&origin);
    let mut client = weir.web();
    client.send("PUT / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n");
    for number in 0..50u8 {
        client.send("186A0\r\n");
        client.send(vec![b'A' + number % 26; 100_000]);
        client.send("\r\n");
    }
    client.send("0\r\n\r\n");
    assert_eq!(client.response().body.len(), 5_000_000);
    client.expect_open("/");
}

#[test]
fn a_slow_reader_holds_the_origin_back_and_gets_everything() {
    let origin = Origin::new(|mut peer| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 20000000\r\n\r\n");
        peer.send(vec![b's'; 20_000_000]);
    });
    let weir = start(&origin);
    let mut client = weir.web();
    client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    let head = client.head();
    assert_eq!(head.status(), 200);
    pass(Duration::from_millis(200));
    let idle = weir.cpu_seconds();
    pass(Duration::from_millis(300));
    assert!(weir.cpu_seconds() - idle <= 0.05, "it spins while the client does not read");
    assert_eq!(client.finish(head, false).body.len(), 20_000_000);
}

#[test]
fn a_request_that_comes_byte_by_byte_is_understood() {
    let origin = echoing();
    let weir = start(&origin);
    let mut client = weir.web();
    let request = "POST /x HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n\
                   3\r\nabc\r\n0\r\n\r\n";
    for byte in request.bytes() {
        client.send([byte]);
    }
    assert_eq!(client.response().text(), "abc");
}

#[test]
fn a_response_that_comes_byte_by_byte_is_passed_on() {
    let origin = Origin::new(|mut peer| {
        peer.request();
        for byte in
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n".bytes()
        {
            peer.send([byte]);
        }
    });
    let weir = start(&origin);
    assert_eq!(weir.web().get("/").text(), "abc");
}

#[test]
fn expect_is_for_the_server_to_answer() {
    let origin = Origin::new(|mut peer| {
        let head = peer.client.head();
        assert_eq!(head.header("expect"), Some("100-continue"));
        peer.send("HTTP/1.1 100 Continue\r\n\r\n");
        let request = peer.client.finish(head, false);
        peer.send(reply("200 OK", &request.text()));
    });
    let log = LogReceiver::new();
    let weir = Setup::http("", "    server s <origin>").between(&origin, &log);
    let mut client = weir.web();
    client
        .send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(client.head().start, "HTTP/1.1 100 Continue");
    client.send("data");
    assert_eq!(client.response().text(), "data");
    assert_eq!(shape(&log.line()), "web app/s 200 ---- \"POST / HTTP/1.1\"");
}

#[test]
fn only_the_expectation_that_is_met_is_kept_from_the_server() {
    let origin = Origin::answering(reply("200 OK", ""));
    let log = LogReceiver::new();
    let text = "    option http-buffer-request\n    server s <origin>";
    let weir = Setup::http("", text).between(&origin, &log);
    for fields in
        ["Expect: 100-continue\r\nExpect: 100-continue, x\r\n", "Expect: 100-continue, y\r\n"]
    {
        let mut client = weir.web();
        client.send(format!("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\n{fields}\r\n"));
        assert_eq!(client.head().start, "HTTP/1.1 100 Continue");
        client.send("data");
        assert_eq!(client.response().status(), 200);
    }
    assert_eq!(origin.request(0).all("expect").collect::<Vec<_>>(), ["100-continue, x"]);
    assert_eq!(origin.request(1).all("expect").collect::<Vec<_>>(), ["y"]);
}

#[test]
fn interim_responses_are_passed_on() {
    let origin = Origin::new(|mut peer| {
        while peer.request().is_some() {
            peer.send(
                "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n",
            );
            peer.send(reply("200 OK", "final"));
        }
    });
    let weir = start(&origin);
    let mut client = weir.web();
    client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    let hints = client.head();
    assert_eq!((hints.status(), hints.header("link")), (103, Some("</a>")));
    assert_eq!(client.head().status(), 103);
    assert_eq!(client.response().text(), "final");
    client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    assert_eq!([client.head().status(), client.head().status()], [103, 103]);
    assert_eq!(client.response().text(), "final");
    assert_eq!(origin.connections(), 1);
}

/// RFC 9110 section 15.2: clients before HTTP/1.1 do not know interim responses.
#[test]
fn an_old_client_gets_no_interim_response() {
    let origin = Origin::new(|mut peer| {
        peer.request();
        peer.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
        peer.send(reply("200 OK", "final"));
    });
    let weir = start(&origin);
    let answer = weir.web().ask("GET / HTTP/1.0\r\n\r\n");
    assert_eq!((answer.status(), answer.text().as_str()), (200, "final"));
}

#[test]
fn responses_without_a_body_leave_the_connection_usable() {
    let origin = Origin::new(|mut peer| {
        while let Some(request) = peer.request() {
            peer.send(match request.target() {
                "/204" => "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n".to_owned(),
                "/304" => {
                    "HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\nETag: \"x\"\r\n\r\n".into()
                }
                _ if request.start.starts_with("HEAD") => {
                    "HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n".into()
                }
                _ => reply("200 OK", "body"),
            });
        }
    });
    let weir = start(&origin);
    let mut client = weir.web();
    client.send("HEAD / HTTP/1.1\r\nHost: test\r\n\r\n");
    assert_eq!(client.head().header("content-length"), Some("1234"));
    let answer = client.get("/204");
    assert_eq!((answer.status(), answer.header("content-length")), (204, None));
    assert_eq!(client.get("/304").header("etag"), Some("\"x\""));
    client.expect_open("/");
    assert_eq!(origin.connections(), 1);
}

#[test]
fn a_response_without_a_length_ends_with_its_connection() {
    let origin = Origin::new(|mut peer| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\n\r\n");
        peer.send("until the end");
    });
    let log = LogReceiver::new();
    let weir = Setup::http("", "    server s <origin>").between(&origin, &log);
    let mut client = weir.web();
    let answer = client.get("/");
    assert_eq!(answer.header("connection"), Some("close"));
    assert_eq!(answer.header("transfer-encoding"), None);
    assert_eq!(answer.text(), "until the end");
    assert_eq!(shape(&log.line()), "web app/s 200 ---- \"GET / HTTP/1.1\"");
}

#[test]
fn chunks_become_plain_for_an_old_client() {
    let origin = Origin::answering(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nold\r\n0\r\n\r\n",
    );
    let weir = start(&origin);
    let mut client = weir.web();
    let answer = client.ask("GET / HTTP/1.0\r\n\r\n");
    assert_eq!(answer.header("transfer-encoding"), None);
    assert_eq!((answer.header("connection"), answer.text().as_str()), (Some("close"), "old"));
}

#[test]
fn header_names_go_out_in_lower_case_and_order() {
    let origin = Origin::answering(
        "HTTP/1.1 200 OK\r\nX-B: 1\r\nX-A: 2\r\nX-b: 3\r\nContent-Length: 0\r\n\r\n",
    );
    let weir = start(&origin);
    let answer = weir.web().ask("GET / HTTP/1.1\r\nHOST: test\r\nX-Two: 2\r\nX-One:  1 \r\n\r\n");
    let names: Vec<&str> = answer.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["x-b", "x-a", "x-b", "content-length"]);
    let sent = String::from_utf8(origin.request(0).raw).expect("text");
    assert_eq!(sent, "GET / HTTP/1.1\r\nhost: test\r\nx-two: 2\r\nx-one: 1\r\n\r\n");
}

#[test]
fn a_client_that_leaves_while_its_body_is_waited_for_reaches_no_server() {
    let origin = Origin::saying("hello");
    let log = LogReceiver::new();
    let weir = Setup::http("    option http-buffer-request", "    server s <origin>")
        .between(&origin, &log);
    let mut client = weir.web();
    client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\nhalf");
    client.close();
    assert_eq!(shape(&log.line()), "web app/<NOSRV> -1 CR-- \"POST / HTTP/1.1\"");
    assert_eq!(origin.connections(), 0);
    let mut client = weir.web();
    client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\n\r\nwh");
    client.send("ole");
    assert_eq!(client.response().text(), "hello");
    assert_eq!(origin.request(0).text(), "whol");
}

/// `option http-buffer-request` and `http-request wait-for-body`, as measured.
#[test]
fn a_request_is_complete_once_its_awaited_body_has_arrived() {
    for front in [
        "    option http-buffer-request\n    timeout http-request 300ms",
        "    http-request wait-for-body time 300ms",
    ] {
        let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
        let weir = Setup::http(front, "    server s <origin>").between(&origin, &log);
        let head = "POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n";
        for (rest, status, ending) in [("", 408, "cR"), ("zz\r\n", 400, "PR")] {
            let mut client = weir.web();
            client.send(head);
            pass(Duration::from_millis(30));
            client.send(rest);
            assert_eq!(client.response().status(), status, "{front}");
            client.expect_end();
            let line = log.line();
            let expected = format!("web web/<NOSRV> {status} {ending}-- \"POST / HTTP/1.1\"");
            assert_eq!(shape(&line), expected, "{front}");
            assert!(line.contains(" -1/-1/-1/-1/"), "{line}");
        }
        assert_eq!(weir.stat("web", "FRONTEND", "ereq"), "2", "{front}");
        assert_eq!(origin.connections(), 0, "{front}");
        let mut client = weir.web();
        client.send(head);
        pass(Duration::from_millis(100));
        client.send("0\r\n\r\n");
        assert_eq!(client.response().text(), "hello", "{front}");
        let line = log.line();
        let times = line.split(' ').find(|word| word.matches('/').count() == 4).expect("times");
        let times: Vec<i32> = times.split('/').map(|it| it.parse().expect("a time")).collect();
        assert!(times[0] >= 90 && times[1] < 90, "the request takes long, not the queue: {line}");
    }
}

#[test]
fn rules_may_wait_for_the_body_of_a_response() {
    let origin = Origin::new(|mut peer| {
        while let Some(request) = peer.request() {
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n");
            pass(Duration::from_millis(30));
            peer.send("abc");
            if request.target() != "/slow" {
                peer.send("def");
            }
        }
    });
    let back = "    http-response wait-for-body time 300ms if { status 200 }\n    \
                http-response set-header x-body %[res.body]\n    server s <origin>";
    let weir = Setup::http("", back).with("origin", origin.address()).start();
    let answer = weir.web().get("/");
    assert_eq!((answer.header("x-body"), answer.text().as_str()), (Some("abcdef"), "abcdef"));
    assert_eq!(weir.web().get("/slow").status(), 504);
    let back = back.replace("300ms", "300ms at-least 2");
    let weir = Setup::http("", &back).with("origin", origin.address()).start();
    let mut client = weir.web();
    client.send("GET /slow HTTP/1.1\r\nHost: test\r\n\r\n");
    assert_eq!(client.head().header("x-body"), Some("abc"), "what is there");
}

#[test]
fn a_client_that_leaves_takes_its_request_with_it_if_asked_to() {
    let (aborted, served) = ("400 CH-- \"GET / HTTP/1.1\"", "504 sH-- \"GET / HTTP/1.1\"");
    // A server that has the request is left to answer where the backend alone has the option: the
    // manual speaks of queues and connections. HAProxy aborts if the frontend has the option, too.
    for (defaults, option, line) in [
        ("    option abortonclose", "", aborted),
        ("", "    option abortonclose", served),
        ("    option abortonclose", "    no option abortonclose", served),
        ("", "", served),
    ] {
        let origin = Origin::new(|mut peer| {
            peer.request();
            let _ = peer.client.rest();
        });
        let log = LogReceiver::new();
        let text = format!(
            "defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    \
             timeout server 400ms\n    log <log> format raw local0\n    option httplog\n{defaults}\n\
             frontend web\n    bind <web>\n    default_backend app\n\
             backend app\n{option}\n    server s <origin>\n"
        );
        let weir = Setup::new(&text).between(&origin, &log);
        // Behind the request, nothing, or more than anybody reads before the answer.
        for behind in [0, 60_000] {
            let mut client = weir.web();
            client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
            client.send(vec![b'x'; behind]);
            origin.request(0);
            client.half_close();
            assert_eq!(shape(&log.line()), format!("web app/s {line}"), "{option} {behind}");
        }
    }
}

/// Without a time for requests, a client that says nothing in the middle of a body is one that
/// stalls in data, as the public suite has it.
#[test]
fn a_body_that_is_waited_for_has_the_time_of_clients() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let front = "    option http-buffer-request\n    timeout client 100ms";
    let weir = Setup::http(front, "    server s <origin>").between(&origin, &log);
    let mut client = weir.web();
    client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nab");
    assert_eq!(client.response().status(), 408);
    assert_eq!(shape(&log.line()), "web web/<NOSRV> 408 cD-- \"POST / HTTP/1.1\"");
}

/// The bytes of a body that arrived with its head can be read without waiting; the payload of a
/// stream cannot, as measured with HAProxy 2.6.
#[test]
fn rules_see_the_received_part_of_a_body() {
    let origin = Origin::new(|peer| {
        crate::support::serve_forever(peer, |request| {
            match request.target() {
            "/chunked" => {
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\npay\r\n4\r\nload\r\n0\r\n\r\n".to_vec()
            }
            _ => b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\npayload".to_vec(),
        }
        })
    });
    let wait = [
        ("", ""),
        ("    http-request wait-for-body time 5s", "    http-response wait-for-body time 5s"),
        ("    option http-buffer-request", ""),
    ];
    for (before, back) in wait {
        let seen =
            "%[req.len] <%[req.body]> %[req.body_len] <%[req.payload(0,0)]%[payload_lv(0,1)]>";
        let rules = [
            before,
            &format!("    http-request set-header x-seen \"{seen}\""),
            "    tcp-request content set-var(txn.len) req.body_len",
            "    http-request set-header x-before %[var(txn.len)]",
            "    http-request deny if { req.payload(0,1) -m found }",
        ]
        .join("\n");
        let answered = format!(
            "{back}\n    http-response set-header x-seen \"%[res.len] <%[res.body]> %[res.body_len] <%[res.payload(0,0)]>\"\n    server s <origin>"
        );
        let weir = Setup::http(&rules, &answered).with("origin", origin.address()).start();
        let host = "Host: x\r\n";
        let cases = [
            (format!("GET /x HTTP/1.1\r\n{host}\r\n"), "39 <> 0 <>", "0", "56 <payload> 7 <>"),
            (
                format!("POST /x HTTP/1.1\r\n{host}Content-Length: 8\r\n\r\n\x05abcdefg"),
                "63 <%05abcdefg> 8 <>",
                "8",
                "56 <payload> 7 <>",
            ),
            (
                format!(
                    "POST /chunked HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n3\r\n\x02ab\r\n2\r\ncd\r\n0\r\n\r\n"
                ),
                "76 <%02abcd> 5 <>",
                "5",
                "66 <payload> 7 <>",
            ),
            (
                format!(
                    "POST /x HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nTr: ab\r\nLonger-Trailer: xyz\r\n\r\n"
                ),
                "91 <hello> 5 <>",
                "5",
                "56 <payload> 7 <>",
            ),
        ];
        for (at, (request, seen, early, answered)) in cases.into_iter().enumerate() {
            let answer = weir.web().ask(&request);
            assert_eq!(answer.header("x-seen"), Some(answered), "{before} {request}");
            let told = origin.request(at);
            assert_eq!(told.header("x-seen"), Some(seen), "{before} {request}");
            assert_eq!(told.header("x-before"), Some(early), "{before} {request}");
        }
    }
}

/// The connection closes even if the body has arrived whole, as measured: the client may send more
/// of it.
#[test]
fn a_redirect_of_a_request_with_a_body_closes_the_connection() {
    let front = "    http-request redirect location /z";
    let weir = Setup::http(front, "").start();
    for (request, kept) in [
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nabcd", None),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", Some(())),
        ("GET / HTTP/1.1\r\nHost: h\r\n\r\n", Some(())),
    ] {
        let mut client = weir.web();
        let answer = client.ask(request);
        let said = answer.header("connection");
        assert_eq!((answer.status(), said), (302, kept.map_or(Some("close"), |()| None)));
    }
}
