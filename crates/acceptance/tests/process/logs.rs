//! Targets of log lines, and their contents.

use crate::support::{LogReceiver, Origin, Setup, eventually, nobody, program, reply, shape};
use std::io::Read as _;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::time::Duration;

/// A frontend with the `log` lines given and `option httplog`.
fn setup(lines: &str) -> Setup {
    Setup::new(&format!(
        "global\n    nbthread 1\ndefaults\n    mode http\n    timeout client 5s\n    \
         timeout connect 5s\n    timeout server 5s\n{lines}\nfrontend web\n    bind <web>\n    \
         default_backend app\nbackend app\n    server s <origin>\n"
    ))
}

#[test]
fn httplog_has_all_fields_of_a_request() {
    let origin = Origin::saying("hello");
    let log = LogReceiver::new();
    let front = "    capture request header X-In len 8\n    capture response header X-Out len 8";
    let weir = Setup::http(front, "    server s <origin>").between(&origin, &log);
    let mut client = weir.web();
    let local = client.local();
    let answer = client.ask("GET /p?q=1 HTTP/1.1\r\nHost: test\r\nX-In: a-long-value\r\n\r\n");
    let line = log.line();
    assert!(line.starts_with(&format!("{local} [")), "{line}");
    assert!(line.ends_with(" ---- 1/1/0/0/0 0/0 {a-long-v} {} \"GET /p?q=1 HTTP/1.1\""), "{line}");
    assert!(line.contains("] web app/s 0/0/"), "{line}");
    assert!(line.contains(&format!(" 200 {} - - ", answer.raw.len())), "{line}");
}

#[test]
fn a_line_is_a_json_object_if_asked() {
    let origin = Origin::saying("hello");
    let front = "    capture request header X-In len 8\n";
    for (option, parts) in [
        (
            "option httplog json",
            &[
                "{\"time\": \"20",
                "\"unique_id\": null, \"client_ip\": \"127.0.0.1\", \"client_port\": ",
                "\"frontend\": \"web\", \"backend\": \"app\", \"server\": \"s\", \"method\": \"GET\", ",
                "\"uri\": \"/p?q=\\\"1\", \"version\": \"HTTP/1.1\", \"status\": 200, ",
                "\"captured_request_headers\": \"{a\\u00ffb}\", ",
            ][..],
        ),
        (
            "log-format \"%{+json}o %(s)ST %ci %(h:str)ST %(in)[capture.req.hdr(0)]\"",
            &["{\"s\": 200, \"h\": \"200\", \"in\": \"a\\u00ffb\"}"][..],
        ),
    ] {
        let log = LogReceiver::new();
        let front = format!("{front}    {option}");
        let weir = Setup::http(&front, "    server s <origin>").between(&origin, &log);
        weir.web().ask(b"GET /p?q=\"1 HTTP/1.1\r\nHost: test\r\nX-In: a\xffb\r\n\r\n");
        let line = log.line();
        assert!(line.starts_with('{') && line.ends_with('}'), "{line}");
        parts.iter().for_each(|part| assert!(line.contains(part), "{part} in {line}"));
    }
}

#[test]
fn syslog_envelopes_are_right() {
    let origin = Origin::saying("hello");
    for (format, begin, middle) in [
        ("rfc3164", "<134>", " localhost haproxy["),
        ("rfc5424", "<134>1 ", " - haproxy "),
        ("short", "<6>", ""),
        ("priority", "<134>", ""),
        ("raw", "127.0.0.1:", ""),
        ("iso", "2", "+00:00 127.0.0.1:"),
    ] {
        let log = LogReceiver::new();
        let lines = format!("    log <log> format {format} local0\n    option httplog");
        let weir =
            setup(&lines).with("origin", origin.address()).with("log", log.address()).start();
        weir.web().expect_open("/");
        let datagram = log.datagram();
        assert!(datagram.starts_with(begin), "{format}: {datagram}");
        let local = format!("{}: 127.0.0.1", weir.pid());
        assert!(datagram.contains(middle) || datagram.contains(&local), "{format}: {datagram}");
        assert!(datagram.ends_with("\"GET / HTTP/1.1\"\n"), "{format}: {datagram}");
    }
}

