//! Statistics, commands, traces and logs about QUIC connections.

use crate::support::h3_client::{H3Client, RETURN, fields, started, started_with};
use crate::support::{LogReceiver, Running, eventually, run};
use quinn_proto::Dir;
use sys::signal;

fn stat(weir: &Running, field: &str) -> u64 {
    weir.stat("web", "FRONTEND", field).parse().unwrap_or_else(|_| panic!("{field}"))
}

/// Waits until a counter of the frontend has a value.
fn expect(weir: &Running, field: &str, value: u64) {
    eventually(field, || (stat(weir, field) == value).then_some(()));
}

#[test]
fn the_modules_quic_and_h3_count_connections_and_frames() {
    let front = format!(
        "    http-request use-service prometheus-exporter if {{ path /metrics }}\n{RETURN}"
    );
    let (weir, address, trust) = started_with(" quic-force-retry", "", &front);
    let mut client = H3Client::connect(address, &trust);
    for _ in 0..3 {
        assert_eq!(client.ask("POST", "/", b"x").1, b"hello");
    }
    expect(&weir, "h3_headers", 3);
    expect(&weir, "h3_settings", 1);
    assert!(stat(&weir, "h3_data") >= 3);
    assert!(stat(&weir, "quic_sent_pkt") > 3);
    assert_eq!((stat(&weir, "quic_retry_sent"), stat(&weir, "quic_retry_validated")), (1, 1));
    assert_eq!((stat(&weir, "quic_half_open_conn"), stat(&weir, "quic_hdshk_fail")), (0, 0));
    assert_eq!((stat(&weir, "h1_open_connections"), stat(&weir, "h1_total_connections")), (0, 0));
    let metrics =
        String::from_utf8(client.ask("GET", "/metrics?extra-counters", b"").1).expect("a text");
    assert!(metrics.contains("haproxy_frontend_quic_retry_validated{proxy=\"web\"} 1\n"));
    assert!(metrics.contains("haproxy_frontend_h3_settings{proxy=\"web\"} 1\n"));
    client.close(0x10c);
    expect(&weir, "h3_request_cancelled", 1);
}

#[test]
fn failed_handshakes_and_broken_packets_count() {
    let (weir, address, _) = started("", RETURN);
    // This client trusts another authority.
    let (_other, _, foreign) = started("", RETURN);
    let mut client = H3Client::new(address, &foreign);
    client.run(|client| client.lost.is_some());
    expect(&weir, "quic_hdshk_fail", 1);
    expect(&weir, "quic_transp_err_crypto_error", 1);
    client.socket.send(&[0xc0; 60]).expect("an open socket");
    client.socket.send(&[0xc0, 0, 0, 0, 1, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0]).expect("the same");
    expect(&weir, "quic_dropped_pkt", 2);
    expect(&weir, "quic_too_short_dgram", 2);
    client.socket.send(&[0x40; 300]).expect("an open socket");
    expect(&weir, "quic_stless_rst_sent", 1);
    expect(&weir, "quic_half_open_conn", 0);
}

#[test]
fn show_quic_lists_connections() {
    let (weir, address, trust) = started("    nbthread 2\n", RETURN);
    assert_eq!(weir.cli("show quic").lines().filter(|line| line.starts_with("0x")).count(), 0);
    let mut clients: Vec<_> = (0..3).map(|_| H3Client::connect(address, &trust)).collect();
    clients.iter_mut().for_each(|client| assert_eq!(client.ask("GET", "/", b"").1, b"hello"));
    let listed = weir.cli("show quic");
    let lines: Vec<_> = listed.lines().filter(|line| line.contains("/web ESTAB 0 1 ")).collect();
    assert_eq!(lines.len(), 3, "{listed}");
    let full = weir.cli("show quic full");
    assert_eq!(full.matches("  mux: streams=0 requests=1").count(), 3, "{full}");
    let one = lines[0].split('[').next().expect("a number");
    assert_eq!(weir.cli(&format!("show quic sock {one}")).matches("  sock: ").count(), 1);
    assert!(weir.cli("show quic help").starts_with("Usage: show quic"));
    assert!(weir.cli("show quic nothing").contains("Invalid format or filter"));
}

