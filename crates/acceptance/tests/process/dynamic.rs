//! Servers that an operator adds, follows, moves and deletes.

use crate::support::{
    Client, LogReceiver, Origin, Running, Setup, eventually, reply, serve_forever,
};
use std::io::{Read, Write, copy};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::mpsc;

/// A frontend before a backend with these lines, and a log of notices.
fn start(back: &str, log: &LogReceiver) -> Running {
    let text = format!(
        "global\n    stats socket <dir>/cli level admin\n\
         defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    \
         timeout server 20s\n\
         frontend web\n    bind <web>\n    default_backend app\n\
         backend app\n    log <log> format raw local0\n{back}\n\
         backend turns\n    balance static-rr\n"
    );
    Setup::new(&text).with("log", log.address()).start()
}

fn state(program: &Running, server: &str) -> Vec<String> {
    let all = program.cli("show servers state");
    let line = all.lines().find(|line| line.split(' ').nth(3) == Some(server));
    let line = line.unwrap_or_else(|| panic!("no {server} in:\n{all}"));
    line.split(' ').map(str::to_owned).collect()
}

#[test]
fn servers_come_and_go() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let program = start("    balance leastconn", &log);
    let address = origin.address();
    assert_eq!(program.web().get("/").status(), 503);
    for (command, answer) in [
        ("add server nope/s1 <a>", "No such backend."),
        ("add server app", "Require 'backend/server'."),
        ("add server app/s1", "'server' expects <name> and <addr>[:<port>] as arguments."),
        (
            "add server turns/s1 <a>",
            "Backend must use a dynamic load balancing to support dynamic servers.",
        ),
        ("add server app/s1 <a> cookie x", "'cookie' option is not accepted for dynamic server"),
        ("add server app/s1 <a> track nope", "unable to find required server 'nope' for tracking."),
        ("add server app/s1 <a> check inter 100ms", "New server registered."),
        ("add server app/s1 <a>", "Already exists a server with the same name in backend."),
        (
            "add server app/s2 <a> track s1",
            "unable to use app/s1 for tracking as it is a dynamic server.",
        ),
        ("add server app/s3 <a> weight 5 id 7", "New server registered."),
    ] {
        assert_eq!(program.cli(&command.replace("<a>", &address.to_string())), answer, "{command}");
    }
    assert_eq!(program.web().get("/").status(), 503, "they are born in maintenance");
    assert_eq!(state(&program, "s1")[2..9], ["1", "s1", "127.0.0.1", "0", "1", "1", "1"]);
    assert_eq!(state(&program, "s1")[13], "2", "its checks are configured, and do not run yet");
    assert_eq!(state(&program, "s3")[2], "7");
    program.cli("enable server app/s1");
    program.cli("enable health app/s1");
    assert_eq!(program.web().get("/").text(), "hello");
    eventually("a check", || (state(&program, "s1")[10] == "6").then_some(()));
    assert_eq!(
        program.cli("del server app/s1"),
        "Only servers in maintenance mode can be deleted."
    );
    program.cli("disable server app/s1");
    eventually("idle connections to go", || {
        (program.cli("del server app/s1") == "Server deleted.").then_some(())
    });
    assert_eq!(program.cli("del server app/s1"), "No such server.");
    assert_eq!(program.web().get("/").status(), 503);
    assert!(!program.cli("show stat").contains("app,s1,"));
    let again = program.cli(&format!("add server app/s1 {address}"));
    assert_eq!(again, "New server registered.");
    program.cli("enable server app/s1");
    assert_eq!(program.web().get("/").text(), "hello");
    assert_eq!(state(&program, "s1")[2], "1", "its number is free again");
}

/// Memory of the process that is in use, in KiB.
fn memory(program: &Running) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", program.pid()));
    let status = status.expect("a process that runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its line");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn deleted_servers_leave_no_memory_behind() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let program = start("    balance leastconn", &log);
    let address = origin.address();
    let rounds = |from: usize, count: usize| {
        for round in (from..from + count).step_by(20) {
            let pair = |number: usize| {
                let more =
                    ["", " weight 7 check", " maxconn 5 id 9", " ssl verify none"][number % 4];
                format!("add server app/s{number} {address}{more};del server app/s{number}")
            };
            let all: Vec<String> = (round..round + 20).map(pair).collect();
            let said = program.cli(&all.join(";"));
            assert_eq!(said.matches("Server deleted.").count(), 20, "{said}");
        }
    };
    rounds(0, 600);
    let before = memory(&program);
    rounds(600, 3_000);
    let more = memory(&program).saturating_sub(before);
    assert!(more < 3_000, "{more} KiB for 3000 servers");
    let columns = program.cli("show stat");
    assert!(!columns.contains("app,s"), "{columns}");
}