#[test]
fn tcplog_has_all_fields_of_a_connection() {
    let origin = Origin::saying("hello");
    let log = LogReceiver::new();
    let text = "global\n    nbthread 1\ndefaults\n    mode tcp\n    timeout client 5s\n    \
                timeout connect 5s\n    timeout server 5s\n    log <log> format raw local0\n    \
                option tcplog\nfrontend web\n    bind <web>\n    default_backend app\nbackend app\n    \
                server s <origin>\n";
    let weir = Setup::new(text).with("origin", origin.address()).with("log", log.address()).start();
    let mut client = weir.web();
    client.expect_open("/");
    client.close();
    let line = log.line();
    assert!(line.contains("] web app/s ") && line.ends_with(" 43 -- 1/1/0/0/0 0/0"), "{line}");
}

#[test]
fn the_default_format_logs_connections() {
    let origin = Origin::saying("hello");
    let log = LogReceiver::new();
    let weir = setup("    log <log> format raw local0").between(&origin, &log);
    let mut client = weir.web();
    let local = client.local();
    client.expect_open("/");
    let here = weir.address("web");
    let expected = format!("Connect from {local} to {here} (web/HTTP)");
    assert_eq!(log.line(), expected, "the default format");
}

#[test]
fn lines_go_to_standard_output() {
    let origin = Origin::saying("hello");
    let weir = setup("    log stdout format raw local0\n    option httplog")
        .with("origin", origin.address())
        .start();
    weir.web().expect_open("/out");
    let line = eventually("a line", || weir.output().lines().next().map(str::to_owned));
    assert_eq!(shape(&line), "web app/s 200 ---- \"GET /out HTTP/1.1\"");
}

#[test]
fn lines_go_to_a_unix_socket() {
    let origin = Origin::saying("hello");
    let kept = crate::support::Directory::new();
    let path = kept.path("log");
    let socket = UnixDatagram::bind(&path).expect("a socket");
    socket.set_read_timeout(Some(crate::support::PATIENCE)).expect("a socket");
    let weir = setup("    log <path> format raw local0\n    option httplog")
        .with("path", path.display())
        .with("origin", origin.address())
        .start();
    weir.web().expect_open("/unix");
    let mut bytes = [0; 2_000];
    let count = socket.recv(&mut bytes).expect("a line");
    let line = String::from_utf8_lossy(&bytes[..count]).into_owned();
    assert!(line.ends_with("\"GET /unix HTTP/1.1\"\n"), "{line:?}");
}

#[test]
fn a_sample_of_the_lines_is_sent() {
    let origin = Origin::saying("hello");
    let (all, some) = (LogReceiver::new(), LogReceiver::new());
    let lines = "    log <all> format raw local0\n    \
                 log <some> format raw sample 2-3:5 local0\n    option httplog";
    let weir = setup(lines)
        .with("origin", origin.address())
        .with("all", all.address())
        .with("some", some.address())
        .start();
    let mut client = weir.web();
    for number in 1..=10 {
        client.expect_open(&format!("/{number}"));
    }
    for number in 1..=10 {
        assert!(all.line().contains(&format!("GET /{number} ")));
    }
    for number in [2, 3, 7, 8] {
        assert!(some.line().contains(&format!("GET /{number} ")));
    }
}

#[test]
fn a_log_format_is_the_user_s() {
    let origin = Origin::saying("hello");
    let log = LogReceiver::new();
    let front = "    log-format \"%ci %HM %HP %ST %[var(txn.who)] end\"\n    \
                 http-request set-var(txn.who) req.hdr(x-who)";
    let weir = Setup::http(front, "    server s <origin>").between(&origin, &log);
    weir.web().ask("GET /p?q HTTP/1.1\r\nHost: test\r\nX-Who: me\r\n\r\n");
    assert_eq!(log.line(), "127.0.0.1 GET /p 200 me end");
}

#[test]
fn a_lost_log_target_does_not_disturb_clients() {
    let origin = Origin::saying("hello");
    let closed = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = closed.local_addr().expect("a port");
    drop(closed);
    let weir = setup("    log <log> format raw local0\n    option httplog")
        .with("origin", origin.address())
        .with("log", address)
        .start();
    let mut client = weir.web();
    for _ in 0..10 {
        client.expect_open("/");
    }
}

