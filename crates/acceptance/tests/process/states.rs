//! Servers that start in the state that an earlier process has saved (`server-state-file`), and
//! dumps that both Weir and HAProxy understand.

use crate::support::{Origin, Running, Setup, eventually, program, run};
use std::path::Path;

/// Servers of every kind; each is checked once, at the start.
const SERVERS: &str = "
    server plain 127.0.0.1:1 weight 11
    server checked 127.0.0.1:1 check port <port> inter 1h weight 12 rise 3 fall 4
    server off 127.0.0.1:1 check inter 1h disabled
    server agent 127.0.0.1:1 check port <port> inter 1h agent-check agent-port 9 agent-inter 1h
    server named localhost:1 init-addr last,none
    server elsewhere 127.0.0.1:80 check addr 127.0.0.1 port <port> inter 1h
    server gone 127.0.0.1:1
";

/// A program with these servers that has a state file `<dir>/states` with this text.
fn setup(states: &str, servers: &str) -> Setup {
    let text = format!(
        "global\n    nbthread 1\n    stats socket <dir>/cli level admin\n    \
         max-spread-checks 10\n    server-state-base <dir>\n    \
         server-state-file states\n\
         defaults\n    timeout connect 1s\n    timeout client 1s\n    timeout server 1s\n    \
         load-server-state-from-file global\n\
         listen first\n    bind <first>\n    server x 127.0.0.1:1\n\
         listen bk\n    bind <bk>\n{servers}"
    );
    Setup::new(&text).file("states", states).with("port", 1)
}

/// The lines about the servers of `bk`, without the time since the last change.
fn dump(weir: &Running) -> Vec<String> {
    let timeless = |line: &str| {
        let words = line.split(' ').enumerate().filter(|(column, _)| *column != 9);
        words.map(|(_, word)| word).collect::<Vec<_>>().join(" ")
    };
    let text = weir.cli("show servers state bk");
    text.lines().skip(2).map(timeless).collect()
}

/// The changes that operators make to servers before the process is replaced.
const CHANGES: [&str; 8] = [
    "set server bk/plain weight 5",
    "set server bk/plain state drain",
    "set server bk/checked state maint",
    "set server bk/elsewhere addr 127.0.0.1 port 8080",
    "disable health bk/elsewhere",
    "disable health bk/agent",
    "disable agent bk/agent",
    "set server bk/gone health down",
];

/// An origin for checks, and a program whose servers have been changed.
fn changed(origin: &Origin, program: &Path) -> Running {
    let setup = setup("1\n", SERVERS).with("port", origin.address().port());
    let weir = setup.program(program).start();
    for server in ["checked", "agent", "elsewhere"] {
        eventually("a check", || (weir.stat("bk", server, "check_status") == "L4OK").then_some(()));
    }
    CHANGES.iter().for_each(|command| drop(weir.cli(command)));
    weir
}

fn origin() -> Origin {
    Origin::new(|mut peer| while peer.request().is_some() {})
}

#[test]
fn servers_go_on_where_they_were() {
    let origin = origin();
    let before = changed(&origin, &program());
    // HAProxy forgets this of servers whose checks are suspended.
    before.cli("set server bk/elsewhere check-port 82");
    let states = before.cli("show servers state") + "\n";
    let after = setup(&states, SERVERS).with("port", origin.address().port()).start();
    assert_eq!(dump(&after), dump(&before));
    assert!(states.contains(" plain 127.0.0.1 2 8 5 11 "), "{states}");
    after.expect_error("Server bk/gone is DOWN, changed from server-state after a reload. ");
    after.expect_error("Server bk/plain remains in forced drain mode.");
}

/// As in HAProxy, a server that an operator has taken out of its configured maintenance stays so
/// after a reload.
#[test]
fn a_configured_rest_that_was_ended_stays_ended() {
    let servers = "    server a 127.0.0.1:1 disabled\n    server b 127.0.0.1:1 disabled\n    \
                   server c 127.0.0.1:1 disabled\n    server d 127.0.0.1:1 track bk/e disabled\n    \
                   server e 127.0.0.1:1 check port <port> inter 1h disabled\n";
    let origin = origin();
    let start = |states: &str| setup(states, servers).with("port", origin.address().port()).start();
    let before = start("1\n");
    before.cli("enable server bk/a; set server bk/b state drain");
    before.cli("set server bk/e state ready; set server bk/d state ready");
    let states = before.cli("show servers state") + "\n";
    let after = start(&states);
    let state = |line: &String| line.split(' ').skip(5).take(2).collect::<Vec<_>>().join(" ");
    let found: Vec<_> = dump(&after).iter().map(state).collect();
    assert_eq!(found, ["2 4", "2 12", "0 5", "2 4", "2 4"]);
    after.expect_error("Server bk/a is UP/READY (leaving forced maintenance).");
    after.expect_error("Server bk/b is UP/DRAIN (leaving forced maintenance).");
    after.expect_error("Server bk/b remains in forced drain mode.");
}

#[test]
fn a_chain_of_tracking_servers_starts_in_any_order_of_lines() {
    let servers = "    server a 127.0.0.1:1 track bk/b\n    server b 127.0.0.1:1 track bk/c\n    \
                   server c 127.0.0.1:1 check inter 1h disabled\n    \
                   server d 127.0.0.1:1 track bk/a\n";
    let weir = setup("1\n", servers).start();
    for server in ["a", "b", "d"] {
        assert!(weir.stat("bk", server, "status").starts_with("MAINT (via bk/"), "{server}");
    }
    weir.cli("enable server bk/c");
    for server in ["a", "b", "d"] {
        assert!(weir.stat("bk", server, "status").starts_with("UP"), "{server}");
    }
}