#[test]
fn names_and_addresses_of_deleted_servers_leave_no_memory_behind() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let program = start("    server lead 127.0.0.1:9 check inter 1h", &log);
    let port = origin.address().port();
    let forms = |number: usize| {
        [
            format!("127.0.0.1:{port}"),
            format!("127.0.0.1:{port} track app/lead"),
            format!("host-{number}.invalid:{port}"),
            format!("/tmp/no-server-{number}"),
            "127.0.0.1:+8".to_owned(),
        ]
    };
    let rounds = |from: usize, count: usize| {
        for number in (from..from + count).step_by(5) {
            let pair = |(form, address): (usize, &String)| {
                let name = format!("{}-{form}-{number}", "n".repeat(2_000));
                format!("add server app/{name} {address};del server app/{name}")
            };
            let all: Vec<String> = forms(number).iter().enumerate().map(pair).collect();
            for command in &all {
                let said = program.cli(command);
                assert_eq!(said.matches("Server deleted.").count(), 1, "{said}");
            }
        }
    };
    rounds(0, 500);
    let before = memory(&program);
    rounds(500, 3_000);
    let more = memory(&program).saturating_sub(before);
    assert!(more < 1_500, "{more} KiB for 3000 servers with names of 2 kB");
}

#[test]
fn server_that_takes_the_slot_of_a_deleted_one_has_its_own_address_and_leader() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let program =
        start("    server lead 127.0.0.1:9 check inter 1h\n    server x 127.0.0.1:9", &log);
    let add = |name: &str, rest: &str| {
        assert_eq!(
            program.cli(&format!("add server app/{name} {rest}")),
            "New server registered.",
            "{name}"
        );
    };
    let delete = |name: &str| {
        assert_eq!(program.cli(&format!("del server app/{name}")), "Server deleted.", "{name}");
    };
    let port = origin.address().port();
    for server in ["lead", "x"] {
        program.cli(&format!("set server app/{server} state maint"));
    }
    // A server of the client's address first, so that another one must not take its slot.
    add("any", &format!("0.0.0.0:{port}"));
    delete("any");
    add("ip", &format!("127.0.0.1:{port}"));
    program.cli("enable server app/ip");
    assert_eq!(program.web().get("/").text(), "hello");
    program.cli("disable server app/ip");
    eventually("it to be unused", || {
        (program.cli("del server app/ip") == "Server deleted.").then_some(())
    });
    add("one", "one.invalid:81");
    assert_eq!(state(&program, "one")[17..19], ["one.invalid", "81"]);
    delete("one");
    add("two", "two.invalid:82");
    assert_eq!(state(&program, "two")[17..19], ["two.invalid", "82"]);
    // A follower follows changes also in the slot of a deleted server.
    for name in ["first", "second"] {
        add(name, "127.0.0.1:9 track app/lead");
        program.cli(&format!("enable server app/{name}"));
        assert_eq!(state(&program, name)[6], "2", "{name} is in maintenance with its leader");
        program.cli("set server app/lead state ready");
        assert_eq!((&*state(&program, name)[5], &*state(&program, name)[6]), ("2", "0"), "{name}");
        program.cli("set server app/lead state maint");
        assert_eq!(state(&program, name)[6], "2", "{name}");
        program.cli(&format!("disable server app/{name}"));
        delete(name);
    }
}

