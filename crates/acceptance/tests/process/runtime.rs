//! The runtime socket: the answers of commands, and their effect on traffic.

use crate::support::{Origin, Running, Setup, eventually, stat_of};
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

fn start() -> (Vec<Origin>, Running) {
    let origins: Vec<Origin> = ["a", "b"].map(Origin::saying).into();
    let back = "    cookie SRV insert indirect\n    server a <a> cookie one\n    \
                server b <b> cookie two\n";
    let weir = Setup::http("", back)
        .with("a", origins[0].address())
        .with("b", origins[1].address())
        .start();
    (origins, weir)
}

fn answers(weir: &Running, count: usize) -> String {
    let mut client = weir.web();
    let mut answers: Vec<String> = (0..count).map(|_| client.get("/").text()).collect();
    answers.sort();
    answers.concat()
}

/// The response to a client that belongs to server `a`.
fn persistent(weir: &Running) -> String {
    weir.web().ask("GET / HTTP/1.1\r\nHost: test\r\nCookie: SRV=one\r\n\r\n").text()
}

#[test]
fn a_disabled_server_gets_nothing() {
    let (_origins, weir) = start();
    assert_eq!(weir.cli("disable server app/a"), "");
    assert_eq!(weir.stat("app", "a", "status"), "MAINT");
    assert_eq!(answers(&weir, 4), "bbbb");
    assert_eq!(persistent(&weir), "b");
    weir.expect_error("Server app/a is going DOWN for maintenance");
    assert_eq!(weir.cli("enable server app/a"), "");
    assert_eq!(answers(&weir, 4), "aabb");
    weir.expect_error("Server app/a is UP/READY (leaving forced maintenance).");
}

#[test]
fn a_draining_server_keeps_its_own_clients() {
    let (_origins, weir) = start();
    assert_eq!(weir.cli("set server app/a state drain"), "");
    assert_eq!(weir.stat("app", "a", "status"), "DRAIN");
    assert_eq!(answers(&weir, 4), "bbbb");
    assert_eq!(persistent(&weir), "a");
    weir.cli("set server app/a state maint");
    assert_eq!(persistent(&weir), "b");
    weir.cli("set server app/a state ready");
    assert_eq!(answers(&weir, 4), "aabb");
}

