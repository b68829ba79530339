//! Servers whose health shows in their traffic (`observe`), and sessions that end with their
//! server.

use crate::support::{
    Client, LogReceiver, Origin, Running, Setup, eventually, reply, serve_forever, shape,
};

/// An origin that answers `/health` with 200, `/junk` with nonsense, `/close` not at all, `/part`
/// with a part of its answer, and every other path with the status that it names.
fn origin() -> Origin {
    Origin::new(|mut peer| {
        while let Some(request) = peer.request() {
            match request.target() {
                "/health" => peer.send(reply("200 OK", "")),
                "/junk" => return peer.send("nonsense\r\n\r\n"),
                "/close" => return,
                "/part" => peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"),
                "/wait" => {}
                path => peer.send(reply(&format!("{} X", &path[1..]), "")),
            }
        }
    })
}

/// The program before that origin, with these words behind `server s <origin> check`.
fn start(origin: &Origin, log: &LogReceiver, options: &str) -> Running {
    let back = format!(
        "    option httpchk GET /health\n    retries 0\n    option log-health-checks\n    \
         server s <origin> check inter 1h {options}"
    );
    let weir = Setup::http("", &back).between(origin, log);
    log.find("status: 3/3 UP.");
    weir
}

fn ask(weir: &Running, path: &str) -> u16 {
    weir.web().get(path).status()
}

fn state(weir: &Running) -> [String; 4] {
    let fields = ["status", "chkfail", "hanafail", "check_status"];
    fields.map(|field| weir.stat("app", "s", field))
}

/// The number of checks that the origin has received.
fn checks(origin: &Origin) -> usize {
    origin.requests().iter().filter(|request| request.target() == "/health").count()
}

#[test]
fn too_many_errors_in_a_row_count_as_a_failed_check() {
    let (origin, log) = (origin(), LogReceiver::new());
    let weir = start(&origin, &log, "fastinter 1h observe layer7 error-limit 3");
    // Statuses below 500, 501 and 505 are good answers, and begin the count anew.
    for path in ["/500", "/502", "/404", "/503", "/504", "/501", "/500", "/500", "/505"] {
        ask(&weir, path);
    }
    assert_eq!(state(&weir), ["UP", "0", "0", "L7OK"]);
    for _ in 0..3 {
        assert_eq!(ask(&weir, "/500"), 500);
    }
    assert_eq!(state(&weir), ["UP 2/3", "1", "1", "HANA"]);
    assert_eq!(weir.stat("app", "s", "check_duration"), "");
    assert_eq!(
        log.find("Health check"),
        "Health check for server app/s failed, reason: Health analyze, info: \"Detected 3 consecutive \
         errors, last one was: Wrong http response\", status: 2/3 UP."
    );
    weir.cli("clear counters all");
    assert_eq!(state(&weir)[2], "0");
}

#[test]
fn ten_errors_are_the_default_error_limit() {
    let (origin, log) = (origin(), LogReceiver::new());
    let weir = start(&origin, &log, "fastinter 1h observe layer7");
    (0..9).for_each(|_| assert_eq!(ask(&weir, "/500"), 500));
    assert_eq!(state(&weir)[2], "0");
    ask(&weir, "/500");
    assert_eq!(state(&weir)[2], "1");
}

#[test]
fn on_error_selects_the_action_after_errors() {
    for (mode, expected) in [
        ("fastinter", ["UP", "0", "1", "L7OK"]),
        ("fail-check", ["UP 2/3", "1", "1", "HANA"]),
        ("sudden-death", ["UP 1/3", "1", "1", "HANA"]),
        ("mark-down", ["DOWN", "1", "1", "HANA"]),
    ] {
        let (origin, log) = (origin(), LogReceiver::new());
        let options = format!("fastinter 1h observe layer7 error-limit 1 on-error {mode}");
        let weir = start(&origin, &log, &options);
        ask(&weir, "/500");
        assert_eq!(state(&weir), expected, "{mode}");
    }
}

#[test]
fn errors_bring_the_next_check_nearer() {
    for mode in ["fastinter", "fail-check"] {
        let (origin, log) = (origin(), LogReceiver::new());
        let options = format!("fastinter 50ms observe layer7 error-limit 1 on-error {mode}");
        let weir = start(&origin, &log, &options);
        assert_eq!(checks(&origin), 1);
        ask(&weir, "/500");
        eventually("another check", || (checks(&origin) > 1).then_some(()));
        eventually("full health", || (state(&weir)[0] == "UP").then_some(()));
    }
}

