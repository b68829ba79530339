//! Rings, their servers, and logs of others that are passed on.

use crate::support::{self, LogReceiver, PATIENCE, Running, Setup, eventually};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixListener;

/// A frontend that logs to rings, and the configuration in `lines`.
fn setup(lines: &str) -> Setup {
    Setup::new(&format!(
        "global\n    nbthread 2\n    stats socket <dir>/cli level admin\n\
         defaults\n    mode http\n    timeout client 5s\n    timeout connect 5s\n    \
         timeout server 5s\n\
         frontend web\n    bind <web>\n    http-request return status 200\n    \
         log-format %HU\n    log ring@near format rfc5424 local0\n    log ring@far local1\n\
         {lines}\n"
    ))
}

const RINGS: &str = "ring near\n    description \"close by\"\n    format raw\n    maxlen 20\n    \
                     size 20000\n    backing-file <dir>/near\n\
                     ring far\n    format rfc5424\n    timeout connect 2s\n    timeout server 2s\n    \
                     server s <far>";

/// The bytes of a stream up to a text.
fn hear(stream: &mut TcpStream, until: &str) -> String {
    stream.set_read_timeout(Some(PATIENCE)).expect("a stream");
    support::hear(stream, until)
}

#[test]
fn rings_keep_the_messages_that_servers_get() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let weir = setup(RINGS)
        .with("far", server.local_addr().expect("a socket"))
        .file("near", "of an earlier run")
        .start();
    weir.web_get("/one");
    let (mut first, _) = server.accept().expect("the ring connects");
    let line = hear(&mut first, "/one\n");
    assert!(line.starts_with("<142>1 2"), "{line}");
    drop(first);
    let (mut second, _) = server.accept().expect("the ring connects again");
    // One after the other: two threads write their lines in whatever order they end in.
    weir.web_get("/two");
    let heard = hear(&mut second, "/two\n");
    assert!(!heard.contains("/one\n"), "{heard}");
    weir.web_get("/three");
    hear(&mut second, "/three\n");
    weir.web_get("/a-path-that-is-too-long-for-the-ring");
    let all = "/one\n/two\n/three\n/a-path-that-is-too-";
    eventually("the last line", || (weir.cli("show events near") == all).then_some(()));
    let listed = weir.cli("show events");
    assert!(listed.contains("\n    near       : type=buffer, 0 dropped, close by\n"), "{listed}");
    // A thread of its own writes the backing file, so the file follows the ring a little later.
    let file = eventually("the last line in the backing file", || {
        let file = std::fs::read(weir.path("near")).expect("the backing file");
        file.windows(6).any(|part| part == b"/three").then_some(file)
    });
    assert_eq!(file.len(), 20_000);
    let old = std::fs::read_to_string(weir.path("near.bak")).expect("what was there before");
    assert_eq!(old, "of an earlier run");
}

#[test]
fn a_server_that_counts_gets_lengths() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let rings = "ring near\n    format raw\nring far\n    format raw\n    \
                 server s <far> log-proto octet-count";
    let weir = setup(rings).with("far", server.local_addr().expect("a socket")).start();
    weir.web_get("/one");
    let (mut stream, _) = server.accept().expect("the ring connects");
    assert_eq!(hear(&mut stream, "/one"), "4 /one");
}

#[test]
fn debug_converters_write_samples_to_sinks() {
    let weir = Setup::new(
        "global\n    nbthread 1\n    stats socket <dir>/cli level admin\n\
         ring near\n    format raw\nring far\n    format rfc3164\n\
         defaults\n    mode http\n    timeout client 5s\n    timeout connect 5s\n    \
         timeout server 5s\n\
         frontend web\n    bind <web>\n    \
         http-request set-var(txn.a) int(5),debug(five,near),add(1),debug(,near)\n    \
         http-request set-var(txn.b) path,debug(path),debug(path,far),debug(p,stderr)\n    \
         http-request return status 200\n",
    )
    .start();
    assert_eq!(weir.web().get("/a").status(), 200);
    assert_eq!(
        weir.cli("show events near"),
        "[debug] five: type=sint <5>\n[debug] : type=sint <6>"
    );
    for sink in ["buf0", "far"] {
        let line = weir.cli(&format!("show events {sink}"));
        assert!(line.starts_with("<0>"), "{line}");
        assert!(line.ends_with(" [debug] path: type=str </a>"), "{line}");
    }
    weir.expect_error("[debug] p: type=str </a>\n");
}