#[test]
fn server_in_the_place_of_a_deleted_one_begins_anew() {
    let (one, two) = (Origin::saying("one"), Origin::saying("two"));
    let log = LogReceiver::new();
    let program = start("    balance leastconn", &log);
    let add = |name: &str, address: SocketAddr| {
        let line = format!("add server app/{name} {address} weight 9 check inter 100ms");
        assert_eq!(program.cli(&line), "New server registered.");
        program.cli(&format!("enable server app/{name};enable health app/{name}"));
    };
    add("first", one.address());
    assert_eq!(program.web().get("/").text(), "one");
    program.cli("set server app/first weight 3;set maxconn server app/first 77");
    eventually("a check", || (state(&program, "first")[10] == "6").then_some(()));
    program.cli("disable server app/first");
    eventually("it to be deleted", || {
        (program.cli("del server app/first") == "Server deleted.").then_some(())
    });
    add("second", two.address());
    assert_eq!(program.web().get("/").text(), "two");
    let told = state(&program, "second");
    assert_eq!(
        (&told[2..4], &told[7..9]),
        (&["1".into(), "second".into()][..], &["9".into(), "9".into()][..])
    );
    let stat = program.cli("show stat");
    let line = stat.lines().find(|line| line.starts_with("app,second,")).expect("its line");
    let columns: Vec<&str> = line.split(',').collect();
    assert_eq!((columns[6], columns[7]), ("", "1"), "no limit, one session: {line}");
    eventually("a check", || (state(&program, "second")[10] == "6").then_some(()));
    assert_eq!(program.cli("del server app/first"), "No such server.");
}

/// As HAProxy 2.6 says, for servers with a strange address or with what the backend does not suit.
#[test]
fn servers_that_do_not_suit_their_backend_are_refused() {
    let log = LogReceiver::new();
    let text = "    server first 127.0.0.1:9\nbackend bytes\n    mode tcp\n    option tcp-check\n    \
                tcp-check connect port 7\n    server first 127.0.0.1:9";
    let program = start(text, &log);
    let (mux, added) = ("MUX protocol is not usable for server.", "New server registered.");
    let lost = "config: backend 'app': server 's' has neither service port nor check port nor \
                tcp_check rule 'connect' with port information.";
    let mixed = "uses an incompatible MUX protocol for the selected check type";
    let mixed = format!("config: backend 'bytes': server 's' {mixed}");
    for (line, answer) in [
        ("bytes/s 127.0.0.1:80 proto h2", mux),
        ("bytes/s 127.0.0.1:80 proto h1", mux),
        ("app/s 127.0.0.1:80 proto none", mux),
        ("app/s 127.0.0.1 check", lost),
        ("app/s 127.0.0.1:+1 check", lost),
        ("bytes/s 127.0.0.1:80 check check-proto h1", &mixed),
        ("bytes/s 127.0.0.1:80 check observe layer7", "'layer7' can only be used in http proxies."),
        ("/s 127.0.0.1:80", "Require 'backend/server'."),
        ("bytes/s1 127.0.0.1 check", added),
        ("app/s2 127.0.0.1 check port 8", added),
        ("app/s3 *:+1", added),
        ("app/s4 : check", added),
    ] {
        assert_eq!(program.cli(&format!("add server {line}")), answer, "{line}");
    }
}

#[test]
fn a_server_without_a_port_takes_that_of_the_client() {
    let (origin, log) = (Origin::saying("here"), LogReceiver::new());
    let program = start("    balance roundrobin", &log);
    let (web, there) = (program.address("web").port(), origin.address().port());
    let offset = i32::from(there) - i32::from(web);
    program.cli(&format!("add server app/s 127.0.0.1:{offset:+}"));
    program.cli("enable server app/s");
    assert_eq!(program.web().get("/").text(), "here");
}

/// The manual: nothing is resolved for such a server. The server waits for an operator to set its
/// address.
#[test]
fn a_server_with_a_name_waits_for_its_address() {
    let (origin, log) = (Origin::saying("here"), LogReceiver::new());
    let program = start("    server old name.invalid:9 init-addr none check inter 1h", &log);
    let port = origin.address().port();
    let line = format!("add server app/new name.invalid:{port}");
    assert_eq!(program.cli(&line), "New server registered.");
    assert_eq!(state(&program, "new")[17..19], ["name.invalid", &port.to_string()]);
    program.cli("enable server app/new");
    assert_eq!(state(&program, "new")[4..7], ["-", "0", "32"]);
    assert_eq!(state(&program, "old")[13], "14", "its checks are paused");
    assert_eq!(program.web().get("/").status(), 503);
    for name in ["new", "old"] {
        program.cli(&format!("set server app/{name} addr 127.0.0.1 port {port}"));
        log.find(&format!("Server app/{name} ('name.invalid') is UP/READY (resolves again)."));
        assert_eq!(state(&program, name)[4..7], ["127.0.0.1", "2", "0"]);
    }
    assert_eq!(state(&program, "old")[13], "6");
    assert_eq!(program.web().get("/").text(), "here");
}

