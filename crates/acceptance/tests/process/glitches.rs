//! Breaches of HTTP/2 by clients and servers are counted and limited; cancelled requests do not
//! count.

use crate::http2::{OK, PREFACE, SETTINGS, answer, block, connection_field, frame, get, told};
use crate::support::{Client, LogReceiver, Origin, Setup, eventually, run};

/// A request that is refused: it names a field of HTTP/1 connections.
fn malformed(stream: u8) -> Vec<u8> {
    connection_field(stream)
}

const STORE: &str = "backend st\n    stick-table type ip size 100 expire 1m store \
                     glitch_cnt,glitch_rate(1m)\n";

#[test]
fn glitches_of_clients_are_counted() {
    let log = LogReceiver::new();
    let front = "    tcp-request connection track-sc0 src table st\n    \
        tcp-request connection track-sc1 src table st\n    \
        tcp-request connection track-sc2 src table st\n    \
        log-format \"%[fc_glitches] %[sc_glitch_cnt(0,st)] %[sc_glitch_rate(0,st)] \
        %[sc0_glitch_cnt] %[sc0_glitch_rate] %[sc1_glitch_cnt] %[sc1_glitch_rate] \
        %[sc2_glitch_cnt] %[sc2_glitch_rate] %[src_glitch_cnt(st)] %[src_glitch_rate(st)] \
        %[src,table_glitch_cnt(st)] %[src,table_glitch_rate(st)]\"\n    \
        http-request return status 200";
    let setup = Setup::http(front, STORE);
    let weir = setup.between(&Origin::saying(""), &log);
    let mut client = weir.web();
    told(&mut client);
    assert_eq!(answer(&mut client, 1), OK);
    assert_eq!(log.line(), "0 0 0 0 0 0 0 0 0 0 0 0 0");
    client.send([malformed(3), malformed(5)].concat());
    // The lines of the two are written first.
    assert_eq!(answer(&mut client, 7), OK);
    let [_, _, line] = [(); 3].map(|()| log.line());
    assert_eq!(line, "2 6 6 6 6 6 6 6 6 6 6 6 6");
    // Another connection of the same client knows of no glitches of its own.
    assert_eq!(weir.web().get("/").status(), 200);
    assert_eq!(log.line(), "0 6 6 6 6 6 6 6 6 6 6 6 6");
    let shown = weir.cli("show table st");
    assert!(shown.contains(" glitch_cnt=6 glitch_rate(60000)=6"), "{shown}");
    weir.cli("set table st key 127.0.0.1 data.glitch_cnt 77");
    assert!(weir.cli("show table st").contains(" glitch_cnt=77 "));
}

/// A server that sends two empty DATA frames with each answer.
fn sloppy_server() -> Origin {
    Origin::new(|mut peer| {
        let client: &mut Client = &mut peer.client;
        client.take(24);
        client.send(SETTINGS);
        let mut stream = 1;
        loop {
            while frame(client).0 != 1 {}
            let head = [0, 0, 1, 1, 4, 0, 0, 0, stream, OK];
            let empty = [0, 0, 0, 0, 0, 0, 0, 0, stream];
            let end = [0, 0, 2, 0, 1, 0, 0, 0, stream, b'o', b'k'];
            client.send([&head[..], &empty, &empty, &end].concat());
            stream += 2;
        }
    })
}

#[test]
fn glitches_of_servers_are_counted() {
    let (log, origin) = (LogReceiver::new(), sloppy_server());
    let front = "    http-response set-header x-glitches %[bc_glitches]\n    \
                 log-format \"%ST %[bc_glitches]\"";
    let back = "    http-reuse always\n    server s <origin> proto h2";
    let weir = Setup::http(front, back).between(&origin, &log);
    for count in [2, 4] {
        assert_eq!(weir.web().get("/").status(), 200);
        let line = log.line();
        assert!(line.ends_with(&format!("200 {count}")), "{line}");
    }
    assert_eq!(origin.connections(), 1);
}

#[test]
fn a_threshold_ends_connections_of_servers() {
    let (log, origin) = (LogReceiver::new(), sloppy_server());
    let back = "    http-reuse always\n    server s <origin> proto h2";
    let setup = Setup::http("", back).global("tune.h2.be.glitches-threshold 4");
    let weir = setup.between(&origin, &log);
    assert_eq!(weir.web().get("/").status(), 200);
    let mut second = weir.web();
    second.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    second.rest();
    assert_eq!(weir.web().get("/").status(), 200);
    assert_eq!(origin.connections(), 2, "the second request has ended the first connection");
}

