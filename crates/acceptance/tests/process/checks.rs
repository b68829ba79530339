//! Results of checks: every status in its place in the statistics, and programs of the operator's.

use crate::support::{Origin, PATIENCE, Running, Setup, eventually, run};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::sync::Mutex;
use std::sync::mpsc::channel;

/// A backend of its own for each status, and what its server's `check_code` is then.
const STATUSES: &[(&str, &str, &str)] = &[
    ("L4OK", "", "server s <good> check inter 30ms"),
    ("L4CON", "", "server s <closed> check inter 30ms"),
    ("SOCKERR", "", "server s /nonexistent/socket check inter 30ms"),
    (
        "L4TOUT",
        "",
        "option tcp-check\n tcp-check connect\n tcp-check expect tout-status L4TOUT string x\n \
         server s <silent> check inter 30ms",
    ),
    (
        "L6OK",
        "",
        "option tcp-check\n tcp-check send GET\\ /\\ HTTP/1.0\\r\\n\\r\\n\n \
         tcp-check expect ok-status L6OK string 200\n server s <good> check inter 30ms",
    ),
    (
        "L6TOUT",
        "",
        "option tcp-check\n tcp-check expect tout-status L6TOUT string x\n \
         server s <silent> check inter 30ms",
    ),
    (
        "L6RSP",
        "",
        "option tcp-check\n tcp-check send GET\\ /\\ HTTP/1.0\\r\\n\\r\\n\n \
         tcp-check expect error-status L6RSP !string 200\n server s <good> check inter 30ms",
    ),
    ("L7OK", "200", "option httpchk\n server s <good> check inter 30ms"),
    ("L7STS", "404", "option httpchk\n server s <lost> check inter 30ms"),
    // A server that a busy machine has marked down does not come back with 404.
    (
        "L7OKC",
        "404",
        "option httpchk\n http-check disable-on-404\n server s <lost> check inter 30ms fall 1000",
    ),
    ("L7TOUT", "", "option httpchk\n server s <silent> check inter 30ms"),
    ("L7RSP", "", "option httpchk\n server s <strange> check inter 30ms"),
    (
        "PROCOK",
        "0",
        "option external-check\n external-check command /bin/true\n \
                     server s <closed> check inter 5s fastinter 30ms",
    ),
    (
        "PROCERR",
        "3",
        "option external-check\n external-check command <dir>/three\n \
                      server s <closed> check inter 5s fastinter 30ms",
    ),
    (
        "PROCTOUT",
        "0",
        "option external-check\n external-check command <dir>/slow\n \
                       server s <closed> check inter 30ms",
    ),
];

fn executable(weir: &Setup, name: &str) {
    let file = weir.path(name);
    let permissions = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(file, permissions).expect("a file of the test");
}

fn sections() -> String {
    let section = |(status, _, lines): &(&str, &str, &str)| format!("backend {status}\n {lines}\n");
    STATUSES.iter().map(section).collect()
}

const GLOBAL: &str = "global\n nbthread 1\n external-check\n insecure-fork-wanted\n \
                      stats socket <dir>/cli level admin\n\
                      defaults\n mode http\n timeout connect 5s\n timeout client 5s\n \
                      timeout server 5s\n";

fn check_fields(weir: &Running, proxy: &str) -> (String, String) {
    // A check that runs is marked.
    let status = weir.stat(proxy, "s", "check_status").trim_start_matches("* ").to_owned();
    (status, weir.stat(proxy, "s", "check_code"))
}

