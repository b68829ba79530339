//! The master's runtime socket.

use crate::support::master::Master;
use crate::support::{PATIENCE, Setup};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

const TEXT: &str = "global\n    nbthread 1\n    setenv PLACE here\n\
    defaults\n    mode http\n    timeout client 20s\nfrontend web\n    bind <web>\n    \
    http-request set-header x %[path,map_str(<dir>/a.map)]\n    http-request return status 200\n";

fn start() -> Master {
    Master::start(Setup::new(TEXT).file("a.map", "one two words\n"), &["-W"])
}

#[test]
fn processes_are_listed_as_haproxy_does() {
    let master = start();
    let (pid, worker) = (master.pid(), master.worker());
    let text = master.raw("show proc");
    let lines: Vec<&str> = text.lines().collect();
    let head = "#<PID>          <type>          <reloads>       <uptime>        <version>      ";
    assert_eq!(lines[0], head);
    assert!(lines[1].starts_with(&format!("{pid:<15} master          0 [failed: 0]   0d00h00m")));
    assert_eq!(lines[2], "# workers");
    assert!(lines[3].starts_with(&format!("{worker:<15} worker          0               0d00h")));
    assert_eq!(lines[4..], ["# programs", ""]);
}

#[test]
fn commands_go_to_the_process_that_is_named() {
    let master = start();
    let (pid, worker) = (master.pid(), master.worker());
    let pid_of = |line: &str| {
        let text = master.cli(line);
        let line = text.lines().find_map(|line| line.strip_prefix("Pid: "));
        line.unwrap_or_else(|| panic!("{text}")).parse::<u32>().expect("a number")
    };
    for (command, prefix) in [("@<relative pid>", "@1"), ("@!<pid>", &format!("@!{worker}"))] {
        assert_eq!(pid_of(&format!("{prefix} show info")), worker, "{command}");
    }
    assert_eq!(pid_of("@1; show info"), worker);
    assert_eq!(pid_of("  @1   show   info"), worker);
    for prefix in ["@", "@0", "@master", &format!("@!{pid}")] {
        assert!(master.raw(&format!("{prefix} show proc")).starts_with("#<PID>"), "{prefix}");
    }
    for prefix in ["@2", "@!1", "@abc", "@!abc", "@00"] {
        let told = format!("Can't find the target PID matching the prefix '{prefix}'\n");
        assert_eq!(master.raw(&format!("{prefix} show version;show version")), told);
    }
    let version = master.cli("show version");
    let twice = master.raw("@1 show version;show version");
    assert_eq!(twice, format!("{version}\n\n{version}\n\n"));
    assert_eq!(master.raw("@1;@"), "");
}

#[test]
fn a_payload_has_a_limit() {
    let master = start();
    let map = master.path("a.map").display().to_string();
    let rows = |count: usize| "k0123456789 v\n".repeat(count);
    let long = master.raw(&format!("@1 add map {map} <<\n{}", rows(80_000)));
    assert_eq!(long, "The payload is too long.\n\n");
    let fits = master.raw(&format!("@1 add map {map} <<\n{}", rows(10_000)));
    assert_eq!(fits, "\n", "140 kB");
    assert!(master.raw(&format!("@1 get map {map} k0123456789")).contains("value=\"v\""));
}

#[test]
fn words_and_payloads_reach_the_worker_unchanged() {
    let master = start();
    let map = master.path("a.map").display().to_string();
    assert_eq!(
        master
            .raw(&format!("@1 add map {map} two a\\ \\;\\ b;@1 get map {map} one\\ two"))
            .lines()
            .next(),
        Some("")
    );
    let shown = master.cli(&format!("@1 show map {map}"));
    assert!(shown.contains(" two a ; b"), "{shown}");
    master.cli(&format!("@1 add map {map} <<\nthree 3 <<x\nfour 4\n"));
    let shown = master.cli(&format!("@1 show map {map}"));
    assert!(shown.contains(" three 3 <<x") && shown.contains(" four 4"), "{shown}");
}

#[test]
fn rights_can_only_be_lowered() {
    let master = start();
    assert_eq!(master.cli("show cli level"), "admin");
    assert_eq!(master.raw("operator;show cli level;@1 show cli level"), "operator\n\noperator\n\n");
    assert_eq!(master.raw("user;operator;reload"), "Permission denied\n\nPermission denied\n\n");
    assert_eq!(master.cli("user;@1 show env PLACE"), "Permission denied");
    assert!(!master.cli("user;expert-mode on;@1 debug dev hash x").ends_with("\nx"));
    let lowly = ["-W", "-S", "<dir>/user,level,user,mode,600"];
    let master = Master::start(Setup::new(TEXT).file("a.map", ""), &lowly);
    let sockets = master.cli("show cli sockets");
    let own = |name: &str, level: &str| format!("unix@{} {level} all", master.path(name).display());
    assert_eq!(
        sockets,
        format!("# socket lvl processes\n{}\n{}", own("user", "user"), own("master", "admin"))
    );
}

