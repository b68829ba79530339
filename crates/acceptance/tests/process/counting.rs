//! Counters and their places: listeners with rows of their own, long transfers, the process.

use crate::support::{Origin, Running, Setup, eventually};
use std::sync::Mutex;
use std::sync::mpsc::channel;

/// `option socket-stats`, section 4.2.
#[test]
fn listeners_count_for_themselves() {
    let origin = Origin::saying("hello");
    let front = "    bind <other> name other maxconn 9 id 7\n    option socket-stats\n    \
                 http-request deny if { path /no }\n    \
                 http-request use-service prometheus-exporter if { path /metrics }";
    let page = "    server s <origin>\n    stats uri /page";
    let weir = Setup::http(front, page).with("origin", origin.address()).start();
    let mut other = weir.connect("other");
    assert_eq!(other.get("/").text(), "hello");
    assert_eq!(other.get("/no").status(), 403);
    assert_eq!(weir.web().get("/").text(), "hello");
    let of = |field| ["sock-1", "other"].map(|name| weir.stat("web", name, field));
    eventually("both requests are counted", || (of("bout")[0] != "0").then_some(()));
    assert_eq!(of("stot"), ["1", "1"]);
    assert_eq!(of("scur")[1], "1");
    assert_eq!(of("dreq"), ["0", "1"]);
    assert_eq!(of("slim"), ["0", "9"]);
    assert_eq!(of("sid"), ["1", "7"]);
    assert_eq!((of("type"), of("mode")), (["3", "3"].map(Into::into), ["http"; 2].map(Into::into)));
    assert_eq!(of("addr")[1], weir.address("other").to_string());
    let number =
        |service, field| weir.stat("web", service, field).parse::<u64>().expect("a number");
    for field in ["bin", "bout", "dreq"] {
        let sum = number("sock-1", field) + number("other", field);
        assert_eq!(sum, number("FRONTEND", field), "{field}");
    }
    assert_eq!(weir.cli("show stat -1 8 7").lines().count(), 2, "the first line and one more");
    assert!(weir.cli("show stat -1 8 7 typed").contains("L.2.7.1.svname.1:KNS:str:other\n"));
    let metrics = other.get("/metrics?scope=listener").text();
    let line = "haproxy_listener_requests_denied_total{proxy=\"web\",listener=\"other\"} 1";
    assert!(metrics.contains(line), "{metrics}");
    let line = "haproxy_listener_status{proxy=\"web\",listener=\"other\",state=\"OPEN\"} 1";
    assert!(metrics.contains(line), "{metrics}");
    assert!(other.get("/page").text().contains("<tr id=\"web/+other\" class=\"socket\">"));
    weir.cli("clear counters all");
    assert_eq!((of("stot")[1].as_str(), of("bout")[1].as_str()), ("0", "0"));
}

/// As the manual says: `clear counters` clears all counters, those of modules included.
#[test]
fn counters_of_modules_are_cleared_with_all_others() {
    let weir = Setup::http("    http-request return status 200", "").start();
    let mut client = weir.web();
    // A connection of HTTP/2 with a request.
    client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
    client.send(b"\0\0\x06\x01\x05\0\0\0\x01\x82\x86\x84\x41\x01a");
    let of = |field| weir.stat("web", "FRONTEND", field);
    eventually("it is counted", || (of("h2_backend_total_streams") == "1").then_some(()));
    weir.cli("clear counters");
    assert_eq!((of("h2_headers_rcvd"), of("h2_total_connections")), ("1".into(), "1".into()));
    weir.cli("clear counters all");
    for field in ["h2_headers_rcvd", "h2_total_connections", "h2_backend_total_streams"] {
        assert_eq!(of(field), "0", "{field}");
    }
    assert_eq!(of("h2_open_connections"), "1");
    drop(client);
    eventually("it is closed", || (of("h2_open_connections") == "0").then_some(()));
}

#[test]
fn listeners_have_no_row_unless_asked() {
    let weir = Setup::http("", "").start();
    assert_eq!(weir.cli("show stat web 8 -1").lines().count(), 1);
}

/// A body of which the first half has come, and then nothing; the bytes that the frontend and the
/// server have counted by then.
fn half_way(weir: &Running, expected: u64) {
    let mut client = weir.web();
    client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    client.take(expected as usize);
    let counted =
        |proxy, service| weir.stat(proxy, service, "bout").parse::<u64>().expect("a number");
    let counts = || [counted("web", "FRONTEND"), counted("app", "s"), counted("app", "BACKEND")];
    assert_eq!(counts(), [0, 0, 0], "not at once");
    eventually("it is counted", || (counts() == [expected; 3]).then_some(()));
}

