//! The effects of signals on a process that serves.

use crate::support::{Client, Origin, Running, Setup, eventually, reply};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt as _;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use sys::signal;

/// An origin that answers on a signal of the test.
fn patient_origin() -> (Origin, Sender<()>) {
    let (tell, told) = channel();
    let told = Arc::new(Mutex::new(told));
    let origin = Origin::new(move |mut peer| {
        while peer.request().is_some() {
            let _ = told.lock().expect("nothing panics with it").recv();
            peer.send(reply("200 OK", "late"));
        }
    });
    (origin, tell)
}

fn start(origin: &Origin, arguments: &[&str]) -> Running {
    let weir = Setup::http("", "    server s <origin>")
        .with("origin", origin.address())
        .arguments(arguments)
        .start();
    // Answers come when signals are prepared.
    weir.cli("show info");
    weir
}

fn refuses(weir: &Running) -> bool {
    TcpStream::connect(weir.address("web")).is_err()
}

#[test]
fn a_soft_stop_finishes_running_requests() {
    let (origin, tell) = patient_origin();
    let mut weir = start(&origin, &["-db"]);
    let mut running = weir.web();
    running.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    origin.request(0);
    weir.signal(signal::USR1);
    eventually("no new clients are taken", || refuses(&weir).then_some(()));
    assert!(weir.is_running());
    tell.send(()).expect("the origin waits");
    let answer = running.response();
    assert_eq!((answer.status(), answer.text().as_str()), (200, "late"));
    running.expect_end();
    assert_eq!(weir.wait().code(), Some(0));
}

#[test]
fn a_soft_stop_closes_idle_connections() {
    let origin = Origin::saying("hello");
    let mut weir = start(&origin, &["-db"]);
    let mut client = weir.web();
    client.expect_open("/");
    weir.signal(signal::USR1);
    client.expect_end();
    assert_eq!(weir.wait().code(), Some(0));
}

#[test]
fn a_soft_stop_may_leave_idle_connections_one_more_request() {
    let mut weir =
        Setup::http("    option idle-close-on-response\n    http-request return status 200", "")
            .start();
    weir.cli("show info");
    let mut client = weir.web();
    client.expect_open("/");
    weir.signal(signal::USR1);
    eventually("no new clients are taken", || refuses(&weir).then_some(()));
    let answer = client.get("/");
    assert_eq!((answer.status(), answer.header("connection")), (200, Some("close")));
    client.expect_end();
    assert_eq!(weir.wait().code(), Some(0));
}

#[test]
fn a_soft_stop_without_clients_ends_at_once() {
    let origin = Origin::saying("hello");
    let mut weir = start(&origin, &["-db"]);
    weir.signal(signal::USR1);
    assert_eq!(weir.wait().code(), Some(0));
    weir.expect_error("Proxy web stopped (cumulated conns: FE: 0, BE: 0).");
}

#[test]
fn termination_does_not_wait() {
    for number in [signal::TERM, signal::INT] {
        let (origin, _tell) = patient_origin();
        let mut weir = start(&origin, &["-db"]);
        let mut running = weir.web();
        running.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
        origin.request(0);
        weir.signal(number);
        running.expect_end();
        assert_eq!(weir.wait().signal(), Some(number));
    }
}

/// Whether this process ignores a signal, as shells have their background jobs ignore SIGINT: what
/// it starts inherits that.
fn is_ignored_here(number: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("a Linux system");
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("it is listed");
    let mask = u64::from_str_radix(mask.trim(), 16).expect("a mask");
    mask >> (number - 1) & 1 == 1
}

#[test]
fn in_debug_mode_signals_keep_their_default_action() {
    let given = [signal::INT, signal::TERM].into_iter().filter(|number| !is_ignored_here(*number));
    for number in given {
        let origin = Origin::saying("hello");
        let mut weir = start(&origin, &["-d"]);
        weir.signal(number);
        assert_eq!(weir.wait().signal(), Some(number));
    }
}

#[test]
fn sighup_logs_the_states_of_servers() {
    let origin = Origin::saying("hello");
    let mut weir = start(&origin, &["-db"]);
    weir.web().expect_open("/");
    weir.signal(signal::HUP);
    weir.expect_error("SIGHUP: Server app/s is UP. Conn: 0 act, 0 pend, 1 tot.");
    weir.expect_error("SIGHUP: Proxy app has 1 active servers and 0 backup servers available. ");
    weir.expect_error("SIGHUP: Proxy web has no servers. Conn: act(FE+BE): ");
    assert!(weir.is_running());
    weir.web().expect_open("/");
}

#[test]
fn a_broken_pipe_is_harmless() {
    let origin = Origin::saying("hello");
    let mut weir = start(&origin, &["-db"]);
    weir.signal(13);
    weir.web().expect_open("/");
    assert!(weir.is_running());
}

