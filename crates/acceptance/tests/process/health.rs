//! Health checks against origins by script: states, log lines, and where requests go.

use crate::support::{LogReceiver, Origin, Running, Setup, eventually, pass, reply, serve_forever};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// An origin whose health can be switched off, and the switch.
fn switched_origin() -> (Origin, Arc<AtomicBool>) {
    let healthy = Arc::new(AtomicBool::new(true));
    let shared = healthy.clone();
    let origin = Origin::new(move |peer| {
        let healthy = shared.clone();
        serve_forever(peer, move |request| {
            let sick = request.target() == "/health" && !healthy.load(Ordering::Relaxed);
            reply(if sick { "500 Broken" } else { "200 OK" }, "hello").into_bytes()
        });
    });
    (origin, healthy)
}

fn start(back: &str, origin: &Origin, log: &LogReceiver) -> Running {
    Setup::http("", back).with("origin", origin.address()).with("log", log.address()).start()
}

/// The result of the last check, without the mark of one that runs.
fn last_check(weir: &Running) -> String {
    weir.stat("app", "s", "check_status").trim_start_matches("* ").to_owned()
}

fn wait_for(weir: &Running, status: &str) {
    eventually(&format!("status {status}"), || {
        (weir.stat("app", "s", "status") == status).then_some(())
    });
}

fn real_requests(origin: &Origin) -> usize {
    origin.requests().iter().filter(|request| request.target() != "/health").count()
}

const CHECKED: &str = "    option httpchk GET /health\n    http-check expect status 200\n    \
    option log-health-checks\n    server s <origin> check inter 40ms fall 3 rise 2";

#[test]
fn changes_of_a_servers_state_are_logged() {
    let (origin, healthy) = switched_origin();
    let log = LogReceiver::new();
    let weir = start(CHECKED, &origin, &log);
    let line = log.find("succeeded");
    assert!(
        line.starts_with(
            "Health check for server app/s succeeded, reason: Layer7 check passed, code: 200, check duration: "
        ) && line.ends_with("ms, status: 3/3 UP."),
        "{line}"
    );
    weir.web().expect_open("/");
    assert_eq!(real_requests(&origin), 1);

    healthy.store(false, Ordering::Relaxed);
    for left in ["2/3 UP.", "1/3 UP.", "0/2 DOWN."] {
        let line = log.find("Health check for server app/s failed");
        assert!(
            line.contains("reason: Layer7 wrong status, code: 500, info: \"Broken\""),
            "{line}"
        );
        assert!(line.ends_with(&format!("status: {left}")), "{line}");
    }
    let line = log.find("Server app/s is DOWN");
    let end =
        "0 active and 0 backup servers left. 0 sessions active, 0 requeued, 0 remaining in queue.";
    assert_eq!(line, format!("Server app/s is DOWN. {end}"), "its reason was just logged");
    assert_eq!(log.find("has no server"), "backend app has no server available!");

    let mut client = weir.web();
    for _ in 0..20 {
        assert_eq!(client.get("/").status(), 503);
    }
    assert_eq!(real_requests(&origin), 1, "nothing goes to a server that is down");
    assert_eq!(weir.stat("app", "s", "chkdown"), "1");

    healthy.store(true, Ordering::Relaxed);
    let line = log.find("Server app/s is UP");
    let end = "1 active and 0 backup servers online. 0 sessions requeued, 0 total in queue.";
    assert_eq!(line, format!("Server app/s is UP. {end}"));
    weir.web().expect_open("/");
    weir.expect_error("Server app/s is DOWN");
    weir.expect_error("Server app/s is UP");
}

#[test]
fn the_first_failed_check_is_enough_at_the_start() {
    let (origin, healthy) = switched_origin();
    healthy.store(false, Ordering::Relaxed);
    let log = LogReceiver::new();
    let weir = start(CHECKED, &origin, &log);
    log.find("Server app/s is DOWN");
    let checks = origin.requests().len();
    assert!(checks <= 2, "{checks} checks");
    assert_eq!(weir.web().get("/").status(), 503);
}