/// As measured with HAProxy: `enable` is `ready` and `disable` is `maint`, both end a drain.
#[test]
fn enabling_and_disabling_end_a_drain() {
    let (_origins, weir) = start();
    let state = |command: &str| {
        assert_eq!(weir.cli(command), "");
        let text = weir.cli("show servers state app");
        let line = text.lines().find(|line| line.contains(" a 127.0.0.1 ")).unwrap_or_default();
        line.split(' ').skip(5).take(2).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(state("set server app/a state drain"), "2 8");
    assert_eq!(state("enable server app/a"), "2 0");
    weir.expect_error("Server app/a is UP (leaving forced drain).");
    assert_eq!(answers(&weir, 4), "aabb");
    for (rest, forced) in [("disable server app/a", "0 1"), ("set server app/a state maint", "0 1")]
    {
        assert_eq!(state("set server app/a state drain"), "2 8");
        assert_eq!(state(rest), forced);
        assert_eq!(state("enable server app/a"), "2 0");
        assert_eq!(state(rest), forced);
        assert_eq!(state("set server app/a state drain"), "2 8");
        assert_eq!(state("set server app/a state ready"), "2 0");
    }
}

#[test]
fn a_weight_does_not_end_a_drain() {
    let origin = Origin::saying("a");
    let back = "    server a <a> check inter 1h\n    server b <a> track app/a\n";
    let weir = Setup::http("", back).with("a", origin.address()).start();
    let forced = "Server app/a remains in forced drain mode.";
    let inherited = "Server app/b is leaving forced drain but remains in drain mode via app/a.";
    let told = |text: &str| weir.errors().matches(text).count();
    weir.cli("set weight app/a 50%; set server app/a state drain");
    assert_eq!((told(forced), told(inherited)), (0, 0));
    weir.cli("set weight app/a 100%; set server app/a weight 3; set weight app/b 3");
    weir.expect_error(inherited);
    assert_eq!((told(forced), told(inherited)), (2, 1));
    weir.cli("set server app/b state drain");
    weir.expect_error("Server app/b remains in forced drain mode.");
    weir.cli("disable server app/a; set weight app/a 2; enable server app/a");
    weir.expect_error("Server app/a is UP/READY (leaving forced maintenance).");
    assert_eq!(told(forced), 2, "maintenance hides a drain");
}

#[test]
fn weights_can_be_changed() {
    let (_origins, weir) = start();
    assert_eq!(weir.cli("set weight app/a 3"), "");
    assert_eq!(weir.cli("get weight app/a"), "3 (initial 1)");
    assert_eq!(answers(&weir, 8), "aaaaaabb");
    weir.cli("set server app/b weight 0");
    assert_eq!(answers(&weir, 4), "aaaa");
    weir.cli("set weight app/a 100%; set server app/b weight 1");
    assert_eq!(answers(&weir, 4), "aabb");
}

#[test]
fn suspended_checks_change_no_state() {
    let (origin, other) = (Origin::saying("a"), Origin::saying("b"));
    // A check that a busy machine delays must not count as one that has failed.
    let back = "    option httpchk\n    timeout check 5s\n    server a <a> check inter 100ms\n    \
                server b <b> check inter 100ms\n    server c <a> check disabled\n";
    let weir = Setup::http("", back).with("a", origin.address()).with("b", other.address()).start();
    let state = |server: &str| {
        let text = weir.cli("show servers state app");
        let line = text.lines().find(|line| line.contains(&format!(" {server} 127.0.0.1 ")));
        line.and_then(|line| line.split(' ').nth(13)).map(str::to_owned)
    };
    eventually("a check", || (weir.stat("app", "a", "check_status") == "L7OK").then_some(()));
    assert_eq!((state("a"), state("c")), (Some("6".into()), Some("14".into())));
    assert_eq!(weir.cli("disable health app/a;disable health app/c"), "");
    assert_eq!((state("a"), state("c")), (Some("2".into()), Some("10".into())));
    assert_eq!(weir.stat("app", "a", "status"), "no check");
    assert_eq!(weir.stat("app", "a", "check_status"), "");
    // One check may still be under way; no further check of this server begins while another server
    // is checked.
    let (before, others) = (origin.connections(), other.connections());
    eventually("checks of another", || (other.connections() > others + 10).then_some(()));
    assert!(origin.connections() <= before + 1);
    assert_eq!(weir.cli("enable health app/a"), "");
    assert_eq!(weir.stat("app", "a", "status"), "UP");
    eventually("another check", || (origin.connections() > before + 1).then_some(()));
    assert_eq!(weir.cli("disable health app/x"), "No such server.");
    assert_eq!(weir.cli("disable health"), "Require 'backend/server'.");
}

#[test]
fn idle_connections_are_listed_by_thread() {
    let origin = Origin::saying("a");
    let weir = Setup::new(
        "global\n    nbthread 3\n    stats socket <dir>/cli level admin\n\
         defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    \
         timeout server 20s\n    http-reuse always\n\
         frontend web\n    bind <web> thread 2\n    default_backend app\n\
         backend app\n    server a <a>\n",
    )
    .with("a", origin.address())
    .start();
    for _ in 0..8 {
        assert_eq!(weir.web().get("/").text(), "a");
    }
    let line = eventually("an idle connection", || {
        let text = weir.cli("show servers conn");
        assert!(text.lines().next().is_some_and(|it| it.ends_with(" idle_cur idle_per_thr[3]")));
        text.lines().nth(1).filter(|line| line.ends_with(" 1 0 1 0")).map(str::to_owned)
    });
    assert!(line.starts_with("app/a 3/1 127.0.0.1 "), "{line}");
}

#[test]
fn the_environment_can_be_read() {
    let weir = Setup::new(
        "global\n    setenv MOOD \"quite good\"\n    localpeer ours\n    \
         stats socket <dir>/cli level admin\n    description \"$HAPROXY_LOCALPEER\"\n\
         frontend web\n    mode http\n    bind <web>\n",
    )
    .start();
    let cli = weir.path("cli");
    let all = weir.cli("show env");
    for expected in [
        "MOOD=quite good".to_owned(),
        "HAPROXY_LOCALPEER=ours".to_owned(),
        format!("HAPROXY_CLI=unix@{}", cli.display()),
    ] {
        let name = expected.split('=').next().expect("a name");
        assert!(all.lines().any(|line| line == expected), "{expected}\n{all}");
        assert_eq!(weir.cli(&format!("show env {name}")), expected);
    }
    assert!(weir.cli("show info").contains("\ndescription: ours"));
}

#[test]
fn show_startup_logs_has_the_messages_of_the_start() {
    let weir = Setup::new(
        "global\n    stats socket <dir>/cli level admin\n\
         frontend web\n    mode http\n    bind <web>\n",
    )
    .start();
    let text = weir.cli("show startup-logs");
    assert!(text.starts_with("[WARNING]  (") && text.contains("missing timeouts"), "{text}");
}

#[test]
fn mistakes_are_answered() {
    let (_origins, weir) = start();
    assert_eq!(weir.cli("disable server app/x"), "No such server.");
    assert_eq!(weir.cli("disable server x/a"), "No such backend.");
    assert!(weir.cli("set server app/a state asleep").contains("'set server <srv> state' expects"));
    let fqdn = "set server <b>/<s> fqdn failed because no resolution is configured.";
    assert_eq!(weir.cli("set server app/a fqdn x.example"), fqdn);
    assert_eq!(weir.cli("set timeout cli"), "Expects an integer value.");
    assert!(weir.cli("dance").starts_with("Unknown command"), "{}", weir.cli("dance"));
}

#[test]
fn show_info_describes_the_process() {
    let (_origins, weir) = start();
    let info = weir.cli("show info");
    for line in [format!("Pid: {}", weir.pid()), "Nbthread: 1".into(), "Process_num: 1".into()] {
        assert!(info.lines().any(|it| it == line), "{line} is missing in:\n{info}");
    }
    let state = weir.cli("show servers state");
    assert!(state.starts_with("1\n# be_id be_name srv_id srv_name srv_addr "), "{state}");
    // The runtime socket is the first proxy, `web` the second.
    assert!(state.contains("\n3 app 1 a 127.0.0.1 2 0 1 1 "), "{state}");
    assert!(weir.cli("help").contains("show stat"));
}

#[test]
fn statistics_have_every_field() {
    let (_origins, weir) = start();
    assert_eq!(answers(&weir, 4), "aabb");
    let csv = weir.cli("show stat");
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[0].starts_with("# pxname,svname,qcur,qmax,scur,smax,slim,stot,bin,bout,"));
    for line in &lines {
        assert!(line.ends_with(','), "{line}");
        assert_eq!(line.split(',').count(), lines[0].split(',').count(), "{line}");
    }
    assert_eq!(stat_of(&csv, "app", "BACKEND", "hrsp_2xx"), "4");
    assert_eq!(stat_of(&csv, "web", "FRONTEND", "stot"), "1");
    assert_eq!(stat_of(&csv, "app", "a", "stot"), "2");
}