#[test]
fn observe_layers_define_errors() {
    let words = |path: &str| match path {
        "/close" => "Close from server (http)",
        "/junk" => "Invalid http response (headers)",
        _ => "Read timeout (http)",
    };
    for path in ["/close", "/junk", "/wait"] {
        for (layer, expected) in [("layer4", "0"), ("layer7", "1"), ("none", "")] {
            let (origin, log) = (origin(), LogReceiver::new());
            let options =
                format!("fastinter 1h observe {layer} error-limit 1\n    timeout server 50ms");
            let weir = start(&origin, &log, &options);
            ask(&weir, path);
            assert_eq!(state(&weir)[2], expected, "{path} {layer}");
            if layer == "layer7" {
                let line = log.find("Health analyze");
                assert!(line.contains(words(path)), "{line}");
            }
        }
    }
}

#[test]
fn refused_connections_are_errors_of_both_layers() {
    let origin = origin();
    for (mode, layer) in [("http", "layer4"), ("http", "layer7"), ("tcp", "layer4")] {
        let log = LogReceiver::new();
        let setup = Setup::new(&format!(
            "global\n nbthread 1\n stats socket <dir>/cli level admin\ndefaults\n mode {mode}\n \
             timeout connect 5s\n timeout client 9s\n timeout server 9s\n log <log> format raw local0\n \
             retries 1\nlisten app\n bind <web>\n option httpchk GET /health\n \
             server s 127.0.0.1:1 check addr 127.0.0.1 port <port> inter 1h fastinter 1h \
             observe {layer} error-limit 2 on-error mark-down\n"
        ));
        let weir = setup.with("port", origin.address().port()).with("log", log.address()).start();
        eventually("a check", || (weir.stat("app", "s", "check_status") == "L7OK").then_some(()));
        weir.web().send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        let line = log.find("is DOWN");
        assert!(
            line.starts_with(
                "Server app/s is DOWN, reason: Health analyze, info: \"Detected 2 consecutive errors, \
                 last one was: L4 unsuccessful connection\". 0 active"
            ),
            "{line}"
        );
    }
}

/// A request that the origin has and does not finish.
fn begin(weir: &Running, origin: &Origin, path: &str) -> Client {
    let before = origin.requests().len();
    let mut client = weir.web();
    client.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
    origin.request(before);
    if path == "/part" {
        client.head();
        assert_eq!(client.take(3), b"abc");
    }
    client
}

/// Two requests of the server under way end by a command, with these letters in the log.
fn both_end(weir: &Running, origin: &Origin, log: &LogReceiver, server: &str, how: &str, by: char) {
    let mut waiting = begin(weir, origin, "/wait");
    let mut halfway = begin(weir, origin, "/part");
    assert_eq!(weir.cli(how), "");
    assert_eq!(waiting.response().status(), 502, "{how}");
    halfway.expect_end();
    let mut lines = [0; 2].map(|_| shape(&log.find(" HTTP/1.1\"")));
    lines.sort();
    let expected = [
        format!("web app/{server} 200 {by}D-- \"GET /part HTTP/1.1\""),
        format!("web app/{server} 502 {by}H-- \"GET /wait HTTP/1.1\""),
    ];
    assert_eq!(lines, expected, "{how}");
}

#[test]
fn sessions_end_with_their_server() {
    for command in ["set server app/s health down", "set server app/s state maint"] {
        let (origin, log) = (origin(), LogReceiver::new());
        let weir = start(&origin, &log, "on-marked-down shutdown-sessions");
        both_end(&weir, &origin, &log, "s", command, 'D');
    }
}

#[test]
fn sessions_outlive_their_server_without_on_marked_down() {
    let (origin, log) = (origin(), LogReceiver::new());
    let weir = start(&origin, &log, "");
    let _halfway = begin(&weir, &origin, "/part");
    weir.cli("set server app/s health down");
    log.find("has no server available");
    assert!(weir.cli("show sess").contains("srv=s"));
}

#[test]
fn a_server_that_comes_back_relieves_the_backups() {
    let (origin, log) = (origin(), LogReceiver::new());
    let options = "on-marked-up shutdown-backup-sessions\n    server b <origin> backup";
    let weir = start(&origin, &log, options);
    for (down, up) in [("health down", "health up"), ("state maint", "state ready")] {
        weir.cli(&format!("set server app/s {down}"));
        both_end(&weir, &origin, &log, "b", &format!("set server app/s {up}"), 'U');
    }
}

