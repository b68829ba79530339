//! Tunnels that are silent for some time: what is logged, what ends them, and the memory they hold.

use crate::support::{Client, LogReceiver, Moment, Origin, Running, Setup, eventually, pass};
use std::time::Duration;

const SWITCHED: &str =
    "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: echo\r\nX-Back: yes\r\n\r\n";
const UPGRADE: &str = "GET /chat HTTP/1.1\r\nHost: a.test\r\nX-From: 192.0.2.7\r\n\
                       Connection: Upgrade\r\nUpgrade: echo\r\n\r\n";

/// Accepts an upgrade where there is a request, then sends back what it gets.
fn echo(upgrades: bool) -> Origin {
    Origin::new(move |mut peer| {
        if upgrades {
            peer.request();
            peer.send(SWITCHED);
        }
        while let Some(bytes) = peer.client.try_take(4) {
            peer.send(bytes);
        }
    })
}

/// A proxy in TCP mode.
fn tcp(front: &str, back: &str, origin: &Origin, log: &LogReceiver) -> Running {
    Setup::new(&format!(
        "global\n    nbthread 1\n    stats socket <dir>/cli level admin\n\
         defaults\n    mode tcp\n    timeout connect 5s\n    timeout client 20s\n    \
         timeout server 20s\n    log <log> format raw local0\n    option tcplog\n\
         frontend web\n    bind <web>\n    default_backend app\n{front}\n\
         backend app\n{back}\n    server s <origin>\n"
    ))
    .between(origin, log)
}

/// Opens a tunnel through which one message has gone, and leaves it silent.
fn silent(weir: &Running, upgrades: bool) -> Client {
    let mut client = weir.connect("web");
    if upgrades {
        client.send(UPGRADE);
        assert_eq!(client.head().status(), 101);
    }
    say(&mut client, "ping");
    client
}

fn say(client: &mut Client, message: &str) {
    client.send(message);
    assert_eq!(client.take(4), message.as_bytes());
}

#[test]
fn the_log_line_of_a_silent_tunnel_has_what_rules_have_left() {
    let (origin, log) = (echo(true), LogReceiver::new());
    let front = "    unique-id-format id-%[req.hdr(host)]\n    unique-id-header x-id\n    \
        capture request header Host len 20\n    capture response header X-Back len 20\n    \
        stick-table type ip size 10 store http_req_cnt,bytes_in_cnt,bytes_out_cnt\n    \
        http-request set-src hdr(x-from)\n    http-request track-sc0 src\n    \
        http-request set-var(txn.a) str(one)\n    http-request set-var(sess.b) str(two)\n    \
        http-request set-var(req.c) path\n    http-request set-priority-class int(3)\n    \
        log-format \"%ci %HM %HU %HV %ST %ts %ID %hr %hs %[var(txn.a)] %[var(sess.b)] \
        %[var(req.c)] %[prio_class] %[sc_http_req_cnt(0)] %b/%s %U %B\"";
    let weir = Setup::http(front, "    server s <origin>").between(&origin, &log);
    let mut client = silent(&weir, true);
    pass(Duration::from_millis(20));
    say(&mut client, "pong");
    client.half_close();
    client.expect_end();
    let line = log.line();
    let expected = "192.0.2.7 GET /chat HTTP/1.1 101 -- id-a.test {a.test} {yes} one two /chat 3 1 \
                    app/s ";
    assert!(line.starts_with(expected), "{line}");
    let counts: Vec<u64> = line.rsplitn(3, ' ').take(2).map(|it| it.parse().unwrap()).collect();
    assert_eq!(counts, [SWITCHED.len() as u64 + 8, UPGRADE.len() as u64 + 8], "{line}");
    let table = weir.cli("show table web");
    let counted = format!("bytes_in_cnt={} bytes_out_cnt={}", counts[1], counts[0]);
    assert!(table.contains("key=192.0.2.7") && table.contains(&counted), "{table}");
}

#[test]
fn the_log_line_of_a_silent_session_counts_its_bytes() {
    let (origin, log) = (echo(false), LogReceiver::new());
    let front = "    tcp-request content set-var(txn.a) src\n    \
        log-format \"%b/%s %U %B %ts %[var(txn.a)]\"";
    let weir = tcp(front, "", &origin, &log);
    let mut client = silent(&weir, false);
    pass(Duration::from_millis(20));
    say(&mut client, "pong");
    client.half_close();
    client.expect_end();
    assert_eq!(log.line(), "app/s 8 8 -- 127.0.0.1");
    eventually("it is over", || (weir.stat("web", "FRONTEND", "scur") == "0").then_some(()));
    assert_eq!(
        (weir.stat("app", "s", "bin"), weir.stat("app", "s", "bout")),
        ("8".into(), "8".into())
    );
}

#[test]
fn a_rule_limits_the_silence_of_a_tunnel() {
    let (origin, log) = (echo(true), LogReceiver::new());
    let back = "    timeout tunnel 20s\n    http-request set-timeout tunnel 300ms\n    \
        server s <origin>";
    let weir = Setup::http("", back).between(&origin, &log);
    let mut client = silent(&weir, true);
    let begin = Moment::now();
    client.expect_end();
    let took = begin.elapsed();
    assert!((Duration::from_millis(200)..Duration::from_secs(10)).contains(&took), "{took:?}");
    assert!(log.line().contains(" cD-- "));
}

#[test]
fn commands_end_silent_tunnels() {
    for upgrades in [true, false] {
        let (origin, log) = (echo(upgrades), LogReceiver::new());
        let weir = match upgrades {
            true => Setup::http("", "    server s <origin>").between(&origin, &log),
            false => tcp("", "", &origin, &log),
        };
        let mut client = silent(&weir, upgrades);
        assert!(weir.cli("show sess").contains("be=app srv=s"), "{}", weir.cli("show sess"));
        assert_eq!(weir.stat("app", "s", "scur"), "1");
        weir.cli("shutdown sessions server app/s");
        client.expect_end();
        let line = log.line();
        assert!(line.contains(" K"), "{line}");
        eventually("it is over", || (weir.stat("app", "s", "scur") == "0").then_some(()));
    }
}

#[test]
fn silent_tunnels_hold_no_memory_of_transactions() {
    for upgrades in [true, false] {
        let (origin, log) = (echo(upgrades), LogReceiver::new());
        let weir = match upgrades {
            true => Setup::http("", "    server s <origin>").between(&origin, &log),
            false => tcp("", "", &origin, &log),
        };
        let held: Vec<Client> = (0..8).map(|_| silent(&weir, upgrades)).collect();
        // Memory that a thread keeps for the next transaction is free.
        for pool in ["notes", "workspace"] {
            eventually(pool, || {
                let pools = weir.cli("show pools");
                let line = pools.lines().find(|line| line.contains(pool))?;
                (!line.contains(" 0 allocated")).then_some(())
            });
        }
        drop(held);
    }
}