#[test]
fn a_prompt_keeps_the_session() {
    let (_origins, weir) = start();
    let mut stream =
        eventually("the runtime socket", || UnixStream::connect(weir.path("cli")).ok());
    stream.set_read_timeout(Some(crate::support::PATIENCE)).expect("a unix socket");
    stream.write_all(b"prompt\nget weight app/a\nget weight app/b\nquit\n").expect("it listens");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    assert_eq!(text.matches("1 (initial 1)").count(), 2, "{text:?}");
    assert!(text.starts_with("\n> "), "{text:?}");
}

#[test]
fn several_commands_fit_in_one_line() {
    let (_origins, weir) = start();
    let text = weir.cli("get weight app/a;get weight app/b");
    assert_eq!(text.matches("1 (initial 1)").count(), 2, "{text:?}");
}

#[test]
fn fullconn_is_the_limit_that_a_backend_shows() {
    let origin = Origin::saying("a");
    let back = "    server a <a>\n    fullconn 7";
    let weir = Setup::http("", back).with("a", origin.address()).start();
    assert_eq!(weir.stat("app", "BACKEND", "slim"), "7");
}

#[test]
fn work_shows_in_the_share_of_idle_time() {
    let (_origins, weir) = start();
    assert!(weir.cli("show info").contains("\nBusyPolling: 0\n"));
    let mut client = weir.web();
    eventually("a thread that was not idle", || {
        for _ in 0..50 {
            client.get("/");
        }
        let info = weir.cli("show info");
        let idle = info.lines().find_map(|line| line.strip_prefix("Idle_pct: "));
        let percent: u32 = idle.expect("a share").parse().expect("a number");
        (percent < 100).then_some(())
    });
}