#[test]
fn an_added_server_uses_the_connection_options_of_its_backend() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let back = "    source 127.0.0.3\n    http-response set-header from %[bc_src]";
    let program = start(back, &log);
    for (server, options, from) in
        [("s1", "", "127.0.0.3"), ("s2", "source 127.0.0.4", "127.0.0.4")]
    {
        program.cli(&format!("add server app/{server} {} {options}", origin.address()));
        program.cli(&format!("enable server app/{server}"));
        assert_eq!(program.web().get("/").header("from"), Some(from));
        program.cli(&format!("disable server app/{server}"));
    }
}

#[test]
fn servers_that_others_refer_to_are_not_deleted() {
    let log = LogReceiver::new();
    let program = start(
        "    use-server s1 if { path /x }\n    acl busy srv_sess_rate(app/s2) gt 5\n    \
         http-request deny if busy\n    server s1 127.0.0.1:9\n    server s2 127.0.0.1:9\n    \
         server s3 127.0.0.1:9 check inter 1h\n    server s4 127.0.0.1:9 track s3\n    \
         server s5 127.0.0.1:9",
        &log,
    );
    let refusal = "This server cannot be removed at runtime due to other configuration elements \
                   pointing to it.";
    for name in ["s1", "s2", "s3"] {
        program.cli(&format!("disable server app/{name}"));
        assert_eq!(program.cli(&format!("del server app/{name}")), refusal, "{name}");
    }
    program.cli("disable server app/s5");
    assert_eq!(program.cli("del server app/s5"), "Server deleted.");
}

#[test]
fn followers_go_where_their_leader_goes() {
    let (origin, log) = (Origin::saying("up"), LogReceiver::new());
    let back = format!(
        "    server s1 {0} check inter 20ms fall 1 rise 1\n    server s2 {0} track s1\n    \
         server s3 {0} track app/s2",
        origin.address()
    );
    let program = start(&back, &log);
    let status = |name: &str| program.stat("app", name, "status");
    eventually("the first check", || (status("s1") == "UP").then_some(()));
    assert_eq!((status("s2"), status("s3")), ("UP".to_owned(), "UP".to_owned()));
    assert_eq!(program.stat("app", "s2", "tracked"), "app/s1");
    drop(origin);
    eventually("the end of s1", || (status("s1") == "DOWN").then_some(()));
    for (name, leader) in [("s2", "s1"), ("s3", "s2")] {
        eventually("its followers", || (status(name) == "DOWN").then_some(()));
        log.find(&format!("Server app/{name} is DOWN via app/{leader}."));
    }
    assert_eq!(
        program.cli("set server app/s2 health up"),
        "cannot change health on a tracking server."
    );
    program.cli("disable server app/s1");
    assert_eq!(status("s3"), "MAINT (via app/s2)");
    assert_eq!(state(&program, "s3")[6], "2", "maintenance is inherited");
    program.cli("set server app/s1 state drain");
    assert_eq!(state(&program, "s3")[6], "16", "so is drain");
}

#[test]
fn a_server_can_be_moved() {
    let (one, other, log) = (Origin::saying("one"), Origin::saying("other"), LogReceiver::new());
    let back = format!("    server s1 {} check inter 1h", one.address());
    let program = start(&back, &log);
    assert_eq!(program.web().get("/").text(), "one");
    let port = other.address().port();
    let said = program.cli(&format!("set server app/s1 addr 127.0.0.1 port {port}"));
    let expected = format!(
        "no need to change the addr, port changed from '{}' to '{port}' by 'stats socket command'",
        one.address().port()
    );
    assert_eq!(said, expected);
    assert_eq!(program.web().get("/").text(), "other");
    assert_eq!(state(&program, "s1")[18], port.to_string());
    let said = program.cli("set server app/s1 addr 127.0.0.2");
    assert_eq!(said, "IP changed from '127.0.0.1' to '127.0.0.2' by 'stats socket command'");
    assert_eq!(state(&program, "s1")[4], "127.0.0.2");
    program.cli("set server app/s1 check-addr 127.0.0.3 port 7");
    assert_eq!(state(&program, "s1")[21..23], ["7", "127.0.0.3"]);
    program.cli("set server app/s1 check-port 8");
    assert_eq!(state(&program, "s1")[21..23], ["8", "127.0.0.3"]);
    assert_eq!(program.cli("set server app/s1 check-port x"), "provided port is not an integer");
}

