//! A master and its worker where the system forbids things: signals, owners of files, executable memory.

use crate::support::master::{Master, children};
use crate::support::{Setup, eventually, program, run};
use std::path::Path;
use std::process::Command;
use sys::signal;

/// A worker with another user than its master.
const TEXT: &str = "global\n    nbthread 2\n    user nobody\n    group nogroup\n    \
    stats socket <dir>/cli level admin mode 600 user nobody group nogroup\n\
    defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    timeout server 20s\n\
    frontend web\n    bind <web>\n    http-request return status 200 content-type text/plain string hello\n";

/// Whether this process has the privileges that these tests remove from the program.
fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("this process runs");
    let root = status.lines().any(|line| line.starts_with("Uid:\t0\t"));
    root && Path::new("/usr/bin/setpriv").exists() && Path::new("/usr/bin/env").exists()
}

/// A program with the capabilities that the words for `setpriv --bounding-set` leave it.
fn start(text: &str, capabilities: &str) -> Master {
    let weir = program().display().to_string();
    let setup = Setup::new(text).program(Path::new("/usr/bin/setpriv"));
    Master::start(setup, &["--bounding-set", capabilities, "--", &weir, "-W"])
}

fn user(pid: u32) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:\t"));
    line.and_then(|line| line.split('\t').next()).expect("a user").to_owned()
}

#[test]
fn a_worker_that_cannot_be_signalled_is_replaced_by_a_reload() {
    if !is_root() {
        return;
    }
    let mut master = start(TEXT, "-kill");
    let old = master.worker();
    assert_ne!(user(old), "0");
    assert_eq!(master.cli("reload"), "Loading success.");
    let new = master.settled();
    assert_ne!(new, old);
    master.running.expect_error(&format!("Former worker ({old}) exited with code 0 (Exit)"));
    assert_eq!(master.running.web().get("/").text(), "hello");
    assert!(master.cli("@1 _signal 9").starts_with("Signal 9 raised.") || children(new).is_empty());
    master.running.expect_error(&format!("Current worker ({new}) exited with code 137 (Killed)"));
    master.running.wait();
}

#[test]
fn signals_to_the_master_end_a_worker_that_cannot_be_signalled() {
    if !is_root() {
        return;
    }
    for number in [signal::TERM, signal::INT, signal::USR1] {
        let mut master = start(TEXT, "-kill");
        let worker = master.worker();
        master.running.signal(number);
        master.running.wait();
        master.running.expect_error(&format!("Current worker ({worker}) exited"));
        assert!(!master.running.errors().contains("Cannot send signal"));
    }
}

#[test]
fn a_reload_that_cannot_end_the_worker_before_fails() {
    if !is_root() {
        return;
    }
    let master = start(TEXT, "-kill");
    let old = master.worker();
    // The old process neither hands over its listeners nor takes signals.
    signal::send(old as i32, signal::STOP).expect("it runs");
    let answer = master.cli("reload");
    signal::send(old as i32, signal::CONT).expect("it runs");
    assert_eq!(answer, "Loading failure!");
    let told = format!("to process {old}: Operation not permitted");
    assert!(master.cli("show startup-logs").contains(&told), "{}", master.running.errors());
    assert_eq!(master.settled(), old);
    eventually("the other worker is gone", || (children(master.pid()) == [old]).then_some(()));
    assert_eq!(master.running.web().get("/").text(), "hello");
}

#[test]
fn a_program_that_cannot_be_signalled_fails_the_reload() {
    if !is_root() {
        return;
    }
    let text = TEXT.to_owned() + "program p\n    command sleep 100\n    user nobody\n";
    let master = start(&text, "-kill");
    let before = children(master.pid());
    assert_eq!(before.len(), 2);
    eventually("the program has its user", || {
        before.iter().all(|pid| user(*pid) != "0").then_some(())
    });
    assert_eq!(master.cli("reload"), "Loading failure!");
    assert!(master.cli("show startup-logs").contains("Cannot end program 'p' ("));
    assert_eq!(children(master.pid()), before);
}

#[test]
fn a_forced_end_of_another_process_that_is_forbidden_is_an_alert() {
    if !is_root() {
        return;
    }
    let old = Setup::new(TEXT).start();
    eventually("it has its user", || (user(old.pid()) != "0").then_some(()));
    let weir = program().display().to_string();
    let setup = Setup::new(TEXT).program(Path::new("/usr/bin/setpriv"));
    let pid = old.pid().to_string();
    let new =
        setup.arguments(&["--bounding-set", "-kill", "--", &weir, "-db", "-st", &pid]).start();
    new.expect_error(&format!(
        "Cannot send signal 15 (Terminated) to process {pid}: Operation not permitted"
    ));
}