#[test]
fn a_masters_socket_has_a_limit_of_its_own() {
    let narrow = ["-W", "-S", "<dir>/one,maxconn,1,nice,5,expose-fd,listeners"];
    let master = Master::start(Setup::new(TEXT).file("a.map", ""), &narrow);
    for word in ["nice", "expose-fd"] {
        master.running.expect_error(&format!("listeners: '{word}' has no effect here"));
    }
    let connect = || {
        let stream = UnixStream::connect(master.path("one")).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a stream");
        stream
    };
    for round in ["before", "after"] {
        let (mut first, mut second) = (connect(), connect());
        first.write_all(b"prompt\n").expect("it is read");
        first.read_exact(&mut [0; "master> ".len()]).expect("a prompt");
        second.write_all(b"show cli level\n").expect("it is read later");
        second.set_read_timeout(Some(Duration::from_millis(150))).expect("a stream");
        let waits = second.read(&mut [0]).map_err(|error| error.kind());
        assert_eq!(waits, Err(ErrorKind::WouldBlock), "{round} a reload");
        assert_eq!(master.cli("show cli level"), "admin", "the other socket has room");
        drop(first);
        second.set_read_timeout(Some(PATIENCE)).expect("a stream");
        let mut answer = String::new();
        second.read_to_string(&mut answer).expect("room");
        assert_eq!(answer, "admin\n\n", "{round} a reload");
        master.cli("reload");
        master.settled();
    }
}

#[test]
fn modes_hold_for_workers_and_show_in_the_prompt() {
    let master = start();
    let worker = master.worker();
    assert_eq!(master.cli("expert-mode on;@1 debug dev hash x"), "x");
    let refused = "This command is restricted to expert mode only.";
    assert!(master.cli("@1 debug dev hash x").starts_with(refused));
    let text = master.raw(
        "prompt\n@1\nshow cli level\n@\nexpert-mode on\nexperimental-mode on\nmcli-debug-mode on\n@1\nexpert-mode off\nquit",
    );
    let expected = format!(
        "master> {worker}> admin\n\n{worker}> master> master(e)> master(xe)> master(xed)> \
         {worker}(xed)> {worker}(xd)> "
    );
    assert_eq!(text, expected);
    assert!(master.cli("show env").starts_with("Unknown command"));
    let shown = master.cli("mcli-debug-mode on;show env HAPROXY_MWORKER");
    assert_eq!(shown, "HAPROXY_MWORKER=1");
    assert!(master.cli("mcli-debug-mode on;show fd").contains("eventpoll"));
}

#[test]
fn help_lists_the_commands_of_the_master() {
    let master = start();
    let text = master.cli("help");
    for expected in [
        "  @!<pid>                                 : send a command to the <pid> process",
        "  reload                                  : reload haproxy",
        "  show proc                               : show processes status",
        "  quit                                    : disconnect",
    ] {
        assert!(text.lines().any(|line| line == expected), "{expected} in\n{text}");
    }
    assert!(text.contains("\n  @<relative pid> "), "{text}");
    assert!(master.cli("help show").lines().all(|line| !line.contains("reload")));
    let unknown = master.cli("show");
    assert!(unknown.starts_with("Unknown command, but maybe"), "{unknown}");
    assert!(master.cli("").starts_with("Unknown command. Please enter one"));
}

#[test]
fn a_master_is_named_in_conditions() {
    let text = TEXT.replacen(
        "global\n",
        ".if defined(HAPROXY_MWORKER)\n.notice \"a master is there\"\n.endif\nglobal\n",
        1,
    );
    let setup = || Setup::new(&text).file("a.map", "");
    let master = Master::start(setup(), &["-W"]);
    master.running.expect_error("a master is there");
    let weir = setup().start();
    weir.web().get("/");
    assert!(!weir.errors().contains("a master is there"), "{}", weir.errors());
}

/// The most memory that a process has had, in KiB.
fn most_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a size");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn a_line_of_many_commands_neither_piles_answers_up_nor_keeps_others_waiting() {
    let master = start();
    master.cli("show proc");
    let before = most_memory(master.pid());
    let mut many = UnixStream::connect(master.path("master")).expect("the master's socket");
    // Its answers, more than 30 MB, are not read so far.
    many.write_all((";".repeat(30_000) + "\n").as_bytes()).expect("the socket takes commands");
    assert!(master.raw("show proc").contains("# workers"));
    many.shutdown(std::net::Shutdown::Write).expect("it is open");
    let answered = std::io::copy(&mut many, &mut std::io::sink()).expect("answers");
    assert!(answered > 30_000_000, "{answered}");
    let used = most_memory(master.pid()) - before;
    assert!(used < 10_000, "{used} KiB");
}