/// The values of TLS fields for a connection without TLS were measured with HAProxy.
#[test]
fn httpslog_has_fields_of_tls() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let weir = setup("    log <log> format raw local0\n    option httpslog").between(&origin, &log);
    weir.web().expect_open("/");
    let line = log.line();
    assert!(line.ends_with(" \"GET / HTTP/1.1\" 0/-/-/-/0 -/-/-"), "{line}");
}

/// As in HAProxy, there are no captures, no bytes and no unique id.
#[test]
fn connections_without_a_request_are_logged_with_zero_bytes() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let lines = "    capture request header X len 5\n    capture response header Y len 5\n    \
                 unique-id-format %ci\n    \
                 log-format \"%B %U %ID %hr %hs %hrl|%[unique-id] %r\"";
    let weir = Setup::http(lines, "    server s <origin>").between(&origin, &log);
    assert_eq!(weir.web().ask("junk\r\n\r\n").status(), 400);
    assert_eq!(log.line(), "0 0 - |- <BADREQ>");
    let size = weir.web().get("/").raw.len();
    assert_eq!(log.line(), format!("{size} 30 127.0.0.1 {{}} {{}} -|127.0.0.1 GET / HTTP/1.1"));
}

#[test]
fn the_default_format_is_not_used_for_failed_requests() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let weir = setup("    log <log> format raw local0").between(&origin, &log);
    assert_eq!(weir.web().ask("junk\r\n\r\n").status(), 400);
    let mut client = weir.web();
    let local = client.local();
    client.expect_open("/");
    let line = log.line();
    assert!(line.starts_with(&format!("Connect from {local} to ")), "{line}");
}

#[test]
fn rules_that_end_a_response_leave_its_time() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let lines = "    log-format \"%TR %Tr %ST %tsc\"\n    \
                 http-request silent-drop if { path /drop }\n    \
                 http-response return status 202 if { capture.req.uri /return }\n    \
                 http-response redirect location /x if { capture.req.uri /redirect }\n    \
                 http-response deny if { capture.req.uri /deny }\n    \
                 http-request return status 201 if { path /request }";
    let weir = Setup::http(lines, "    server s <origin>").between(&origin, &log);
    for (path, status, expected) in [
        ("/return", 202, "202 LH--"),
        ("/redirect", 302, "302 LH--"),
        ("/deny", 502, "502 PH--"),
        ("/request", 201, "-1 201 LR--"),
    ] {
        assert_eq!(weir.web().get(path).status(), status);
        // The time to receive the request does not count.
        let line = log.line();
        let rest = line.split_once(' ').map_or("", |it| it.1);
        match expected.starts_with('-') {
            true => assert_eq!(rest, expected, "the server was not asked"),
            false => {
                let (time, rest) = rest.split_once(' ').expect("more fields");
                assert!(time.parse::<u32>().is_ok(), "{path}: {line}");
                assert_eq!(rest, expected);
            }
        }
    }
    weir.web().send("GET /drop HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(log.line(), "-1 -1 -1 PR--", "it has never become a request");
}

#[test]
fn a_length_is_that_of_the_text() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let lines = "    log <log> len 80 format raw local0\n    log-format %HPO";
    let weir = setup(lines).between(&origin, &log);
    weir.web().expect_open(&format!("/{}", "a".repeat(100)));
    assert_eq!(log.datagram(), format!("/{}\n", "a".repeat(79)));
}

/// A missing value is nothing where no log is written, and an id that names itself is no end.
#[test]
fn unique_ids_have_no_text_for_missing_samples() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let lines = "    unique-id-format \"%ID%[unique-id]<%[req.hdr(none)]%CC>\"\n    \
                 unique-id-header X-Id\n    log-format %ID";
    let weir = Setup::http(lines, "    server s <origin>").between(&origin, &log);
    weir.web().expect_open("/");
    assert_eq!(origin.request(0).header("x-id"), Some("<>"));
    assert_eq!(log.line(), "<>");
}