#[test]
fn the_state_of_servers_is_dumped_to_the_byte() {
    let log = LogReceiver::new();
    let program = start(
        "    id 77\n    server s1 127.0.0.1:1 addr 127.0.0.9 check inter 10m\n    \
         server s3 127.0.0.1:1 addr 127.0.0.9 port 9\n    \
         server s4 127.0.0.1:1 agent-check agent-port 5 agent-addr 127.0.0.8 agent-inter 10m\n    \
         server s6 127.0.0.1:1 id 50 disabled\n    server s7 [::1]:80 backup weight 0\n    \
         server s8 /tmp/x.sock",
        &log,
    );
    // The result of a check is there before the flag of one that runs is cleared. The agent's first
    // check begins after minutes.
    eventually("the first check", || {
        (state(&program, "s1")[10] != "1" && state(&program, "s1")[13] == "6").then_some(())
    });
    let all = program.cli("show servers state app");
    let shown: Vec<String> = all.lines().skip(2).map(without_time).collect();
    assert_eq!(
        shown,
        [
            "77 app 1 s1 127.0.0.1 0 0 1 1 8 2 0 6 0 1 0 - 1 - 0 0 127.0.0.9 127.0.0.9 0",
            "77 app 2 s3 127.0.0.1 2 0 1 1 1 0 2 0 0 1 0 - 1 - 0 9 127.0.0.9 127.0.0.9 9",
            "77 app 3 s4 127.0.0.1 2 0 1 1 1 0 2 0 22 1 0 - 1 - 0 0 - 127.0.0.8 5",
            "77 app 50 s6 127.0.0.1 0 5 1 1 1 0 0 8 0 1 1 - 1 - 0 0 - - 0",
            "77 app 5 s7 ::1 2 0 0 0 1 0 2 0 0 1 0 - 80 - 0 0 - - 0",
            "77 app 6 s8 - 2 0 1 1 1 0 2 0 0 1 0 - 0 - 0 0 - - 0",
        ]
    );
    program.cli("set server app/s6 state ready");
    let ready = without_time(&state(&program, "s6").join(" "));
    assert_eq!(ready, "77 app 50 s6 127.0.0.1 2 4 1 1 1 0 0 8 0 1 1 - 1 - 0 0 - - 0");
}

/// A line without the time since the last change.
fn without_time(line: &str) -> String {
    let mut fields: Vec<_> = line.split(' ').collect();
    fields.remove(9);
    fields.join(" ")
}

/// The checks of other servers of the backend do not apply to this one.
#[test]
fn a_server_that_is_added_is_checked_with_its_own_header() {
    let log = LogReceiver::new();
    let text = "    option httpchk GET /\n    option log-health-checks\n\
                frontend inner\n    bind <inner> accept-proxy\n    http-request return status 200";
    let weir = Setup::http("", text).with("log", log.address()).start();
    let inner = weir.address("inner");
    let line = format!("add server app/s1 {inner} check rise 1 fall 1 inter 50ms check-send-proxy");
    assert!(weir.cli(&line).contains("New server registered."));
    let line = format!("add server app/s2 {inner} send-proxy check rise 1 fall 1 inter 50ms");
    assert!(weir.cli(&line).contains("New server registered."));
    for server in ["s1", "s2"] {
        weir.cli(&format!("enable health app/{server}; enable server app/{server}"));
    }
    eventually("a check has passed", || {
        (weir.stat("app", "s1", "check_status") == "L7OK").then_some(())
    });
    eventually("a check without the header has not", || {
        (weir.stat("app", "s2", "check_status") == "L7RSP").then_some(())
    });
}

/// An origin that answers "old" on a signal, the receiver of its requests, and the sender of that
/// signal.
fn held() -> (Origin, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let (asked, is_asked) = mpsc::channel();
    let (go, may_go) = mpsc::channel();
    let ends = Mutex::new((asked, may_go));
    let origin = Origin::new(move |peer| {
        serve_forever(peer, |_| {
            let (asked, may_go) = &*ends.lock().expect("one request at a time");
            asked.send(()).expect("the test waits");
            may_go.recv().expect("the test says so");
            reply("200 OK", "old").into_bytes()
        });
    });
    (origin, is_asked, go)
}

