//! How long connections live, on both sides.

use crate::support::{
    Client, LogReceiver, Origin, Running, Setup, eventually, reply, serve_forever, shape,
};

fn start(front: &str, back: &str, origin: &Origin) -> Running {
    let back = format!("{back}\n    server s <origin>");
    Setup::http(front, &back).with("origin", origin.address()).start()
}

#[test]
fn requests_of_one_client_share_connections_on_both_sides() {
    let origin = Origin::saying("hello");
    let weir = start("", "", &origin);
    let mut client = weir.web();
    for _ in 0..5 {
        assert_eq!(client.get("/").text(), "hello");
    }
    assert_eq!(origin.connections(), 1);
    assert_eq!(weir.stat("app", "s", "reuse"), "4");
    assert_eq!(weir.stat("app", "s", "connect"), "1");
}

/// As in HAProxy, rules do not see the `Connection` field, and the one that a rule sets takes
/// effect.
#[test]
fn rules_close_connections_and_do_not_see_the_connection_header() {
    let answer = "HTTP/1.1 200 OK\r\nConnection: keep-alive, a\r\nContent-Length: 0\r\n\r\n";
    let origin = Origin::answering(answer);
    let front = "    http-request return status 201 hdr Connection close if { path /local }\n    \
                 http-request set-header X-Seen <%[req.fhdr(connection)]>\n    \
                 http-request set-header Connection close if { path /server }\n    \
                 http-response set-header X-Told <%[res.fhdr(connection)]>\n    \
                 http-response set-header Connection close if { capture.req.uri /client }\n";
    let weir = start(front, "", &origin);
    let ask = |client: &mut Client, path: &str, said: &str| {
        client.ask(format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: {said}\r\n\r\n"))
    };
    let mut client = weir.web();
    let told = ask(&mut client, "/", "keep-alive");
    assert_eq!((told.header("x-told"), told.header("connection")), (Some("<a>"), Some("a")));
    assert_eq!(origin.request(0).header("x-seen"), Some("<>"));
    ask(&mut client, "/", "b, Keep-Alive");
    assert_eq!(origin.request(1).header("x-seen"), Some("<b>"));
    assert_eq!(origin.connections(), 1);
    ask(&mut client, "/server", "keep-alive");
    assert_eq!(origin.request(2).header("connection"), Some("close"));
    ask(&mut client, "/", "keep-alive");
    assert_eq!(origin.connections(), 2, "the server was told that this was the last one");
    let last = ask(&mut client, "/client", "keep-alive");
    assert_eq!(last.header("connection"), Some("close"));
    client.expect_end();
    let mut client = weir.web();
    assert_eq!(ask(&mut client, "/local", "keep-alive").header("connection"), Some("close"));
    client.expect_end();
}

#[test]
fn safe_reuse_begins_with_a_client_s_second_request() {
    let origin = Origin::saying("hello");
    let weir = start("", "    http-reuse safe", &origin);
    let mut first = weir.web();
    first.expect_open("/1");
    let mut second = weir.web();
    second.expect_open("/2");
    assert_eq!(origin.connections(), 2, "a first request has a connection of its own");
    first.expect_open("/3");
    second.expect_open("/4");
    assert_eq!(origin.connections(), 2);
}

#[test]
fn always_reuse_shares_with_the_first_request() {
    let origin = Origin::saying("hello");
    let weir = start("", "    http-reuse always", &origin);
    for _ in 0..3 {
        weir.web().expect_open("/");
    }
    assert_eq!(origin.connections(), 1);
}

#[test]
fn never_reuse_keeps_a_connection_for_its_client() {
    let origin = Origin::saying("hello");
    let weir = start("", "    http-reuse never", &origin);
    let mut first = weir.web();
    first.expect_open("/1");
    first.expect_open("/2");
    assert_eq!(origin.connections(), 1, "its own client may use it again");
    let mut second = weir.web();
    second.expect_open("/3");
    second.expect_open("/4");
    first.expect_open("/5");
    assert_eq!(origin.connections(), 2);
}

#[test]
fn a_connection_is_used_again_as_often_as_allowed() {
    for (limit, connections) in [(0, 4), (1, 2), (-1, 1)] {
        let origin = Origin::saying("hello");
        let weir = Setup::http("", &format!("    server s <origin> max-reuse {limit}"))
            .with("origin", origin.address())
            .start();
        let mut client = weir.web();
        (0..4).for_each(|_| client.expect_open("/"));
        assert_eq!(origin.connections(), connections, "max-reuse {limit}");
    }
}

#[test]
fn idle_connections_are_kept_as_long_and_as_many_as_allowed() {
    let origin = Origin::saying("hello");
    let idle = |options: &str| {
        let weir = Setup::http("", &format!("    server s <origin> {options}"))
            .with("origin", origin.address())
            .start();
        let mut clients: Vec<Client> = (0..3).map(|_| weir.web()).collect();
        clients.iter_mut().for_each(|it| it.expect_open("/"));
        (weir.stat("app", "s", "idle_conn_cur"), weir, clients)
    };
    assert_eq!(idle("pool-max-conn 0").0, "0");
    assert_eq!(idle("pool-max-conn 2").0, "2");
    assert_eq!(idle("pool-max-conn -1").0, "3");
    assert_eq!(idle("pool-purge-delay 0").0, "0");
    let (_, weir, clients) = idle("pool-purge-delay 50ms");
    eventually("it is dropped", || (weir.stat("app", "s", "idle_conn_cur") == "0").then_some(()));
    drop(clients);
}

#[test]
fn connections_that_are_not_used_again_are_not_kept() {
    let origin = Origin::saying("hello");
    let weir = Setup::http("", "    http-reuse safe\n    server s <origin>")
        .global("nbthread 1")
        .with("origin", origin.address())
        .start();
    for _ in 0..40 {
        let mut client = weir.web();
        client.send("GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
        client.rest();
    }
    let told = |field: &str| weir.stat("app", "s", field).parse::<u32>().expect("a number");
    assert_eq!((origin.connections(), told("connect")), (40, 40));
    assert!((1..=5).contains(&told("srv_icur")), "{}", told("srv_icur"));
    assert_eq!((told("need_conn_est"), told("safe_conn_cur")), (1, 0));
    // An idle connection that requests use is not closed either.
    let mut client = weir.web();
    (0..10).for_each(|_| client.expect_open("/"));
    assert_eq!((told("connect"), told("reuse")), (41, 9));
    assert_eq!((told("need_conn_est"), told("safe_conn_cur")), (1, 1));
}

#[test]
fn idle_connections_give_way_when_descriptors_run_short() {
    let origin = Origin::saying("hello");
    let idle = |tune: &str| {
        let weir = Setup::http("", "    http-reuse safe\n    server s <origin> pool-low-conn 10")
            .global(tune)
            .with("origin", origin.address())
            .start();
        let mut clients: Vec<Client> = (0..10).map(|_| weir.web()).collect();
        clients.iter_mut().for_each(|it| it.expect_open("/"));
        weir.stat("app", "s", "idle_conn_cur").parse::<u32>().expect("a number")
    };
    assert_eq!(idle("tune.pool-low-fd-ratio 100\n    tune.pool-high-fd-ratio 100"), 10);
    assert_eq!(idle("tune.pool-low-fd-ratio 0\n    tune.pool-high-fd-ratio 100"), 0);
    let left = idle("tune.pool-low-fd-ratio 100\n    tune.pool-high-fd-ratio 0");
    assert_eq!(left, 1, "one is closed for each that is opened");
}

#[test]
fn a_client_may_stay_with_its_last_server() {
    let [a, b] = ["a", "b"].map(Origin::saying);
    let served = |option: &str| {
        let back = format!("{option}\n    server a <a>\n    server b <b>");
        let weir = Setup::http("", &back).with("a", a.address()).with("b", b.address()).start();
        let mut client = weir.web();
        (0..4).map(|_| client.get("/").text()).collect::<String>()
    };
    assert_eq!(served(""), "abab");
    assert_eq!(served("    option prefer-last-server"), "aaaa");
}

#[test]
fn a_client_does_not_wait_long_for_its_last_server() {
    for (limit, expected) in [("0", "b"), ("-1", "")] {
        let a = Origin::new(|mut peer| {
            while let Some(request) = peer.request() {
                if request.target() == "/slow" {
                    let _ = peer.client.rest();
                    return;
                }
                peer.send(reply("200 OK", "a"));
            }
        });
        let b = Origin::saying("b");
        let back = format!(
            "    option prefer-last-server\n    max-keep-alive-queue {limit}\n    timeout queue 200ms\n    \
             balance first\n    server a <a> maxconn 1\n    server b <b>"
        );
        let weir = Setup::http("", &back).with("a", a.address()).with("b", b.address()).start();
        let mut client = weir.web();
        assert_eq!(client.get("/").text(), "a");
        let mut other = weir.web();
        other.send("GET /slow HTTP/1.1\r\nHost: test\r\n\r\n");
        eventually("it is served", || (weir.stat("app", "a", "scur") == "1").then_some(()));
        let answer = client.get("/");
        match expected {
            "" => assert_eq!(answer.status(), 503, "it has waited for its server"),
            body => assert_eq!(answer.text(), body),
        }
    }
}

#[test]
fn connections_with_ntlm_credentials_are_private() {
    for (scheme, connections) in [("Basic realm=x", 1), ("NTLM", 2), ("Negotiate abc", 2)] {
        let answer =
            format!("HTTP/1.1 401 No\r\nWWW-Authenticate: {scheme}\r\nContent-Length: 0\r\n\r\n");
        let origin = Origin::answering(answer);
        let weir = start("", "    http-reuse always", &origin);
        let (mut first, mut second) = (weir.web(), weir.web());
        for _ in 0..2 {
            assert_eq!(first.get("/").status(), 401);
            assert_eq!(second.get("/").status(), 401);
        }
        assert_eq!(origin.connections(), connections, "{scheme}");
    }
}

#[test]
fn a_challenge_keeps_a_client_at_its_server() {
    let challenge = "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic\r\nContent-Length: 1\r\n\r\n";
    let [a, b] = ["a", "b"].map(|name| Origin::answering(format!("{challenge}{name}")));
    let weir = Setup::http("", "    server a <a>\n    server b <b>")
        .with("a", a.address())
        .with("b", b.address())
        .start();
    let mut client = weir.web();
    let served: String = (0..3).map(|_| client.get("/").text()).collect();
    assert_eq!(served, "aaa");
}

#[test]
fn option_http_pretend_keepalive_hides_the_close_from_servers() {
    for (option, told) in [("", Some("close")), ("    option http-pretend-keepalive", None)] {
        let origin = Origin::saying("hello");
        let weir = start("", &format!("    option http-server-close\n{option}"), &origin);
        let mut client = weir.web();
        (0..2).for_each(|_| client.expect_open("/"));
        assert_eq!(origin.request(0).header("connection"), told);
        assert_eq!(origin.connections(), 2, "it closes all the same");
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let origin = Origin::new(|peer| {
        serve_forever(peer, |request| reply("200 OK", request.target()).into_bytes())
    });
    let weir = start("", "", &origin);
    let mut client = weir.web();
    let requests: String =
        (0..20).map(|n| format!("GET /{n} HTTP/1.1\r\nHost: test\r\n\r\n")).collect();
    client.send(requests);
    for n in 0..20 {
        assert_eq!(client.response().text(), format!("/{n}"));
    }
}

#[test]
fn a_pipelined_request_follows_a_body() {
    let origin = Origin::new(|peer| {
        serve_forever(peer, |request| reply("200 OK", &request.text()).into_bytes())
    });
    let weir = start("", "", &origin);
    let mut client = weir.web();
    client.send(
        "POST /1 HTTP/1.1\r\nHost: test\r\nContent-Length: 3\r\n\r\none\
         POST /2 HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n0\r\n\r\n\
         GET /3 HTTP/1.1\r\nHost: test\r\n\r\n",
    );
    assert_eq!(client.response().text(), "one");
    assert_eq!(client.response().text(), "two");
    assert_eq!(client.response().text(), "");
}

#[test]
fn connection_close_of_the_client_ends_its_connection_alone() {
    let origin = Origin::saying("hello");
    let weir = start("", "    http-reuse always", &origin);
    let mut client = weir.web();
    let answer = client.ask("GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    assert_eq!(answer.header("connection"), Some("close"));
    client.expect_end();
    assert_eq!(origin.request(0).header("connection"), None);
    weir.web().expect_open("/");
    assert_eq!(origin.connections(), 1, "the server connection is kept");
}

#[test]
fn connection_close_of_the_server_ends_its_connection_alone() {
    let origin = Origin::new(|mut peer| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
    });
    let weir = start("", "", &origin);
    let mut client = weir.web();
    for _ in 0..3 {
        let answer = client.get("/");
        assert_eq!((answer.status(), answer.header("connection")), (200, None));
    }
    assert_eq!(origin.connections(), 3);
}

#[test]
fn httpclose_ends_both_connections() {
    let origin = Origin::saying("hello");
    let weir = start("    option httpclose", "", &origin);
    let mut client = weir.web();
    let answer = client.get("/");
    assert_eq!(answer.header("connection"), Some("close"));
    client.expect_end();
    assert_eq!(origin.request(0).header("connection"), Some("close"));
}

/// Of the two that hold a connection each, a backend decides about its own, as measured: HAProxy
/// tells an old client of such a backend even that it may stay.
#[test]
fn httpclose_of_a_backend_ends_its_own_connection() {
    let origin = Origin::saying("hello");
    let weir = start("", "    option httpclose", &origin);
    let mut client = weir.web();
    for number in 0..2 {
        assert_eq!(client.get("/").header("connection"), None);
        assert_eq!(origin.request(number).header("connection"), Some("close"));
    }
    assert_eq!(origin.connections(), 2);
    let old = client.ask("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_eq!(old.header("connection"), Some("keep-alive"));
}

#[test]
fn http_server_close_ends_the_server_s_connection() {
    for (front, back) in
        [("    option http-server-close", ""), ("", "    option http-server-close")]
    {
        let origin = Origin::saying("hello");
        let weir = start(front, back, &origin);
        let mut client = weir.web();
        for number in 0..2 {
            assert_eq!(client.get("/").header("connection"), None);
            assert_eq!(origin.request(number).header("connection"), Some("close"));
        }
        assert_eq!(origin.connections(), 2);
    }
}

#[test]
fn an_old_client_closes_unless_it_asks_to_stay() {
    let origin = Origin::saying("hello");
    let weir = start("", "", &origin);
    let mut client = weir.web();
    let answer = client.ask("GET / HTTP/1.0\r\n\r\n");
    assert_eq!((answer.start.as_str(), answer.text().as_str()), ("HTTP/1.1 200 OK", "hello"));
    assert_eq!(answer.header("connection"), Some("close"));
    client.expect_end();
    let sent = origin.request(0);
    assert_eq!(sent.start, "GET / HTTP/1.0");
    assert_eq!(sent.header("connection"), Some("keep-alive"));

    let mut client = weir.web();
    for _ in 0..2 {
        let answer = client.ask("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        assert_eq!(answer.header("connection"), Some("keep-alive"));
    }
}

#[test]
fn an_old_server_s_version_is_kept() {
    let origin = Origin::new(|mut peer| {
        peer.request();
        peer.send("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok");
    });
    let weir = start("", "", &origin);
    let mut client = weir.web();
    for _ in 0..2 {
        let answer = client.get("/");
        assert_eq!(answer.start, "HTTP/1.0 200 OK");
        assert_eq!(answer.header("connection"), Some("keep-alive"));
    }
    assert_eq!(origin.connections(), 2);
}

#[test]
fn a_connection_is_kept_whose_last_answer_filled_the_buffer() {
    // A read that fills the buffer does not show whether more bytes wait.
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 16342\r\n\r\n";
    let answer = format!("{head}{}", "x".repeat(16_342));
    assert_eq!(answer.len(), 16_384);
    let origin = Origin::new(move |mut peer| {
        while peer.request().is_some() {
            peer.send(&answer);
        }
    });
    let weir = start("", "    http-reuse always", &origin);
    for _ in 0..20 {
        assert_eq!(weir.web().get("/").body.len(), 16_342);
    }
    assert_eq!(origin.connections(), 1);
}

#[test]
fn an_idle_connection_that_the_server_closed_is_not_used() {
    let origin = Origin::new(|mut peer| {
        peer.request();
        peer.send(reply("200 OK", "once"));
    });
    let weir = start("", "    http-reuse always", &origin);
    for number in 1..=5 {
        assert_eq!(weir.web().get("/").text(), "once");
        assert_eq!(origin.connections(), number);
        eventually("the idle connection is given up", || {
            (weir.stat("app", "s", "idle_conn_cur") == "0").then_some(())
        });
    }
}

#[test]
fn a_client_may_half_close_behind_its_request() {
    let origin = Origin::saying("hello");
    let log = LogReceiver::new();
    let weir = Setup::http("", "    server s <origin>").between(&origin, &log);
    let mut client = weir.web();
    client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    client.half_close();
    assert_eq!(client.response().text(), "hello");
    client.expect_end();
    assert_eq!(shape(&log.line()), "web app/s 200 ---- \"GET / HTTP/1.1\"");
}

#[test]
fn an_upgrade_becomes_a_tunnel_that_closes_half_by_half() {
    let origin = Origin::new(|mut peer| {
        peer.request();
        peer.send(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhi",
        );
        let heard = peer.client.rest();
        peer.send(heard);
    });
    let log = LogReceiver::new();
    let weir = Setup::http("", "    server s <origin>").between(&origin, &log);
    let mut client = weir.web();
    client.send("GET /up HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
    let answer = client.head();
    assert_eq!(answer.status(), 101);
    assert_eq!(answer.header("upgrade"), Some("echo"));
    assert_eq!(answer.header("connection").map(str::to_lowercase).as_deref(), Some("upgrade"));
    assert_eq!(client.take(2), b"hi");
    let message = vec![b'x'; 300_000];
    client.send(&message);
    client.half_close();
    assert_eq!(client.rest(), message);
    let sent = origin.request(0);
    assert_eq!(sent.header("upgrade"), Some("echo"));
    assert!(shape(&log.line()).starts_with("web app/s 101 "));
}

/// The request of a client that runs a command in a container: what it sends behind the body is for
/// the new protocol, and the server may accept that before the body is complete.
#[test]
fn an_upgrade_with_a_body_switches_behind_the_body() {
    const ACCEPTED: &str = "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\nhi";
    let origin = Origin::new(|mut peer| {
        let head = peer.client.head();
        let early = head.target() == "/early";
        if early {
            peer.send(ACCEPTED);
        }
        let request = peer.client.finish(head, false);
        if !early {
            peer.send(ACCEPTED);
        }
        let heard = peer.client.rest();
        peer.send([request.text().as_bytes(), b"|", &heard].concat());
    });
    let log = LogReceiver::new();
    let weir = Setup::http("", "    server s <origin>").between(&origin, &log);
    for target in ["/early", "/late"] {
        for (length, first, last) in [
            ("Content-Length: 6", "abc", "def"),
            ("Transfer-Encoding: chunked", "3\r\nabc\r\n", "3\r\ndef\r\n0\r\nx: y\r\n\r\n"),
        ] {
            let mut client = weir.web();
            client.send(format!(
                "POST {target} HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\n\
                 Upgrade: tcp\r\n{length}\r\n\r\n{first}"
            ));
            if target == "/late" {
                client.send(last);
            }
            let answer = client.head();
            assert_eq!((answer.status(), answer.header("upgrade")), (101, Some("tcp")));
            assert_eq!(client.take(2), b"hi");
            if target == "/early" {
                client.send(last);
            }
            let message = "0123456789\r\n".repeat(20_000);
            client.send(&message);
            client.half_close();
            let told = String::from_utf8(client.rest()).unwrap();
            assert!(told == format!("abcdef|{message}"), "{target} {length}: {} bytes", told.len());
            assert!(shape(&log.line()).starts_with("web app/s 101 "));
        }
    }
}

#[test]
fn an_upgrade_with_a_body_that_is_not_accepted_leaves_both_connections_open() {
    let origin = Origin::saying("hello");
    let weir = start("", "", &origin);
    let mut client = weir.web();
    for _ in 0..2 {
        let request = "POST / HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\
                       Content-Length: 3\r\n\r\nabcGET /next HTTP/1.1\r\nHost: test\r\n\r\n";
        assert_eq!(client.ask(request).text(), "hello");
        assert_eq!(client.response().text(), "hello");
    }
    let requests = origin.requests();
    let seen: Vec<_> = requests.iter().map(|it| (it.target(), it.header("upgrade"))).collect();
    assert_eq!(seen, [("/", Some("tcp")), ("/next", None)].repeat(2));
    assert_eq!(origin.connections(), 1);
}

#[test]
fn forwardfor_adds_a_line_of_its_own() {
    let origin = Origin::saying("hello");
    let weir = start("    option forwardfor", "", &origin);
    let mut client = weir.web();
    client.ask("GET / HTTP/1.1\r\nHost: test\r\nX-Forwarded-For: 192.0.2.9\r\n\r\n");
    let sent = origin.request(0);
    let lines: Vec<&str> = sent.all("x-forwarded-for").collect();
    assert_eq!(lines, ["192.0.2.9", "127.0.0.1"]);
}

#[test]
fn forwardfor_has_exceptions_and_another_name() {
    let origin = Origin::saying("hello");
    let front = "    option forwardfor except 127.0.0.0/8";
    let weir = start(front, "", &origin);
    weir.web().expect_open("/");
    assert_eq!(origin.request(0).header("x-forwarded-for"), None);

    let weir = start("", "    option forwardfor header X-Client if-none", &origin);
    let mut client = weir.web();
    client.expect_open("/");
    assert_eq!(origin.request(1).header("x-client"), Some("127.0.0.1"));
    client.ask("GET / HTTP/1.1\r\nHost: test\r\nX-Client: me\r\n\r\n");
    let sent = origin.request(2);
    assert_eq!(sent.all("x-client").collect::<Vec<_>>(), ["me"]);
}

#[test]
fn many_clients_at_once_are_all_answered() {
    let origin = Origin::saying("hello");
    let weir = start("", "", &origin);
    let mut clients: Vec<Client> = (0..100).map(|_| weir.web()).collect();
    for _ in 0..3 {
        clients.iter_mut().for_each(|it| it.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n"));
        clients.iter_mut().for_each(|it| assert_eq!(it.response().text(), "hello"));
    }
    assert_eq!(weir.stat("web", "FRONTEND", "req_tot"), "300");
}

/// The end of a connection that a server sees after `client` has closed its own.
fn end_seen(back: &str, answer: &str, client: fn(Client)) -> std::io::Result<usize> {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let back = format!("    timeout server 300ms\n{back}    server s <origin>");
    let weir =
        Setup::http("", &back).with("origin", listener.local_addr().expect("its address")).start();
    let asking = weir.web();
    std::thread::scope(|scope| {
        scope.spawn(move || client(asking));
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut buffer = [0; 4096];
        assert!(stream.read(&mut buffer).expect("a request") > 0);
        stream.write_all(answer.as_bytes()).expect("room for the answer");
        stream.read(&mut buffer)
    })
}

/// A regular close would hold a local port for a minute. As measured, HAProxy resets idle
/// connections and those that it abandons, and closes those for which it has announced the close.
#[test]
fn servers_are_not_left_with_ends_that_hold_ports() {
    let whole = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let ask: fn(Client) = |mut client| drop(client.get("/"));
    let reset = Some(std::io::ErrorKind::ConnectionReset);
    let kind = |end: std::io::Result<usize>| end.err().map(|error| error.kind());
    // The connection is not used after its client, and none is kept.
    let none_kept = "    default-server pool-purge-delay 0\n";
    assert_eq!(kind(end_seen(none_kept, whole, ask)), reset);
    // The server takes too long.
    assert_eq!(
        kind(end_seen("", "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nok", |mut client| {
            client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
            client.rest();
        })),
        reset
    );
    for told in ["    option httpclose\n", "    option http-server-close\n"] {
        assert_eq!(end_seen(told, whole, ask).unwrap(), 0, "{told}");
    }
    let closing = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
    assert_eq!(end_seen("", closing, ask).unwrap(), 0);
}