/// As in HAProxy, an id is made when a rule needs it, else after the frontend's rules. Changes by
/// rules of the backend are not in it, and these rules do not see its header.
#[test]
fn ids_are_made_behind_the_rules_of_the_frontend() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let front = "    http-request set-header x-early %[unique-id] if { path /early }\n    \
                 http-request set-src str(192.0.2.9)\n    http-request set-dst-port int(77)\n    \
                 http-request set-header x-l front\n    http-request set-header x-same %ci:%fp\n    \
                 unique-id-format %ci:%fp:%[src]:%[req.hdr(x-l)]\n    unique-id-header X-Id\n    \
                 log-format \"%ID %ci\"";
    let back = "    http-request set-src str(192.0.2.8)\n    http-request set-header x-l back\n    \
                http-request set-header x-seen <%[req.hdr(x-id)]>\n    \
                http-request set-header x-back %[unique-id]\n    server s <origin>";
    let weir = Setup::http(front, back).between(&origin, &log);
    weir.web().expect_open("/");
    let id = "192.0.2.9:77:192.0.2.9:front";
    let request = origin.request(0);
    assert_eq!(request.header("x-id"), Some(id));
    assert_eq!(request.header("x-back"), Some(id));
    assert_eq!(request.header("x-seen"), Some("<>"));
    assert_eq!(request.header("x-same"), Some("192.0.2.9:77"));
    assert_eq!(log.line(), format!("{id} 192.0.2.8"));
    let mut client = weir.web();
    let port = weir.address("web").port();
    client.expect_open("/early");
    let id = format!("127.0.0.1:{port}:127.0.0.1:");
    let request = origin.request(1);
    assert_eq!(request.header("x-early"), Some(&*id));
    assert_eq!(request.header("x-id"), Some(&*id));
    assert_eq!(log.line(), format!("{id} 192.0.2.8"));
}

/// As in HAProxy, a connection without a request is an error, a response with 500 is not.
#[test]
fn connections_that_fail_before_a_request_have_a_format_of_their_own() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let lines = "    log-format \"request %ST\"\n    \
                 error-log-format \"error %ST %ts %ft %[fc_err]\"\n    timeout http-request 500ms\n    \
                 http-request deny deny_status 500 if { path /500 }";
    let weir = Setup::http(lines, "    server s <origin>").between(&origin, &log);
    assert_eq!(weir.web().ask("junk\r\n\r\n").status(), 400);
    assert_eq!(log.line(), "error 400 PR web 0");
    let mut late = weir.web();
    late.send("GET / HT");
    assert_eq!(late.response().status(), 408);
    assert_eq!(log.line(), "error 408 cR web 0");
    assert_eq!(weir.web().get("/500").status(), 500);
    assert_eq!(log.line(), "request 500");
    weir.web().expect_open("/");
    assert_eq!(log.line(), "request 200");
}

/// As in HAProxy, each stream has one number from 0 up, for every use of it, malformed requests
/// included.
#[test]
fn streams_are_numbered() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let front = "    unique-id-format id-%rt\n    unique-id-header X-Id\n    \
                 http-response set-header x-rt %rt\n    http-response set-header x-id %[unique-id]\n    \
                 log-format \"%rt %ID\"";
    let weir = Setup::http(front, "    server s <origin>").between(&origin, &log);
    let mut client = weir.web();
    for number in ["0", "1"] {
        let id = format!("id-{number}");
        let answer = client.get("/");
        assert_eq!(answer.header("x-rt"), Some(number));
        assert_eq!(answer.header("x-id"), Some(&*id));
        assert_eq!(log.line(), format!("{number} {id}"));
    }
    assert_eq!(origin.request(1).header("x-id"), Some("id-1"));
    weir.web().ask("GET\r\n\r\n");
    assert!(log.line().starts_with("2 "));
    assert_eq!(weir.web().get("/").header("x-rt"), Some("3"));
    assert_eq!(log.line(), "3 id-3");
    // Two at once: numbered as they begin.
    let (tcp, line) = ("    mode tcp\n    log-format %rt", "    mode tcp\n    server s <origin>");
    let weir = Setup::http(tcp, line).between(&origin, &log);
    let mut clients = [weir.web(), weir.web()];
    for client in &mut clients {
        assert_eq!(client.get("/").text(), "hello");
    }
    for (client, number) in clients.into_iter().zip(["0", "1"]).rev() {
        client.close();
        assert_eq!(log.line(), number);
    }
}