/// Moves the server to a port while it holds a request back, which it answers then.
fn move_while_asked(
    weir: &Running,
    client: &mut Client,
    (is_asked, go): (&mpsc::Receiver<()>, &mpsc::Sender<()>),
    port: u16,
) {
    client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    is_asked.recv().expect("it asks");
    weir.cli(&format!("set server app/s addr 127.0.0.1 port {port}"));
    go.send(()).expect("it waits");
    assert_eq!(client.response().text(), "old");
}

/// A connection that was in use while its server moved serves no other request (manual section 4.2,
/// `http-reuse`: destinations have to match).
#[test]
fn a_connection_in_use_does_not_keep_a_server_at_its_old_place() {
    for policy in ["always", "never"] {
        let (old, is_asked, go) = held();
        let (new, log) = (Origin::saying("new"), LogReceiver::new());
        let front = "    log-format \"%[var(txn.to)]\"\n    \
                     http-response set-var-fmt(txn.to) %[bc_dst]:%[bc_dst_port]";
        let back = format!("    http-reuse {policy}\n    server s {}", old.address());
        let weir = Setup::http(front, &back).with("log", log.address()).start();
        let mut client = weir.web();
        move_while_asked(&weir, &mut client, (&is_asked, &go), new.address().port());
        let line = log.line();
        assert!(line.ends_with(&old.address().to_string()), "where it was dialled: {line}");
        assert_eq!(client.get("/").text(), "new", "{policy}");
        assert!(log.line().ends_with(&new.address().to_string()));
        assert_eq!((old.connections(), new.connections()), (1, 1), "{policy}");
    }
}

#[test]
fn a_stream_under_way_does_not_keep_a_server_at_its_old_place() {
    let (old, is_asked, go) = held();
    let back = "    http-reuse always\n    server s <one> proto h2\n\
                frontend one\n    bind <one>\n    default_backend held\n\
                backend held\n    server o <origin>\n\
                frontend other\n    bind <other>\n    \
                http-request return status 200 content-type text/plain string new";
    let weir = Setup::http("", back).between(&old, &LogReceiver::new());
    let mut client = weir.web();
    let port = weir.address("other").port();
    move_while_asked(&weir, &mut client, (&is_asked, &go), port);
    assert_eq!(client.get("/").text(), "new");
}

/// A SOCKS4 proxy that reports each request and grants it on a signal.
fn socks(asked: mpsc::Sender<()>, may_go: mpsc::Receiver<()>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it listens");
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.expect("a client");
            let mut request = Vec::new();
            let mut byte = [1];
            while request.len() < 9 || byte != [0] {
                client.read_exact(&mut byte).expect("a request");
                request.push(byte[0]);
            }
            let port = u16::from_be_bytes([request[2], request[3]]);
            if asked.send(()).is_err() || may_go.recv().is_err() {
                return;
            }
            client.write_all(&[0, 90, 0, 0, 0, 0, 0, 0]).expect("it waits");
            let server = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
            for (mut from, mut to) in [(&client, &server), (&server, &client)]
                .map(|(from, to)| (from.try_clone(), to.try_clone()))
                .map(|(from, to)| (from.expect("a descriptor"), to.expect("a descriptor")))
            {
                std::thread::spawn(move || copy(&mut from, &mut to));
            }
        }
    });
    address
}

/// A connection that is made during the change of the address is not shared either, however many
/// streams it may carry.
#[test]
fn a_connection_that_is_made_meanwhile_is_not_shared() {
    let (asked, is_asked) = mpsc::channel();
    let (go, may_go) = mpsc::channel();
    let back = format!(
        "    http-reuse always\n    server s <one> proto h2 socks4 {}\n\
         frontend one\n    bind <one>\n    \
         http-request return status 200 content-type text/plain string old\n\
         frontend other\n    bind <other>\n    \
         http-request return status 200 content-type text/plain string new",
        socks(asked, may_go)
    );
    let weir = Setup::http("", &back).with("log", LogReceiver::new().address()).start();
    let mut client = weir.web();
    let port = weir.address("other").port();
    move_while_asked(&weir, &mut client, (&is_asked, &go), port);
    go.send(()).expect("it will wait");
    assert_eq!(client.get("/").text(), "new");
}