/// The capabilities of the unit are enough for a worker of its own user in a root of its own.
#[test]
fn the_units_capabilities_are_enough() {
    if !is_root() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let unit = std::fs::read_to_string(root.join("contrib/systemd/weir.service")).unwrap();
    let line = unit.lines().find_map(|line| line.strip_prefix("CapabilityBoundingSet="));
    let words: Vec<String> = line
        .expect("a bounding set")
        .split(' ')
        .map(|word| format!("+{}", word.trim_start_matches("CAP_").to_lowercase()))
        .collect();
    let text = TEXT.replace("global\n", "global\n    chroot /var/empty-of-weir\n");
    let setup = Setup::new(&text);
    let jail = setup.path("jail");
    std::fs::create_dir(&jail).expect("its directory");
    // A directory of the user's own, as `stats socket /var/lib/haproxy/stats` has it.
    let status = Command::new("chown").arg("nobody").arg(jail.parent().unwrap()).status();
    assert!(status.expect("chown runs").success());
    let text = text.replace("/var/empty-of-weir", &jail.display().to_string());
    let weir = program().display().to_string();
    let set = format!("-all,{}", words.join(","));
    let place = jail.parent().unwrap().display().to_string();
    let setup = Setup::new(&text.replace("<dir>", &place)).program(Path::new("/usr/bin/setpriv"));
    let mut master = Master::start(setup, &["--bounding-set", &set, "--", &weir, "-Ws"]);
    let old = master.worker();
    assert_eq!(master.cli("reload"), "Loading success.");
    assert_ne!(master.settled(), old);
    assert_eq!(master.running.web().get("/").text(), "hello");
    master.running.signal(signal::USR1);
    assert_eq!(master.running.wait().code(), Some(0));
}

#[test]
fn a_socket_whose_owner_cannot_be_set_is_named_with_its_line() {
    if !is_root() {
        return;
    }
    let directory = crate::support::Directory::new();
    let (place, weir) = (directory.as_path().display().to_string(), program());
    let text = format!(
        "global\n stats socket {place}/cli user nobody\nlisten l\n timeout client 1s\n \
         bind unix@{place}/web user nobody\n"
    );
    let file = directory.write("a.cfg", &text).display().to_string();
    let output = Command::new("/usr/bin/setpriv")
        .args(["--bounding-set", "-chown", "--"])
        .arg(weir)
        .args(["-db", "-f", &file])
        .output()
        .expect("setpriv runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let why = "cannot change UNIX socket ownership (Operation not permitted)";
    for expected in [
        format!("Binding [{file}:2] for frontend GLOBAL: {why} [{place}/cli]"),
        format!("Binding [{file}:5] for proxy l: {why} [unix@{place}/web]"),
    ] {
        assert!(said.contains(&expected), "{expected} in:\n{said}");
    }
    assert_eq!(std::fs::read_dir(&place).expect("a directory").count(), 1, "no socket is left");
}

#[test]
fn forbidden_executable_memory_is_warned_of_where_expressions_are_used() {
    // PR_SET_MDWE, since Linux 6.3.
    let script = "import ctypes,os,sys\nc=ctypes.CDLL(None)\nsys.exit(77) if c.prctl(65,1,0,0,0) \
                  else os.execv(sys.argv[1],sys.argv[1:])";
    let directory = crate::support::Directory::new();
    let said = |rule: &str| {
        // An end of the program's own: it cannot open this socket.
        let text = format!(
            "frontend l\n timeout client 1s\n mode http\n bind unix@/nowhere/x\n http-request deny{rule}\n"
        );
        let file = directory.write("a.cfg", &text).display().to_string();
        let mut command = Command::new("python3");
        command.args(["-c", script]).arg(program()).args(["-db", "-f", &file]);
        let output = command.output().ok().filter(|output| output.status.code() != Some(77))?;
        Some(String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let Some(with) = said(" if { path -m reg ^/a+ }") else { return };
    assert!(with.contains("[WARNING]") && with.contains("just-in-time compiler"), "{with}");
    assert!(!said("").expect("as before").contains("just-in-time"));
    let file = directory.path("a.cfg").display().to_string();
    let free = String::from_utf8_lossy(&run(&["-db", "-f", &file]).stderr).into_owned();
    assert!(!free.contains("just-in-time"), "{free}");
}