#[test]
fn logs_of_others_are_passed_on() {
    let (udp, raw, sampled) = (LogReceiver::new(), LogReceiver::new(), LogReceiver::new());
    let weir = setup(
        "ring near\nring far\n    server s 127.0.0.1:9\n\
         log-forward others\n    bind <tcp>\n    dgram-bind <udp>\n    maxconn 1\n    backlog 5\n    \
         timeout client 300ms\n    log <plain> local0 notice\n    \
         log <raw> len 80 format raw local0\n    log <sampled> format priority sample 2:2 local0",
    )
    .with("plain", udp.address())
    .with("raw", raw.address())
    .with("sampled", sampled.address())
    .start();
    let sender = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let send = |text: &str| sender.send_to(text.as_bytes(), weir.address("udp")).expect("sent");
    send("<34>Oct 11 22:14:15 host su[12]: one");
    assert_eq!(udp.line(), "<34>Oct 11 22:14:15 host su[12]: one");
    assert_eq!(raw.line(), "one");
    send("<14>only for information");
    assert_eq!(raw.line(), "only for information");
    assert_eq!(sampled.line(), "<14>only for information", "it is the second one");

    let mut stream = TcpStream::connect(weir.address("tcp")).expect("a listener");
    stream.write_all(b"9 <13>three<13>four\n<13>fi").expect("it is read");
    assert_eq!(udp.line(), "<13>three");
    assert_eq!(udp.line(), "<13>four");
    stream.write_all(b"ve\n").expect("it is read");
    assert_eq!(udp.line(), "<13>five");
    // The ring accepts one connection; a new one replaces a silent one.
    let mut next = TcpStream::connect(weir.address("tcp")).expect("a listener");
    next.write_all(b"<13>six\n").expect("it is read later");
    assert_eq!(udp.line(), "<13>six");
    stream.set_nonblocking(true).expect("a stream");
    assert_eq!(stream.read(&mut [0]).expect("the silent one has ended before"), 0);
    eventually("the messages are counted", || {
        weir.cli("show info").contains("\nCumRecvLogs: 6\n").then_some(())
    });
    let long = format!("<13>{}", "x".repeat(100));
    send(&long);
    assert!(raw.find("xxxx").len() <= 80);
}

#[test]
fn logs_of_others_may_come_behind_a_header() {
    let log = LogReceiver::new();
    let weir = setup(
        "ring near\nring far\nlog-forward others\n    bind <tcp> accept-proxy\n    \
         log <plain> format raw local0",
    )
    .with("plain", log.address())
    .start();
    let mut without = TcpStream::connect(weir.address("tcp")).expect("a listener");
    without.write_all(b"<13>nobody\n").expect("it is read");
    assert_eq!(without.read(&mut [0]).unwrap_or(0), 0, "it is closed");
    let mut stream = TcpStream::connect(weir.address("tcp")).expect("a listener");
    stream.write_all(b"PROXY TCP4 1.2.3.4 5.6.7.8").expect("it is read");
    stream.write_all(b" 42 1337\r\n<13>one\n").expect("it is read");
    assert_eq!(log.line(), "one");
}

#[test]
fn a_soft_stop_loses_no_message() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let log = LogReceiver::new();
    let mut weir = setup(&format!(
        "{RINGS}\nlog-forward others\n    bind <tcp>\n    log <plain> format raw local0"
    ))
    .with("far", server.local_addr().expect("a socket"))
    .with("plain", log.address())
    .start();
    let mut stream = TcpStream::connect(weir.address("tcp")).expect("a listener");
    stream.write_all(b"<13>before\n").expect("it is read");
    assert_eq!(log.line(), "before");
    weir.web_get("/one");
    weir.signal(sys::signal::USR1);
    eventually("nobody listens", || TcpStream::connect(weir.address("tcp")).is_err().then_some(()));
    stream.write_all(b"<13>after\n").expect("it is read");
    assert_eq!(log.line(), "after", "who has come before the stop is heard");
    assert!(weir.is_running());
    drop(stream);
    assert!(weir.wait().success());
    let (mut poured, _) = server.accept().expect("the ring has connected");
    hear(&mut poured, "/one\n");
}

impl Running {
    fn web_get(&self, path: &str) {
        self.web().ask(format!("GET {path} HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n"));
    }
}

/// The manual's `log`: an address for streams is a ring with a server.
#[test]
fn a_log_line_for_streams_has_a_ring_of_its_own() {
    let directory = support::Directory::new();
    let (tcp, unix) = (
        TcpListener::bind("127.0.0.1:0").expect("a port"),
        UnixListener::bind(directory.path("log")).expect("a path"),
    );
    let weir = Setup::new(
        "global\n    nbthread 1\n    stats socket <dir>/cli level admin\n    \
         log stream+ip@<tcp> len 80 format rfc5424 local1\n    log uxst@<unix> local0\n\
         defaults\n    mode http\n    timeout client 5s\n    timeout connect 5s\n    \
         timeout server 5s\n    log global\n\
         frontend web\n    bind <web>\n    http-request return status 200\n    log-format %HU\n",
    )
    .with("tcp", tcp.local_addr().expect("a port"))
    .with("unix", directory.path("log").display())
    .start();
    weir.web_get("/one");
    let (mut stream, _) = tcp.accept().expect("the ring connects");
    let line = hear(&mut stream, "/one\n");
    assert!(line.starts_with("<142>1 2"), "{line}");
    let (mut stream, _) = unix.accept().expect("the ring connects");
    stream.set_read_timeout(Some(PATIENCE)).expect("a stream");
    let line = support::hear(&mut stream, "/one\n");
    assert!(line.starts_with("<134>") && line.contains(" haproxy["), "{line}");
    let listed = weir.cli("show events");
    let described =
        "\n    ring#1     : type=buffer, 0 dropped, created from logserver declared into '";
    assert!(listed.contains(described) && listed.contains("' at line 4\n"), "{listed}");
}

#[test]
fn logs_arrive_at_a_unix_socket_for_datagrams() {
    let log = LogReceiver::new();
    let weir = Setup::new(
        "global\n    nbthread 1\n    stats socket <dir>/cli level admin\n\
         log-forward f\n    dgram-bind dgram+unix@<dir>/in mode 600\n    log <log> format raw local0\n",
    )
    .with("log", log.address())
    .start();
    weir.cli("show info");
    let sender = std::os::unix::net::UnixDatagram::unbound().expect("a socket");
    sender.send_to(b"<133>Jan  1 00:00:00 host tag: hello", weir.path("in")).expect("it is there");
    let line = log.line();
    assert!(line.contains("hello"), "{line}");
}