/// As in HAProxy, an error that `errorfile` replaces is logged and counted with its own status.
#[test]
fn a_replaced_error_keeps_its_status() {
    const OTHER: &str = "HTTP/1.0 400 Bad\r\nContent-Length: 3\r\n\r\nabc";
    for (front, request, sent, logged, field) in [
        (
            "errorloc 403 http://x/\n    http-request deny",
            GET,
            "HTTP/1.1 302 ",
            "403 PR",
            "hrsp_4xx",
        ),
        (
            "errorfile 403 <dir>/other\n    http-request deny",
            GET,
            "HTTP/1.1 400 ",
            "403 PR",
            "hrsp_4xx",
        ),
        ("errorfile 403 /dev/null\n    http-request deny", GET, "", "403 PR", "hrsp_4xx"),
        ("errorloc303 503 http://x/", GET, "HTTP/1.1 303 ", "503 SC", "hrsp_5xx"),
        ("errorfile 503 /dev/null", GET, "", "503 SC", "hrsp_5xx"),
        ("errorfile 400 /dev/null", "GET\r\n\r\n", "", "400 PR", "hrsp_4xx"),
        (
            "http-request return status 429 errorfile <dir>/other",
            GET,
            "HTTP/1.1 400 ",
            "429 LR",
            "hrsp_4xx",
        ),
        (
            "errorloc 401 http://x/\n    http-request auth",
            GET,
            "HTTP/1.1 302 ",
            "401 LR",
            "hrsp_4xx",
        ),
        (
            "errorloc 403 http://x/\n    http-request deny\n    http-after-response set-status 201",
            GET,
            "HTTP/1.1 201 ",
            "201 PR",
            "hrsp_2xx",
        ),
    ] {
        let log = LogReceiver::new();
        let weir = Setup::http(&format!("    log-format \"%ST %ts\"\n    {front}"), "")
            .file("other", OTHER)
            .with("log", log.address())
            .start();
        let mut client = weir.web();
        client.send(request);
        let heard = String::from_utf8_lossy(&client.rest()).replace("HTTP/1.0", "HTTP/1.1");
        assert!(heard.starts_with(sent) && heard.is_empty() == sent.is_empty(), "{front}: {heard}");
        assert_eq!(log.line(), logged, "{front}");
        assert_eq!(weir.stat("web", "FRONTEND", field), "1", "{front}");
    }
}

const GET: &str = "GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";

/// As in HAProxy, rules of a response see its status, or that of the error that it replaces.
#[test]
fn rules_of_a_response_see_its_status() {
    let origin = Origin::answering(reply("201 Created", "hello"));
    let front = "    http-response set-header a %ST\n    http-after-response set-header b %ST\n    \
                 errorloc 403 http://x/\n    http-request deny if { path /deny }\n    \
                 http-request set-header c %ST";
    let weir = Setup::http(front, "    server s <origin>").between(&origin, &LogReceiver::new());
    let answer = weir.web().get("/");
    assert_eq!((answer.header("a"), answer.header("b")), (Some("201"), Some("201")));
    assert_eq!(origin.request(0).header("c"), Some("-1"));
    let answer = weir.web().get("/deny");
    assert_eq!((answer.status(), answer.header("b")), (302, Some("403")));
}

/// As in HAProxy, the line is written once the connection to the server is established.
#[test]
fn option_logasap_logs_a_session_once_it_is_connected() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let front = "    mode tcp\n    option logasap\n    log-format \"%b/%s %Tt %B %ts\"";
    let weir = Setup::http(front, "    mode tcp\n    server s <origin>").between(&origin, &log);
    let mut client = weir.web();
    client.send("GET / HTTP/1.1\r\n");
    let line = log.line();
    assert!(line.starts_with("app/s +") && line.ends_with(" +0 --"), "{line}");
    client.send("Host: h\r\n\r\n");
    assert_eq!(client.response().text(), "hello");
    client.close();
    assert!(log.lines_for(Duration::from_millis(200)).is_empty(), "and only then");
}

