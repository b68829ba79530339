//! Many clients: their memory, and the behaviour of the proxy when descriptors run out.

use crate::support::{Client, Origin, Setup, eventually, pass};
use std::time::Duration;

#[test]
fn exhausted_descriptors_pause_the_listener() {
    let origin = Origin::saying("hello");
    let weir = Setup::http("", "    server s <origin>")
        .with("origin", origin.address())
        .with("log", "stderr")
        .start();
    weir.web().expect_open("/");
    // The limit applies from now on, whatever limit the program has set at its start.
    let limited = std::process::Command::new("prlimit")
        .args(["--nofile=40:40", "--pid", &weir.pid().to_string()])
        .status();
    assert!(limited.is_ok_and(|status| status.success()), "prlimit of util-linux works");
    let mut clients: Vec<Client> = (0..60).map(|_| weir.web()).collect();
    weir.expect_error("cannot accept clients");
    let before = weir.cpu_seconds();
    pass(Duration::from_millis(1_000));
    let spent = weir.cpu_seconds() - before;
    assert!(spent < 0.2, "it spins: {spent} s of CPU in one second");
    let told = weir.errors().matches("cannot accept clients").count();
    assert_eq!(told, 1, "once is enough:\n{}", weir.errors());

    // Clients leave until there is room for the others and their server connections.
    let mut rest = clients.split_off(54);
    drop(clients);
    for client in &mut rest {
        assert_eq!(client.get("/").status(), 200);
    }
    drop(rest);
    eventually("all sessions end", || (weir.stat("web", "FRONTEND", "scur") == "0").then_some(()));
    weir.web().expect_open("/");
}

#[test]
fn maxconn_makes_clients_wait_in_the_backlog() {
    let origin = Origin::saying("hello");
    let weir = Setup::http("    maxconn 2", "    server s <origin>")
        .with("origin", origin.address())
        .start();
    let (mut first, mut second) = (weir.web(), weir.web());
    first.expect_open("/");
    second.expect_open("/");
    let mut third = weir.web();
    third.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    pass(Duration::from_millis(150));
    assert_eq!(weir.stat("web", "FRONTEND", "scur"), "2");
    first.close();
    assert_eq!(third.response().status(), 200);
}

/// Resident memory of a process, in bytes.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kib * 1_024
}

/// A client that is slow with its head holds a buffer, of which only the beginning is ever used.
#[test]
fn slow_clients_hold_a_page_rather_than_a_buffer() {
    let weir = Setup::http("", "").start();
    let slow = |count: usize, all: usize| -> Vec<Client> {
        let begin = || {
            let mut client = weir.web();
            client.send("GET / HTTP/1.1\r\nHost: a");
            client
        };
        let clients = (0..count).map(|_| begin()).collect();
        let used = "PoolUsed_bytes: ";
        eventually("all of them have a buffer", || {
            let info = weir.cli("show info");
            let bytes = info.lines().find_map(|line| line.strip_prefix(used))?.parse::<usize>();
            (bytes.ok()? >= all * 16_384).then_some(())
        });
        clients
    };
    let first = slow(50, 50);
    let before = resident(weir.pid());
    let clients = slow(400, 450);
    let each = (resident(weir.pid()) - before) / 400;
    assert!(each < 9_000, "{each} bytes for each slow client");
    drop((first, clients));
}