/// Sends refused requests until the connection ends; returns how many were refused.
fn refused(client: &mut Client) -> (usize, u8) {
    told(client);
    let many = (0..100).flat_map(|number| malformed(2 * number + 1));
    let _ = client.try_send(many.collect::<Vec<u8>>());
    let mut resets = 0;
    loop {
        match frame(client) {
            (3, ..) => resets += 1,
            (7, _, _, payload) => return (resets, payload[7]),
            (1, _, 199 | 201, _) => return (resets, 0),
            _ => {}
        }
        if resets == 100 {
            return (resets, 0);
        }
    }
}

#[test]
fn a_threshold_ends_connections_of_clients() {
    let enhance_your_calm = 11;
    for (global, expected) in [
        ("tune.h2.fe.glitches-threshold 7", (7, enhance_your_calm)),
        ("tune.h2.fe.glitches-threshold 0", (100, 0)),
        ("tune.h2.be.glitches-threshold 7", (100, 0)),
        // The test does not keep a thread busy, so that there is time for glitches.
        ("tune.h2.fe.glitches-threshold 7\n    tune.glitches.kill.cpu-usage 100", (100, 0)),
    ] {
        let weir = Setup::http("    http-request return status 200", "").global(global).start();
        let mut client = weir.web();
        assert_eq!(refused(&mut client), expected, "{global}");
    }
}

/// A page that scrolls over images cancels many requests.
#[test]
fn requests_that_are_cancelled_do_not_end_their_connection() {
    let weir = Setup::http("    timeout tarpit 20s\n    http-request tarpit if { path / }", "")
        .global("stats socket <dir>/cli level admin")
        .start();
    let mut client = weir.web();
    client.send([PREFACE, &SETTINGS].concat());
    let mut seen = 0;
    for round in 0..10 {
        let streams: Vec<u32> = (0..90).map(|number| 180 * round + 2 * number + 1).collect();
        let with = |head: &[u8], stream: &u32, payload: &[u8]| {
            [head, &stream.to_be_bytes(), payload].concat()
        };
        let requests = streams.iter().flat_map(|it| with(&get(1)[..5], it, &get(1)[9..]));
        client.send(requests.collect::<Vec<u8>>());
        seen += streams.len();
        eventually("all requests are looked at", || {
            (weir.stat("web", "FRONTEND", "req_tot") == seen.to_string()).then_some(())
        });
        let cancels = streams.iter().flat_map(|it| with(&[0, 0, 4, 3, 0], it, &[0, 0, 0, 8]));
        client.send(cancels.collect::<Vec<u8>>());
    }
    let last = (180 * 10 + 1_u32).to_be_bytes();
    let ping = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, last[0], last[1], last[2], last[3]];
    client.send(ping);
    loop {
        let (kind, _, _, payload) = frame(&mut client);
        assert!(kind != 7, "GOAWAY {payload:?}");
        if kind == 6 {
            return;
        }
    }
}

/// Bounds of a turn hold requests up, and lose none.
#[test]
fn a_bounded_turn_loses_no_frame() {
    for global in ["tune.h2.fe.max-frames-at-once 1", "tune.h2.fe.max-rst-at-once 1"] {
        let weir = Setup::http("    http-request return status 200", "").global(global).start();
        let mut client = weir.web();
        let reset = |stream| vec![0, 0, 4, 3, 0, 0, 0, 0, stream, 0, 0, 0, 8];
        let pairs =
            (0..40).flat_map(|number| [get(4 * number + 1), reset(4 * number + 1)].concat());
        let all = [PREFACE, &SETTINGS, &pairs.collect::<Vec<_>>(), &get(201)].concat();
        client.send(all);
        assert_eq!(block(&mut client, 201)[0], OK, "{global}");
    }
}

#[test]
fn bad_thresholds_are_refused() {
    for (line, words) in [
        ("tune.h2.fe.glitches-threshold -1", "tune.h2.fe.glitches-threshold"),
        ("tune.h2.fe.max-rst-at-once some", "some"),
        ("tune.glitches.kill.cpu-usage 101", "101"),
        ("tune.glitches.kill.cpu-usage", "tune.glitches.kill.cpu-usage"),
    ] {
        let directory = crate::support::Directory::new();
        let file = directory.write("weir.cfg", &format!("global\n    {line}\n"));
        let checked = run(&["-c", "-f", &file.display().to_string()]);
        let said = String::from_utf8_lossy(&checked.stderr).into_owned();
        assert!(!checked.status.success() && said.contains(words), "{line}: {said}");
        assert!(said.contains("weir.cfg:2"), "{line}: {said}");
    }
}