/// Manual, `option dontlognull`: it is about connections on which no data has been transferred.
#[test]
fn a_failed_session_whose_client_has_spoken_is_logged() {
    let log = LogReceiver::new();
    let front = "    mode tcp\n    option dontlognull\n    log-format \"%b/%s %ts %U\"";
    let back = format!("    mode tcp\n    retries 0\n    server s {}", nobody());
    let weir = Setup::http(front, &back).with("log", log.address()).start();
    weir.web().expect_end();
    let mut client = weir.web();
    client.send("hello");
    client.expect_end();
    assert!(log.line().ends_with("app/s SC 5"), "the one before is not");
    assert!(log.lines_for(Duration::from_millis(100)).is_empty());
}

/// A descriptor to write to, and the other end, from which nothing is read yet.
fn unread(kind: &str) -> (OwnedFd, Box<dyn std::io::Read>) {
    match kind {
        "pipe" => {
            let (reader, writer) = std::io::pipe().expect("a pipe");
            (writer.into(), Box::new(reader))
        }
        _ => {
            let (reader, writer) = UnixStream::pair().expect("a pair");
            (writer.into(), Box::new(reader))
        }
    }
}

#[test]
fn a_log_target_that_is_not_read_costs_lines_and_no_request() {
    for kind in ["pipe", "socket"] {
        let (writer, mut reader) = unread(kind);
        let front = "    log fd@<fd> format raw local0\n    log-format \"begin %HU end\"\n    \
                     http-request return status 200";
        let setup = Setup::http(front, "    server s <origin>").with("origin", nobody());
        let mut weir = setup.inherit("fd", writer).start();
        let mut client = weir.web();
        let path = "x".repeat(900);
        for number in 0..1_000 {
            assert_eq!(client.get(&format!("/{number}/{path}")).status(), 200, "{kind} {number}");
        }
        let info = weir.cli("show info");
        let dropped = info.lines().find_map(|line| line.strip_prefix("DroppedLogs: "));
        let dropped: usize = dropped.expect("a counter").parse().expect("a number");
        assert!(dropped > 500, "{kind}: {dropped}");
        weir.signal(sys::signal::TERM);
        weir.wait();
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("what was written");
        let whole =
            text.lines().filter(|line| line.starts_with("begin /") && line.ends_with(" end"));
        assert_eq!(whole.count(), 1_000 - dropped, "{kind}: the others are whole");
    }
}

/// The output of filters and scripts is dropped and counted like log lines.
#[test]
fn a_standard_error_that_is_not_read_costs_lines_and_no_request() {
    let (writer, reader) = unread("pipe");
    // The shell duplicates descriptors of one digit only.
    let command = format!("exec \"$0\" \"$@\" 2>/proc/self/fd/{}", writer.as_raw_fd());
    let weir = program().display().to_string();
    let front = "    filter trace hexdump\n    http-request lua.fail\n    \
                 http-request return status 200 content-type text/plain lf-string %[path]";
    let weir = Setup::http(front, "")
        .global("lua-load <dir>/a.lua")
        .file(
            "a.lua",
            "core.register_action('fail', {'http-req'}, function(txn)
                print('printed') core.Alert('told') error('failed')
            end)",
        )
        .program(Path::new("/bin/sh"))
        .arguments(&["-c", &command, &weir, "-db"])
        .inherit("fd", writer)
        .start();
    let mut client = weir.web();
    for number in 0..300 {
        let path = format!("/{number}/{}", "x".repeat(900));
        assert_eq!(client.get(&path).text(), path);
    }
    let info = weir.cli("show info");
    let dropped = info.lines().find_map(|line| line.strip_prefix("DroppedLogs: "));
    assert!(dropped.is_some_and(|count| count != "0"), "{info}");
    drop((weir, reader));
}