#[test]
fn a_frontend_gives_its_address_up() {
    let (_origins, mut weir) = start();
    let mut kept = weir.web();
    kept.expect_open("/");
    assert_eq!(weir.cli("shutdown frontend web"), "");
    let address = weir.address("web");
    eventually("the address is free", || std::net::TcpListener::bind(address).ok());
    kept.expect_open("/");
    assert_eq!(
        weir.cli("enable frontend web"),
        "Frontend was previously shut down, cannot enable."
    );
    assert!(weir.is_running());
}

#[test]
fn cookies_are_computed_with_another_key() {
    let origin = Origin::saying("a");
    let back = "    cookie SRV insert dynamic\n    dynamic-cookie-key one\n    server a <origin>\n";
    let weir = Setup::http("", back).with("origin", origin.address()).start();
    let cookie = || weir.web().get("/").header("set-cookie").map(str::to_owned);
    let first = cookie().expect("a value");
    assert_eq!(weir.cli("set dynamic-cookie-key backend app two"), "");
    let second = cookie().expect("a value");
    assert_ne!(first, second);
    weir.cli("set dynamic-cookie-key backend app one");
    assert_eq!(cookie().as_ref(), Some(&first));
    assert_eq!(weir.cli("disable dynamic-cookie backend app"), "");
    // No client is expected again, as measured.
    let gone = "SRV=; Expires=Thu, 01-Jan-1970 00:00:01 GMT; path=/";
    assert_eq!(cookie().as_deref(), Some(gone));
    assert_eq!(weir.cli("enable dynamic-cookie backend app"), "");
    assert_eq!(cookie(), Some(first));
}

#[test]
fn transactions_are_explained() {
    let origin = Origin::saying("a");
    let front = "    unique-id-format req-%[path,url_dec]\n    unique-id-header x-id\n    \
                 http-request deny if { path /denied }";
    let back = "    cookie SRV insert indirect\n    server a <a> cookie one\n";
    let weir = Setup::http(front, back).with("a", origin.address()).start();
    persistent(&weir);
    weir.web().get("/denied");
    let listed = || Some(weir.cli("show why")).filter(|text| text.lines().count() == 2);
    let list = eventually("both are remembered", listed);
    assert!(list.contains(" GET / app/a 200 -- ") && list.contains(" GET /denied "), "{list}");
    let story = weir.cli("show why req-/");
    for part in [
        ": GET / from 127.0.0.1:",
        "\n  Its unique id is req-/.\n",
        "\n  It was given to backend app and to server a, named by the client's cookie.\n",
        "\n  A new connection to it took ",
        "\n  Status 200 was sent; ",
        " (--): all was passed on.",
    ] {
        assert!(story.contains(part), "{part} in {story}");
    }
    let denied = weir.cli("show why last error");
    assert!(denied.contains("\n  The rule that decided last stands at "), "{denied}");
    assert!(denied.contains(" (PR): a rule or a limit refused it before "), "{denied}");
    assert!(weir.cli("set why off; show why").contains("use 'set why on'"));
    let off = Setup::http("", back).global("tune.why off").with("a", origin.address()).start();
    assert!(off.cli("show why").contains("use 'set why on'"));
}