#[test]
fn a_client_that_resets_while_the_answer_is_on_its_way_is_harmless() {
    let origin = Origin::new(|mut peer| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 30000000\r\n\r\n");
        peer.send(vec![b'x'; 30_000_000]);
    });
    let mut weir = start(&origin, &["-db"]);
    for _ in 0..5 {
        let mut client: Client = weir.web();
        client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
        client.head();
        client.close();
    }
    eventually("all sessions end", || (weir.stat("web", "FRONTEND", "scur") == "0").then_some(()));
    assert!(weir.is_running());
}

/// The name of a thread, and its blocked signals, as bits.
fn masks(pid: u32) -> Vec<(String, u64)> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
    let status = tasks.map(|task| {
        let path = task.expect("it runs").path().join("status");
        std::fs::read_to_string(path).expect("it runs")
    });
    let field = |text: &str, name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("a field");
        line.trim().to_owned()
    };
    status
        .map(|text| {
            let mask = u64::from_str_radix(&field(&text, "SigBlk:"), 16).expect("a number");
            (field(&text, "Name:"), mask)
        })
        .collect()
}

#[test]
fn no_signal_goes_to_the_thread_that_has_no_descriptors() {
    let weir = start(&Origin::saying("hello"), &["-db"]);
    let bit = |number: i32| 1u64 << (number - 1);
    let noted = bit(signal::USR1) | bit(signal::TERM) | bit(signal::HUP) | bit(signal::INT);
    eventually("the watchdog has left its descriptors", || {
        let masks = masks(weir.pid());
        let mut dogs = masks.iter().filter(|(name, _)| name == "watchdog");
        dogs.next().filter(|(_, mask)| mask & noted == noted).map(drop)
    });
    let workers = masks(weir.pid()).into_iter().filter(|(name, _)| name != "watchdog");
    assert!(workers.map(|(_, mask)| mask & noted).all(|mask| mask == 0));
}

fn status(weir: &Running) -> String {
    let stat = weir.cli("show stat web 1 -1");
    let row = stat.lines().nth(1).expect("a row").to_owned();
    row.split(',').nth(17).expect("a status").to_owned()
}

#[test]
fn listeners_pause_and_resume() {
    let (origin, tell) = patient_origin();
    let weir = start(&origin, &["-db"]);
    let mut running = weir.web();
    running.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    origin.request(0);
    weir.signal(signal::TTOU);
    eventually("clients are refused", || refuses(&weir).then_some(()));
    weir.expect_error("Paused frontend web.");
    assert_eq!(status(&weir), "PAUSED");
    tell.send(()).expect("the origin waits");
    assert_eq!(running.response().status(), 200, "what runs goes on");
    let other = TcpListener::bind(weir.address("web")).expect("the port is free");
    drop(other);
    weir.signal(signal::TTIN);
    weir.expect_error("Resumed frontend web.");
    assert_eq!(status(&weir), "OPEN");
    tell.send(()).expect("the origin waits");
    assert_eq!(weir.web().get("/").status(), 200);
}

/// A process that takes over the ports of `old`, and has another one, `other`.
fn heir(old: &Running, other: &str) -> Setup {
    let (pid, own) = (old.pid().to_string(), old.address("web"));
    Setup::new(&format!(
        "global\n    noreuseport\n    stats socket <dir>/cli level admin\n\
         defaults\n    mode http\n    timeout client 5s\n\
         frontend heir\n    bind {own}\n{other}    http-request return status 200 string new \
         content-type text/plain\n"
    ))
    .arguments(&["-db", "-sf", &pid])
}

#[test]
fn a_process_before_pauses_for_its_heir() {
    let origin = Origin::saying("old");
    let mut old = start(&origin, &["-db"]);
    let _new = heir(&old, "").start();
    assert_eq!(old.wait().code(), Some(0));
    old.expect_error("Paused frontend web.");
    assert_eq!(Client::connect(old.address("web")).get("/").text(), "new");
}

#[test]
fn the_old_process_continues_if_its_successor_cannot_start() {
    let origin = Origin::saying("old");
    let old = start(&origin, &["-db"]);
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let mut new = heir(&old, &format!("    bind 127.0.0.1:{port}\n")).start();
    assert_eq!(new.wait().code(), Some(1));
    new.expect_error("Address already in use");
    old.expect_error("Resumed frontend web.");
    assert_eq!(old.web().get("/").text(), "old");
}

#[test]
fn a_disabled_frontend_releases_its_port() {
    let origin = Origin::saying("hello");
    let weir = start(&origin, &["-db"]);
    assert_eq!(weir.cli("disable frontend web").trim(), "");
    assert!(refuses(&weir));
    assert_eq!(weir.cli("disable frontend web").trim(), "All sockets are already disabled.");
    let other = TcpListener::bind(weir.address("web")).expect("the port is free");
    assert_eq!(status(&weir), "PAUSED");
    let refused = weir.cli("enable frontend web");
    assert!(refused.starts_with("Failed to resume frontend"), "{refused}");
    weir.expect_error("busy while trying to enable frontend web.");
    assert_eq!(status(&weir), "PAUSED");
    drop(other);
    assert_eq!(weir.cli("enable frontend web").trim(), "");
    assert_eq!(weir.web().get("/").status(), 200);
}