#[test]
fn control_characters_of_samples_do_not_end_a_line() {
    let log = LogReceiver::new();
    let text = "%[capture.req.uri,url_dec] %{+Q}[capture.req.uri,url_dec] %[var(txn.a)]";
    let front = format!(
        "    http-request set-var(txn.a) req.hdr(x),url_dec\n    log-format \"{text} %ST end\"\n    \
         http-request return status 200"
    );
    let weir = Setup::http(&front, "    server s <origin>")
        .with("origin", nobody())
        .with("log", log.address())
        .start();
    weir.web().ask("GET /a%0ab%00c%0d%1b%7f HTTP/1.1\r\nHost: test\r\nX: y%0Az%00%09\r\n\r\n");
    let uri = "/a#0Ab#00c#0D#1B#7F";
    assert_eq!(log.line(), format!("{uri} \"{uri}\" y#0Az#00\t 200 end"));
}

#[test]
fn the_default_line_is_written_when_a_request_is_complete_or_a_session_accepted() {
    for (mode, rules) in [
        ("http", "http-request set-src hdr(x)\n    http-request set-log-level silent"),
        ("http", "option dontlog-normal\n    option logasap"),
        ("http", "http-request deny"),
        ("tcp", "tcp-request inspect-delay 20s\n    tcp-request content reject if FALSE"),
    ] {
        let (log, (told, answers)) = (LogReceiver::new(), std::sync::mpsc::channel::<()>());
        let answers = std::sync::Mutex::new(answers);
        let origin = Origin::new(move |mut peer| {
            // The server answers when the line has come.
            peer.request();
            let _ = answers.lock().expect("nothing panics with it").recv();
            peer.send(reply("200 OK", "hello"));
        });
        let text = format!(
            "global\n    nbthread 1\ndefaults\n    mode {mode}\n    timeout client 20s\n    \
             timeout connect 5s\n    timeout server 20s\n    log <log> format raw local0\n\
             frontend web\n    bind <web>\n    {rules}\n    default_backend app\n\
             backend app\n    server s <origin>\n"
        );
        let weir = Setup::new(&text).between(&origin, &log);
        let mut client = weir.web();
        let expected = format!(
            "Connect from {} to {} (web/{})",
            client.local(),
            weir.address("web"),
            mode.to_uppercase()
        );
        client.send("GET / HTTP/1.1\r\nHost: a\r\nX: 7.7.7.7\r\n\r\n");
        assert_eq!(log.line(), expected, "{rules}");
        drop(told);
        client.response();
        client.close();
        assert!(log.lines_for(Duration::from_millis(200)).is_empty(), "{rules}: once");
    }
}

#[test]
fn servers_at_paths_and_servers_that_refuse_are_logged() {
    let log = LogReceiver::new();
    let text = "defaults\n    mode http\n    timeout client 5s\n    timeout connect 5s\n    \
                timeout server 5s\n    retries 0\n    log <log> format raw local0\n    \
                log-format \"%bi %bp %si %sp %s\"\n\
                frontend web\n    bind <web>\n    use_backend %[path,field(2,/)]\n    http-request return status 200 if { path /own }\n\
                frontend inner\n    bind unix@<dir>/inner.sock\n    log-format inner\n    \
                http-request return status 200\n\
                backend path\n    server s <dir>/inner.sock\n\
                backend absent\n    server s <dir>/absent.sock\n\
                backend refused\n    server s <nobody>\n\
                backend none\n";
    let nobody = nobody();
    let weir = Setup::new(text).with("log", log.address()).with("nobody", nobody).start();
    let refused = format!("- - {} {} s", nobody.ip(), nobody.port());
    for (target, line) in [
        ("/path", "unix 0 unix 0 s"),
        ("/absent", "- - unix 0 s"),
        ("/refused", &*refused),
        ("/none", "- - - - <NOSRV>"),
        ("/own", "- - - - <NOSRV>"),
    ] {
        weir.web().get(target);
        let told = loop {
            let told = log.line();
            if told.trim_end() != "inner" {
                break told;
            }
        };
        assert_eq!(told.trim_end(), line, "{target}");
    }
}