#[test]
fn every_status_of_checks_is_shown_in_its_column() {
    let good = Origin::saying("hello");
    let lost = Origin::answering("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
    let strange = Origin::answering("no such thing\r\n\r\n");
    let silent = Origin::new(|mut peer| while peer.request().is_some() {});
    let setup = Setup::new(&format!("{GLOBAL}{}", sections()))
        .file("three", "#!/bin/sh\nexit 3\n")
        .file("slow", "#!/bin/sh\nexec /bin/sleep 60\n")
        .with("good", good.address())
        .with("lost", lost.address())
        .with("strange", strange.address())
        .with("silent", silent.address())
        .with("closed", crate::support::nobody());
    executable(&setup, "three");
    executable(&setup, "slow");
    let weir = setup.start();
    for (status, code, _) in STATUSES {
        let expected = ((*status).to_owned(), (*code).to_owned());
        let found = || check_fields(&weir, status) == expected;
        eventually(&format!("{status} {code} in the statistics"), || found().then_some(()));
    }
}

#[test]
fn check_statuses_are_ini_first_and_checked_for_unknown_agent_words() {
    let agent = Origin::new(|mut peer| {
        peer.send("50%\n");
        while peer.request().is_some() {}
    });
    let port = agent.address().port();
    // The first checks are spread over the hour.
    let waiting = Setup::new(&format!(
        "{GLOBAL}backend b\n server a 127.0.0.1:1 check inter 1h\n server s 127.0.0.1:1 check inter 1h\n"
    ));
    assert_eq!(check_fields(&waiting.start(), "b").0, "INI");
    let text = format!(
        "{GLOBAL}backend CHECKED\n \
         server s 127.0.0.1:1 agent-check agent-port {port} agent-inter 30ms\n"
    );
    let weir = Setup::new(&text).start();
    eventually("the agent has been asked", || {
        (weir.stat("CHECKED", "s", "agent_status") == "CHECKED").then_some(())
    });
}

/// The expected environment of a program, by name.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("HAPROXY_PROXY_ADDR", "127.0.0.1"),
    ("HAPROXY_PROXY_ID", "7"),
    ("HAPROXY_PROXY_NAME", "front"),
    ("HAPROXY_PROXY_PORT", "<port>"),
    ("HAPROXY_SERVER_ADDR", "127.0.0.9"),
    ("HAPROXY_SERVER_CURCONN", "0"),
    ("HAPROXY_SERVER_ID", "3"),
    ("HAPROXY_SERVER_MAXCONN", "17"),
    ("HAPROXY_SERVER_NAME", "one"),
    ("HAPROXY_SERVER_PORT", "81"),
    ("HAPROXY_SERVER_PROTO", "h1"),
    ("HAPROXY_SERVER_SSL", "0"),
    ("PATH", "/usr/bin:/bin"),
];

#[test]
fn an_external_check_gets_the_arguments_of_the_manual_only() {
    let setup = Setup::new(&format!(
        "{GLOBAL}listen front\n id 7\n bind <web>\n option external-check\n \
         external-check command <dir>/note\n external-check path \"/usr/bin:/bin\"\n \
         server one 127.0.0.9:81 id 3 maxconn 17 check inter 5s fastinter 30ms addr 127.0.0.1 port 9\n\
         backend back\n option external-check\n external-check command <dir>/note\n \
         external-check path /bin\n server two /some/path check inter 5s fastinter 30ms\n"
    ))
    .file(
        "note",
        "#!/bin/sh\nd=${0%/*}\n{ echo \"$*\"; env; } > $d/$HAPROXY_SERVER_NAME.new\n\
         mv $d/$HAPROXY_SERVER_NAME.new $d/$HAPROXY_SERVER_NAME\n",
    );
    executable(&setup, "note");
    let weir = setup.start();
    let noted = |name: &str| {
        eventually("the program has run", || std::fs::read_to_string(weir.path(name)).ok())
    };
    let port = weir.address("web").port().to_string();
    let text = noted("one");
    let (arguments, environment) = text.split_once('\n').expect("a line of arguments");
    assert_eq!(arguments, format!("127.0.0.1 {port} 127.0.0.9 81"));
    // The shell adds some of its own.
    let shells = ["PWD", "OLDPWD", "SHLVL", "_"];
    let found: BTreeMap<&str, &str> = environment
        .lines()
        .filter_map(|line| line.split_once('='))
        .filter(|(name, _)| !shells.contains(name))
        .collect();
    let expected = ENVIRONMENT.iter().map(|(name, value)| match *value {
        "<port>" => (*name, port.as_str()),
        value => (*name, value),
    });
    assert_eq!(found, expected.collect());
    let text = noted("two");
    assert!(text.starts_with("NOT_USED NOT_USED /some/path NOT_USED\n"), "{text}");
    assert!(text.contains("\nHAPROXY_PROXY_ADDR=\n"), "{text}");
    assert!(text.contains("\nHAPROXY_SERVER_PORT=\n"), "{text}");
}