#[test]
fn a_refused_check_is_reported_as_refused() {
    let closed = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = closed.local_addr().expect("a port");
    drop(closed);
    let log = LogReceiver::new();
    let weir = Setup::http("", "    server s <origin> check inter 40ms")
        .with("origin", address)
        .with("log", log.address())
        .start();
    let line = log.find("is DOWN");
    assert!(
        line.contains("reason: Layer4 connection problem, info: \"Connection refused\""),
        "{line}"
    );
    assert_eq!(last_check(&weir), "L4CON");
    // The port is opened: connecting is enough.
    let _origin = Origin::on(TcpListener::bind(address).expect("the same port"), |mut peer| {
        while peer.request().is_some() {}
    });
    let line = log.find("is UP");
    assert!(line.contains("reason: Layer4 check passed"), "{line}");
    assert_eq!(last_check(&weir), "L4OK");
}

#[test]
fn a_check_that_gets_no_answer_times_out() {
    let origin = Origin::new(|mut peer| {
        peer.request();
        let _ = peer.client.rest();
    });
    let log = LogReceiver::new();
    let back = "    option httpchk\n    timeout check 60ms\n    server s <origin> check inter 50ms";
    let weir = start(back, &origin, &log);
    let line = log.find("is DOWN");
    assert!(line.contains("reason: Layer7 timeout"), "{line}");
    assert_eq!(last_check(&weir), "L7TOUT");
    assert_eq!(origin.request(0).start, "OPTIONS / HTTP/1.0");
}

#[test]
fn a_check_sends_its_configured_request() {
    let origin = Origin::answering(reply("418 Teapot", ""));
    let log = LogReceiver::new();
    let back = "    option httpchk\n    \
                http-check send meth GET uri /tea ver HTTP/1.1 hdr Host pot hdr X-Check yes\n    \
                http-check expect status 418\n    server s <origin> check inter 40ms";
    let weir = start(back, &origin, &log);
    wait_for(&weir, "UP");
    eventually("a check that passed", || (last_check(&weir) == "L7OK").then_some(()));
    let check = origin.request(0);
    assert_eq!(check.start, "GET /tea HTTP/1.1");
    assert_eq!((check.header("host"), check.header("x-check")), (Some("pot"), Some("yes")));
}

#[test]
fn garbage_is_no_answer_to_a_check() {
    let origin = Origin::answering("what?\r\n\r\n");
    let log = LogReceiver::new();
    let weir = start("    option httpchk\n    server s <origin> check inter 40ms", &origin, &log);
    wait_for(&weir, "DOWN");
    assert_eq!(last_check(&weir), "L7RSP");
}

#[test]
fn a_running_request_survives_its_server_s_end() {
    let healthy = Arc::new(AtomicBool::new(true));
    let shared = healthy.clone();
    let origin = Origin::new(move |mut peer| {
        while let Some(request) = peer.request() {
            if request.target() != "/health" {
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
                while shared.load(Ordering::Relaxed) {
                    pass(Duration::from_millis(5));
                }
                pass(Duration::from_millis(100));
                peer.send("hello");
            } else if shared.load(Ordering::Relaxed) {
                peer.send(reply("200 OK", ""));
            } else {
                peer.send(reply("500 Broken", ""));
            }
        }
    });
    let log = LogReceiver::new();
    let back = "    option httpchk GET /health\n    server s <origin> check inter 30ms fall 1";
    let weir = start(back, &origin, &log);
    let mut client = weir.web();
    client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    let head = client.head();
    healthy.store(false, Ordering::Relaxed);
    let line = log.find("is DOWN");
    assert!(line.contains("1 sessions active"), "{line}");
    assert_eq!(client.finish(head, false).text(), "hello");
}