/// `option contstats`, section 4.2.
#[test]
fn transfers_are_counted_while_they_last() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2000\r\n\r\n";
    let origin = Origin::new(|mut peer| {
        let _ = peer.request();
        peer.send(HEAD);
        peer.send([b'x'; 1000]);
        let _ = peer.client.rest();
    });
    let front = "    option contstats";
    let http = Setup::http(front, "    server s <origin>").with("origin", origin.address()).start();
    let tcp = Setup::http(
        "    option contstats\n    mode tcp\n    option tcplog",
        "    mode tcp\n    server s <origin>",
    );
    let tcp = tcp.with("origin", origin.address()).start();
    let expected = HEAD.len() as u64 + 1000;
    std::thread::scope(|scope| {
        scope.spawn(|| half_way(&http, expected));
        scope.spawn(|| half_way(&tcp, expected));
    });
}

/// `set rate-limit`, management manual section 9.3.
#[test]
fn limits_of_rates_can_be_moved() {
    let weir = Setup::http("    http-request return status 200", "").start();
    let of = |name: &str| {
        let info = weir.cli("show info");
        let line = info.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
        line.expect("a field").trim_start_matches(": ").to_owned()
    };
    for (setting, field) in [("connections", "ConnRateLimit"), ("sessions", "SessRateLimit")] {
        assert_eq!(weir.cli(&format!("set rate-limit {setting} global 1")), "");
        assert_eq!(of(field), "1");
        let begin = crate::support::Moment::now();
        for _ in 0..3 {
            assert_eq!(weir.web().get("/").status(), 200);
        }
        assert!(begin.elapsed().as_millis() > 300, "{setting}");
        assert_eq!(weir.cli(&format!("set rate-limit {setting} global 0")), "");
        assert_eq!(of(field), "0");
    }
    for (command, answer) in [
        ("connections global", "Expects an integer value."),
        ("sessions global -1", "Value out of range."),
        ("ssl-sessions global x", "Expects an integer value."),
        ("http-compression global x", "Expects an integer value."),
    ] {
        assert_eq!(weir.cli(&format!("set rate-limit {command}")), answer);
    }
    assert!(
        weir.cli("set rate-limit sessions local 1")
            .starts_with("'set rate-limit' only supports :\n")
    );
}

/// `show info`: what the process has sent, and the memory of its buffers.
#[test]
fn the_process_counts_bytes_and_buffers() {
    let origin = Origin::saying(&"x".repeat(50_000));
    let weir = Setup::http("", "    server s <origin>").with("origin", origin.address()).start();
    let of = |info: &str, name: &str| -> u64 {
        let line = info.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.expect("a field").parse().expect("a number")
    };
    let mut client = weir.web();
    assert_eq!(client.get("/").body.len(), 50_000);
    let info = weir.cli("show info");
    assert!(of(&info, "TotalBytesOut") > 50_000, "{info}");
    assert!(of(&info, "BytesOutRate") > 25_000, "within the last second\n{info}");
    assert!(of(&info, "PoolAlloc_bytes") >= 16_384, "{info}");
    assert_eq!(of(&info, "PoolAlloc_MB"), of(&info, "PoolAlloc_bytes") >> 20);
    assert!(of(&info, "PoolUsed_bytes") <= of(&info, "PoolAlloc_bytes"), "{info}");
}

/// As in HAProxy, a malformed, incomplete or missing request counts as a request too; one that its
/// client gives up before the answer has another status.
#[test]
fn requests_that_are_none_are_counted() {
    let origin = Origin::new(|mut peer| {
        peer.client.head();
        peer.client.rest();
    });
    let weir = Setup::http("    timeout http-request 200ms", "    server s <origin>")
        .with("origin", origin.address())
        .with("log", crate::support::LogReceiver::new().address())
        .start();
    assert_eq!(weir.web().ask("GARBAGE\r\n\r\n").status(), 400);
    let mut incomplete = weir.web();
    incomplete.send("GET / HT");
    incomplete.half_close();
    assert_eq!(incomplete.response().status(), 400);
    assert_eq!(weir.web().response().status(), 408);
    let seen =
        || ["req_tot", "ereq", "hrsp_other"].map(|field| weir.stat("web", "FRONTEND", field));
    eventually("all have ended", || (seen() == ["3", "3", "0"]).then_some(()));
    let mut client = weir.web();
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc");
    eventually("it is at the server", || (weir.stat("app", "s", "scur") == "1").then_some(()));
    client.close();
    eventually("it has ended", || (seen() == ["4", "3", "1"]).then_some(()));
    assert_eq!(weir.stat("app", "BACKEND", "hrsp_other"), "1");
}