/// The default format logs the begin of a session.
#[test]
fn connections_that_fail_before_a_session_have_no_line_of_the_default_format() {
    let log = LogReceiver::new();
    let text = "defaults\n    mode http\n    timeout client 5s\n    log <log> format raw local0\n\
                frontend plain\n    bind <plain> accept-proxy\n    http-request return status 200\n\
                frontend logged\n    option httplog\n    bind <logged> accept-proxy\n\
                frontend own\n    error-log-format \"own %f\"\n    bind <own> accept-proxy\n";
    let weir = Setup::new(text).with("log", log.address()).start();
    let foreign = "Received something which does not look like a PROXY protocol header";
    for (listener, line) in [("plain", None), ("logged", Some(foreign)), ("own", Some("own own"))] {
        let mut client = weir.connect(listener);
        client.send("GET / HTTP/1.1\r\n\r\n");
        client.expect_end();
        if let Some(line) = line {
            // A line of the listener before would be here first.
            let told = log.line();
            assert!(told.trim_end().ends_with(line), "{told}");
        }
    }
    let mut client = weir.connect("plain");
    client.send("PROXY UNKNOWN\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.response().status(), 200);
    assert!(log.line().starts_with("Connect from "));
    let mut client = weir.connect("logged");
    client.send("PRO");
    client.half_close();
    client.expect_end();
    assert!(log.line().trim_end().ends_with("Truncated PROXY protocol header received"));
}

#[test]
fn clients_of_unix_sockets_are_logged_with_the_number_of_their_listener() {
    let log = LogReceiver::new();
    for (format, path, expected) in [
        ("option httplog", "one", "unix:2 ["),
        ("option httplog clf", "one", "unix - - ["),
        ("option tcplog", "one", "unix:2 ["),
        ("option httplog json", "one", "\"client_ip\": \"unix\", \"client_port\": 2, "),
        ("", "one", "Connect to unix:2 (web/HTTP)"),
        (
            "log-format \"%{+Q}ci:%{+X}cp %fi:%fp %[src] %[so_id]\"",
            "other",
            "\"unix\":77 unix:77 - 77",
        ),
        ("error-log-format \"E %ci:%cp\"", "bad", "E unix:2"),
    ] {
        let text = format!(
            "global\n    nbthread 1\ndefaults\n    mode http\n    timeout client 5s\n    \
             timeout connect 5s\n    timeout server 5s\n    log <log> format raw local0\n\
             frontend web\n    bind <web>\n    bind unix@<dir>/one\n    bind unix@<dir>/other id 77\n    \
             {format}\n    http-request return status 200\n"
        );
        let weir = Setup::new(&text).with("log", log.address()).start();
        let socket = weir.path(if path == "other" { "other" } else { "one" });
        let mut stream = eventually("the socket", || UnixStream::connect(&socket).ok());
        let request = if path == "bad" { "junk\r\n\r\n" } else { "GET / HTTP/1.0\r\n\r\n" };
        std::io::Write::write_all(&mut stream, request.as_bytes()).expect("a listener");
        stream.read_to_end(&mut Vec::new()).expect("an answer");
        let line = log.line();
        assert!(line.contains(expected), "{format}: {line}");
    }
}

#[test]
fn a_missing_syslog_socket_is_reported_once() {
    let text = "global\n    nbthread 2\n    stats socket <dir>/cli level admin\n\
                defaults\n    mode http\n    timeout client 5s\n    timeout connect 5s\n    \
                timeout server 5s\n    log <log> local0\n    log <dir>/absent local0\n    \
                option httplog\nfrontend web\n    bind <web>\n    http-request return status 200\n";
    let log = LogReceiver::new();
    let mut weir = Setup::new(text).with("log", log.address()).start();
    (0..5).for_each(|_| assert_eq!(weir.web().get("/").status(), 200));
    eventually("all lines are counted", || {
        weir.cli("show info").contains("DroppedLogs: 5\n").then_some(())
    });
    weir.expect_error("failed in logger");
    let socket = UnixDatagram::bind(weir.path("absent")).expect("a path of the test");
    socket.set_read_timeout(Some(crate::support::PATIENCE)).expect("a socket");
    weir.web().get("/");
    assert!(socket.recv(&mut [0; 2_000]).expect("a line") > 0, "it is used once it is there");
    weir.signal(sys::signal::TERM);
    weir.wait();
    let told = weir.errors();
    let line = "sendmsg()/writev() failed in logger #2: No such file or directory (errno=2)\n";
    assert_eq!(told.matches("failed in logger").count(), 1, "{told}");
    assert!(told.contains(&format!("[ALERT]    ({}) : {line}", weir.pid())), "{told}");
}