#[test]
fn external_checks_are_logged_apart_and_leave_no_processes() {
    let log = crate::support::LogReceiver::new();
    let setup = Setup::new(&format!(
        "{GLOBAL}backend b\n log <log> format raw local0\n option external-check\n \
         external-check command <dir>/any\n external-check path /usr/bin:/bin\n \
         option log-health-checks\n server s1 127.0.0.1:1 check inter 100ms\n \
         server s2 127.0.0.1:1 check inter 100ms\n server s3 127.0.0.1:1 check inter 100ms\n"
    ))
    .file(
        "any",
        "#!/bin/sh\ncase $HAPROXY_SERVER_NAME in\ns1) kill -9 $$;;\ns2) exit 0;;\n\
         s3) echo $$ > ${0%/*}/pid; exec sleep 60;;\nesac\n",
    )
    .with("log", log.address());
    executable(&setup, "any");
    let weir = setup.start();
    let mut found = BTreeMap::new();
    while found.len() < 3 {
        let line = log.find("Health check for server b/s");
        let (head, tail) = line.split_once(", check duration: ").expect("a duration");
        let duration = tail.split("ms").next().and_then(|text| text.parse::<u32>().ok());
        let name = head.split(' ').nth(4).unwrap_or_default().to_owned();
        found.entry(name).or_insert((head.to_owned(), duration.expect("milliseconds")));
    }
    let of = |name: &str| found[name].0.as_str();
    let head = "Health check for server";
    assert_eq!(of("b/s1"), format!("{head} b/s1 failed, reason: External check error, code: -1"));
    assert_eq!(
        of("b/s2"),
        format!("{head} b/s2 succeeded, reason: External check passed, code: 0")
    );
    assert_eq!(of("b/s3"), format!("{head} b/s3 failed, reason: External check timeout, code: 0"));
    assert!(found["b/s3"].1 >= 100, "{found:?}");
    let pid = std::fs::read_to_string(weir.path("pid")).expect("s3 has run");
    eventually("the program that was late has gone", || {
        let same = std::fs::read_to_string(weir.path("pid")).ok()? == pid;
        let status = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).ok();
        (!same || status.is_none()).then_some(())
    });
}

#[test]
fn a_program_that_does_not_listen_is_killed_and_taken_off_the_list() {
    let setup = Setup::new(&format!(
        "{GLOBAL}backend b\n option external-check\n external-check command <dir>/deaf\n \
         external-check path /usr/bin:/bin\n server s 127.0.0.1:1 check inter 50ms\n"
    ))
    .file("deaf", "#!/bin/sh\ntrap '' TERM\necho $$ >> ${0%/*}/pids\nexec sleep 60\n");
    executable(&setup, "deaf");
    let weir = setup.start();
    let pids = || -> Vec<String> {
        let text = std::fs::read_to_string(weir.path("pids")).unwrap_or_default();
        text.split_inclusive('\n').map(|line| line.trim().to_owned()).collect()
    };
    eventually("checks go on", || (pids().len() >= 3).then_some(()));
    let first = pids()[0].clone();
    eventually("nothing is left of the first program", || {
        (!std::path::Path::new(&format!("/proc/{first}")).exists()).then_some(())
    });
}

/// An agent may take the close for the confirmation of its orders.
#[test]
fn orders_of_an_agent_are_carried_out_before_its_connection_closes() {
    let (give, next) = channel::<u32>();
    let (done, closed) = channel();
    let (next, done) = (Mutex::new(next), Mutex::new(done));
    let agent = Origin::new(move |mut peer| {
        let Ok(percent) = next.lock().expect("no panic").recv() else { return };
        peer.send(format!("{percent}%\n"));
        peer.client.rest();
        let _ = done.lock().expect("no panic").send(());
    });
    let port = agent.address().port();
    let weir = Setup::new(&format!(
        "global\n stats socket <dir>/cli level admin\n nbthread 4\nbackend b\n timeout check 20s\n \
         server s 127.0.0.1:9 weight 200 agent-check agent-port {port} agent-inter 10ms\n"
    ))
    .start();
    for percent in (1..=60).rev() {
        give.send(percent).expect("it waits");
        closed.recv_timeout(PATIENCE).expect("a close");
        assert_eq!(weir.stat("b", "s", "uweight"), (2 * percent).to_string());
    }
}