/// The counters of a server, of its backend and of the frontend.
fn rows(weir: &Running, fields: &[&str]) -> [Vec<String>; 3] {
    [("app", "s"), ("app", "BACKEND"), ("web", "FRONTEND")]
        .map(|(proxy, row)| fields.iter().map(|field| weir.stat(proxy, row, field)).collect())
}

/// As in HAProxy, a truncated response counts as a failure and an abort, a malformed one as a
/// failure only.
#[test]
fn responses_that_end_early_count_as_failed() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
    for (answer, next, aborts) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc", "", "1"),
        (chunked, "", "1"),
        (chunked, "zz\r\n", "0"),
    ] {
        let (answer, next) = (answer.to_owned(), next.to_owned());
        let (tell, told) = channel();
        let told = Mutex::new(told);
        let origin = Origin::new(move |mut peer| {
            if peer.request().is_some() {
                peer.send(&answer);
                if !next.is_empty() {
                    // A body that is broken after a complete head is not a bad head.
                    let _ = told.lock().expect("nothing panics with it").recv();
                    peer.send(&next);
                    while peer.request().is_some() {}
                }
            }
        });
        let weir =
            Setup::http("", "    server s <origin>").with("origin", origin.address()).start();
        let mut client = weir.web();
        client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
        client.head();
        // No task waits for it where the origin just closes.
        let _ = tell.send(());
        client.rest();
        eventually("it is counted", || (weir.stat("app", "s", "eresp") == "1").then_some(()));
        let expected = ["1", aborts];
        let [server, backend, _] = rows(&weir, &["eresp", "srv_abrt"]);
        assert_eq!(
            (server, backend),
            (expected.map(Into::into).into(), expected.map(Into::into).into())
        );
    }
}

/// As in HAProxy, each interim response counts for the server and not for the frontend.
#[test]
fn interim_responses_count_on_the_server() {
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    let end = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let origin = Origin::answering(format!("{hints}{hints}{end}"));
    let weir = Setup::http("", "    server s <origin>").with("origin", origin.address()).start();
    let mut client = weir.web();
    client.send("GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    client.rest();
    eventually("it is counted", || (weir.stat("web", "FRONTEND", "hrsp_2xx") == "1").then_some(()));
    let expected = [["2", "1", "3"], ["0", "1", "1"], ["0", "1", "1"]];
    let expected = expected.map(|row| row.map(String::from).to_vec());
    assert_eq!(rows(&weir, &["hrsp_1xx", "hrsp_2xx", "req_tot"]), expected);
}

/// As in HAProxy, a request that waits for any server does not count in `lbtot`, one that waits for
/// the server of its hash does.
#[test]
fn requests_from_a_queue_are_not_balanced() {
    for (algorithm, balanced) in [("roundrobin", "1"), ("source", "2")] {
        let (tell, told) = channel();
        let told = Mutex::new(told);
        let origin = Origin::new(move |mut peer| {
            if peer.request().is_some() {
                let _ = told.lock().unwrap().recv();
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            }
        });
        let back = format!("    balance {algorithm}\n    server s <origin> maxconn 1");
        let weir = Setup::http("", &back).with("origin", origin.address()).start();
        let mut clients = [weir.web(), weir.web()];
        clients[0].send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
        eventually("one is served", || (weir.stat("app", "s", "scur") == "1").then_some(()));
        clients[1].send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
        let queued = |row| weir.stat("app", row, "qcur") == "1";
        eventually("one waits", || (queued("s") || queued("BACKEND")).then_some(()));
        (0..2).for_each(|_| tell.send(()).unwrap());
        clients.iter_mut().for_each(|client| assert_eq!(client.response().status(), 200));
        let expected = ["2", balanced].map(String::from).to_vec();
        let [server, backend, _] = rows(&weir, &["stot", "lbtot"]);
        assert_eq!((server, backend), (expected.clone(), expected), "{algorithm}");
    }
}