#[test]
fn show_sess_shows_the_states_of_messages() {
    let (origin, log) = (origin(), LogReceiver::new());
    let weir = start(&origin, &log, "");
    let told = |what: &str| {
        eventually(what, || {
            let all = weir.cli("show sess all");
            all.lines().any(|line| line.starts_with("  txn=") && line.ends_with(what)).then_some(())
        });
    };
    let mut client = weir.web();
    client.send("GET /part HTTP/1.1\r\nHost: x\r\n\r\n");
    client.head();
    told("meth=1 status=200 req.st=MSG_DONE rsp.st=MSG_DATA req.f=0x4c rsp.f=0x0d");
    drop(client);
    let mut client = weir.web();
    client.send("POST /wait HTTP/1.0\r\nContent-Length: 3\r\n\r\na");
    told("meth=3 status=-1 req.st=MSG_DATA rsp.st=MSG_RPBEFORE req.f=0x05 rsp.f=0x00");
    client.send("bc");
    told("meth=3 status=-1 req.st=MSG_DONE rsp.st=MSG_RPBEFORE req.f=0x05 rsp.f=0x00");
}

#[test]
fn operators_end_sessions() {
    let (origin, log) = (origin(), LogReceiver::new());
    let weir = start(&origin, &log, "");
    both_end(&weir, &origin, &log, "s", "shutdown sessions server app/s", 'K');
    let mut one = begin(&weir, &origin, "/wait");
    let mut other = begin(&weir, &origin, "/wait");
    let source = format!("src={} ", one.local());
    let listed = weir.cli("show sess");
    let line = listed.lines().find(|line| line.contains(&source)).expect("it is listed");
    let (id, _) = line.split_once(':').expect("a number first");
    let told = weir.cli(&format!("show sess {id}"));
    assert_eq!(weir.cli(&format!("shutdown session {id}")), "");
    let word = |line: &str, name: &str| {
        let line = told.lines().find(|it| it.trim_start().starts_with(line)).unwrap_or_default();
        line.split_once(name).unwrap_or_default().1.to_owned()
    };
    let (address, near) = (origin.address().to_string(), weir.address("web").to_string());
    assert_eq!(word("frontend=web ", "listener="), format!("? (id=1) addr={near}"), "{told}");
    assert_eq!(word("server=s ", "addr="), address, "{told}");
    let own = word("backend=app ", "addr=");
    assert!(own.starts_with("127.0.0.1:") && own != address, "{told}");
    let exchange = "meth=1 status=-1 req.st=MSG_DONE rsp.st=MSG_RPBEFORE req.f=0x4c rsp.f=0x00";
    assert_eq!(word("txn=", "flags=0x0 "), exchange, "{told}");
    assert_eq!(one.response().status(), 502);
    assert_eq!(shape(&log.find("/wait")), "web app/s 502 KH-- \"GET /wait HTTP/1.1\"");
    eventually("the other alone", || {
        (weir.cli("show sess").matches("srv=s").count() == 1).then_some(())
    });
    assert_eq!(weir.cli(&format!("shutdown session {id}")), "No such session (use 'show sess').");
    assert_eq!(weir.cli("shutdown session x"), "Session pointer expected (use 'show sess').");
    assert_eq!(weir.cli("shutdown sessions server app/x"), "No such server.");
    weir.cli("shutdown sessions server app/s");
    assert_eq!(other.response().status(), 502);
}

#[test]
fn sessions_without_a_protocol_end_too() {
    let (origin, log) =
        (Origin::new(|peer| serve_forever(peer, |_| Vec::new())), LogReceiver::new());
    let setup = Setup::new(
        "global\n nbthread 2\n stats socket <dir>/cli level admin\ndefaults\n mode tcp\n \
         timeout connect 5s\n timeout client 9s\n timeout server 9s\n option tcplog\n \
         log <log> format raw local0\nlisten app\n bind <web> name door\n \
         server s <origin> on-marked-down shutdown-sessions\n",
    );
    let weir = setup.between(&origin, &log);
    for (command, state) in
        [("shutdown sessions server app/s", " K- "), ("set server app/s health down", " D- ")]
    {
        let mut client = weir.web();
        client.send("GET /wait HTTP/1.1\r\n\r\n");
        eventually("a session", || weir.cli("show sess").contains("srv=s").then_some(()));
        let listener = format!("listener=door (id=1) addr={}\n", weir.address("web"));
        assert!(weir.cli("show sess all").contains(&listener), "{listener}");
        weir.cli(command);
        client.expect_end();
        let line = log.find("] app app/s ");
        assert!(line.contains(state), "{line}");
    }
}