#[test]
fn the_state_has_the_time_of_the_last_change() {
    let states = "1\n2 bk 1 plain 127.0.0.1 2 0 5 11 1000 1 0 2 0 0 0 0 - 1 - 0 0 - - 0\n";
    let weir = setup(states, SERVERS).start();
    let since: u32 = weir.stat("bk", "plain", "lastchg").parse().expect("a number");
    assert!((1000..1100).contains(&since), "{since}");
    assert_eq!(weir.stat("bk", "plain", "weight"), "5");
    // The weight was set when the configuration had another one.
    let states = states.replace(" 5 11 ", " 5 10 ");
    assert_eq!(setup(&states, SERVERS).start().stat("bk", "plain", "weight"), "11");
}

#[test]
fn a_name_keeps_its_address_where_init_addr_allows_it() {
    let line = |name: &str| {
        format!("2 bk 1 {name} 10.1.2.3 2 0 1 1 9 1 0 2 0 0 0 0 no.invalid 1 - 0 0 - - 0\n")
    };
    let states = format!("1\n{}{}{}{}", line("a"), line("b"), line("c"), line("d"));
    let servers = "
    server a no.invalid:1 init-addr last,127.0.0.9
    server b no.invalid:1 init-addr 127.0.0.9,last
    server c no.invalid:1 init-addr none
    server d no.invalid:1 init-addr last
";
    let weir = setup(&states, servers).start();
    let lines = dump(&weir);
    let address = |place: usize| lines[place].split(' ').nth(4).unwrap_or_default().to_owned();
    assert_eq!([0, 1, 2, 3].map(address), ["10.1.2.3", "127.0.0.9", "-", "10.1.2.3"]);
}

#[test]
fn a_section_may_have_a_file_of_its_own() {
    let line = "1\n2 bk 1 plain 127.0.0.1 2 8 11 11 9 1 0 2 0 0 0 0 - 1 - 0 0 - - 0\n";
    for (from, file, drains) in [
        ("local", "", true),
        ("local", "server-state-file-name use-backend-name", true),
        ("local", "server-state-file-name other", false),
        ("none", "", false),
        ("global", "", false),
    ] {
        let servers = format!("    load-server-state-from-file {from}\n    {file}\n{SERVERS}");
        let setup = setup("1\n", &servers).file("bk", line).file("other", "1\n");
        let weir = setup.start();
        let drain = dump(&weir)[0].split(' ').nth(6) == Some("8");
        assert_eq!(drain, drains, "{from} {file}");
    }
}

#[test]
fn malformed_state_files_are_reported_and_ignored() {
    let good = "2 bk 1 plain 127.0.0.1 2 0 5 11 9 1 0 2 0 0 0 0 - 1 - 0 0 - - 0";
    for (states, told) in [
        ("", "Can't get version of the global server state file '"),
        ("2\n", "Can't get version of the global server state file '"),
        ("1\n2 bk 1 plain\n", "corrupted global server state file '"),
        (
            &format!("1\n{}\n", good.replace(" 2 0 5 ", " 7 0 5 ")),
            "server-state application failed for server 'bk/plain', invalid srv_op_state value '7'",
        ),
        (
            &format!("1\n{}\n", good.replace("0 0 - - 0", "0 82 - - 0")),
            "server-state partially applied for server 'bk/plain', health checks are not enabled on \
             this server",
        ),
    ] {
        let weir = setup(states, SERVERS).start();
        weir.expect_error(told);
        eventually("service", || (dump(&weir).len() == 7).then_some(()));
    }
    let weir = setup("", SERVERS).with("dir", "/nonexistent").start();
    weir.expect_error("Can't open global server state file '/nonexistent/states': No such file");
}

/// Where HAProxy is installed, each program continues from the other's dump.
#[test]
fn dumps_are_understood_by_both() {
    let (weir, haproxy) = (program(), Path::new("/usr/sbin/haproxy"));
    if !haproxy.exists() {
        return;
    }
    let origin = origin();
    // HAProxy changes the counter of servers that it does not check.
    let checked = |running: &Running| -> Vec<String> {
        let known = |line: &String| !line.contains(" plain ") && !line.contains(" named ");
        dump(running).into_iter().filter(known).collect()
    };
    for writer in [&*weir, haproxy] {
        let before = changed(&origin, writer);
        let states = before.cli("show servers state") + "\n";
        for reader in [&*weir, haproxy] {
            let setup = setup(&states, SERVERS).with("port", origin.address().port());
            let after = setup.program(reader).start();
            assert_eq!(checked(&after), checked(&before), "{writer:?} to {reader:?}");
        }
    }
}

#[test]
fn missing_state_files_are_reported_by_a_check() {
    let directory = crate::support::Directory::new();
    let file = directory.write(
        "a.cfg",
        "defaults\n load-server-state-from-file global\nbackend b\n server s 127.0.0.1:1\n",
    );
    let output = run(&["-c", "-f", &file.display().to_string()]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains(
            "backend 'b' configured to load server state file from global section \
             'server-state-file' directive. Unfortunately, 'server-state-file' is not set!"
        ),
        "{said}"
    );
}
