//! Too few descriptors for the clients there are: told once, waited out, never spun on.

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
    // From now on, whatever it has asked for at its start.
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