#[test]
fn an_agent_may_be_elsewhere_than_a_server_that_is_a_path_and_at_the_path_too() {
    let agent = Origin::new(|mut peer| peer.send("50%\n"));
    let port = agent.address().port();
    let setup = Setup::new(&format!(
        "{GLOBAL}backend b\n \
         server s <dir>/nobody agent-check agent-addr 127.0.0.1 agent-port {port} agent-inter 30ms\n \
         server t <dir>/agent agent-check agent-port 9 agent-inter 30ms\n"
    ));
    let listener = UnixListener::bind(setup.path("agent")).expect("a path of the test");
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let _ = stream.write_all(b"25%\n");
        }
    });
    let weir = setup.start();
    for server in ["s", "t"] {
        eventually("the agent has been asked", || {
            (weir.stat("b", server, "agent_status") == "CHECKED").then_some(())
        });
    }
    let moved = Origin::new(|mut peer| peer.send("75%\n"));
    let port = moved.address().port();
    weir.cli(&format!("set server b/t agent-addr 127.0.0.1 port {port}"));
    eventually("it is asked at its new address", || (moved.connections() > 0).then_some(()));
    let place = weir.cli("show servers state b");
    let line = place.lines().find(|line| line.contains(" t - ")).expect("its line");
    assert!(line.ends_with(&format!(" 127.0.0.1 {port}")), "{line}");
}

/// As measured with HAProxy.
#[test]
fn an_agent_goes_where_its_server_goes_unless_it_has_an_address_of_its_own() {
    let agents = [0; 3].map(|_| Origin::new(|mut peer| peer.send("50%\n")));
    let [own, checked, follows] = agents.each_ref().map(|agent| agent.address().port());
    let options = "agent-check agent-inter 30ms";
    let setup = Setup::new(&format!(
        "{GLOBAL}backend b\n \
         server own 127.0.0.1:1 {options} agent-addr 127.0.0.1 agent-port {own}\n \
         server checked 127.0.0.1:1 {options} addr 127.0.0.1 agent-port {checked}\n \
         server follows 127.0.0.9:1 {options} agent-port {follows}\n"
    ));
    let weir = setup.start();
    for (server, to) in [("own", "127.0.0.9"), ("checked", "127.0.0.9"), ("follows", "127.0.0.1")] {
        let said = weir.cli(&format!("set server b/{server} addr {to}"));
        assert!(said.starts_with("IP changed from "), "{said}");
    }
    for agent in agents {
        let before = agent.connections();
        // An agent may have been asked before its server's address changed, so its answer is still
        // to come.
        eventually("it is asked", || (agent.connections() > before + 1).then_some(()));
    }
}

#[test]
fn programs_need_the_permission_of_the_global_section() {
    let log = crate::support::LogReceiver::new();
    let text = "global\n external-check\ndefaults\n log <log> format raw local0\n timeout connect 1s\n \
                timeout server 1s\nlisten b\n timeout client 1s\n bind <web>\n \
                option external-check\n external-check command /bin/true\n \
                server s 127.0.0.1:1 check inter 30ms\n";
    let weir = Setup::new(text).with("log", log.address()).start();
    let line = log.find("Server b/s is DOWN");
    assert!(line.contains("External check error, code: 255"), "{line}");
    weir.expect_error("'insecure-fork-wanted' not enabled in the global section");
    drop(weir);
    let directory = crate::support::Directory::new();
    let file = directory.write(
        "a.cfg",
        &text
            .replace("global\n external-check\n", "")
            .replace("<web>", ":1")
            .replace("<log>", "127.0.0.1"),
    );
    let output = run(&["-c", "-f", &file.display().to_string()]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("unable to find required 'global.external-check'"), "{said}");
}