#[test]
fn traces_of_quic_and_h3_report_connections_and_requests() {
    let (weir, address, trust) = started("", RETURN);
    for source in ["quic", "h3"] {
        for words in ["sink buf0", "level developer", "verbosity simple", "start now"] {
            weir.cli(&format!("trace {source} {words}"));
        }
    }
    let mut client = H3Client::connect(address, &trust);
    assert_eq!(client.ask("GET", "/", b"").1, b"hello");
    client.close(0x100);
    eventually("all events", || {
        let shown = weir.cli("show events buf0");
        let all = ["QUIC connection begun", "QUIC handshake completed", "H3 request headers"];
        let told = all.iter().all(|text| shown.contains(text));
        (told && shown.contains("QUIC connection ended")).then_some(())
    });
}

#[test]
fn malformed_requests_are_logged_and_counted() {
    let log = LogReceiver::new();
    let front = format!("    log {} local0\n    option httplog\n{RETURN}", log.address());
    let (weir, address, trust) = started("", &front);
    let mut client = H3Client::connect(address, &trust);
    // A head without a path.
    client.send(Dir::Bi, &fields(&[(":method", "GET"), (":scheme", "https")]));
    client.rest();
    let line = log.line();
    assert!(line.contains("<BADREQ>"), "{line}");
    expect(&weir, "h3_message_error", 1);
    assert_eq!(client.ask("GET", "/", b"").1, b"hello");
}

#[test]
fn a_soft_stop_spreads_the_end_of_connections() {
    for (global, front, closes) in [
        ("    close-spread-time 300s\n", "", false),
        ("    close-spread-time infinite\n", "", false),
        ("", "    option idle-close-on-response\n", false),
        ("    close-spread-time 1ms\n", "", true),
    ] {
        let (weir, address, trust) = started(global, &format!("{front}{RETURN}"));
        let mut client = H3Client::connect(address, &trust);
        assert_eq!(client.ask("GET", "/", b"").1, b"hello");
        weir.signal(signal::USR1);
        weir.expect_error("Proxy web stopped");
        if closes {
            assert_eq!(client.end(), 0x100);
            continue;
        }
        (0..20).for_each(|_| client.rest());
        assert!(!client.is_going_away(), "{global}{front}");
        assert_eq!(client.ask("GET", "/", b"").1, b"hello");
        if !front.is_empty() {
            // The response is the moment to go.
            assert_eq!(client.end(), 0x100);
        }
    }
}

#[test]
fn the_version_names_the_quic_library() {
    let output = run(&["-vv"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains(" +QUIC "), "{text}");
    assert!(text.contains("       quic : mode=HTTP  side=FE     mux=QUIC\n"), "{text}");
}

#[test]
fn names_of_later_versions_set_the_same_limits() {
    let global = "    tune.quic.fe.max-idle-timeout 10s\n    tune.quic.fe.stream.max-concurrent 3\n    \
        tune.quic.fe.sec.retry-threshold 0\n    tune.quic.fe.stream.rxbuf 32k\n    \
        tune.quic.fe.tx.udp-gso off\n    tune.quic.fe.tx.pacing on\n    \
        tune.quic.fe.stream.max-total 2\n    tune.quic.fe.cc.max-win-size 100k\n    \
        tune.quic.fe.sec.glitches-threshold 100\n    tune.quic.listen on\n";
    let (weir, address, trust) =
        started_with(" quic-cc-algo bbr quic-socket listener", global, RETURN);
    let mut client = H3Client::connect(address, &trust);
    assert_eq!(client.ask("GET", "/", &vec![b'x'; 200_000]).1, b"hello");
    assert_eq!(stat(&weir, "quic_retry_sent"), 1);
    assert_eq!(client.ask("GET", "/", b"").1, b"hello");
    assert!(client.is_going_away(), "after two requests");
    assert_eq!(client.end(), 0x100);
}

#[test]
fn listeners_of_quic_are_not_opened_where_quic_is_off() {
    let (weir, address, trust) =
        started("    tune.quic.listen off\n", &format!("    bind unix@<dir>/web\n{RETURN}"));
    assert!(std::net::UdpSocket::bind(address).is_ok(), "nothing has the port");
    drop((weir, trust));
}
