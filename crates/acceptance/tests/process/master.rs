//! A master and what it watches over: reloads, signals, ends of processes.

use crate::support::master::{Master, children, descriptors};
use crate::support::{Origin, PATIENCE, Setup, eventually, reply};
use std::collections::HashSet;
use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use sys::signal;

/// A configuration that answers by itself at a path and behind a port.
const TEXT: &str = "global\n    nbthread 2\n    stats socket <dir>/cli level admin\n\
    defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    timeout server 20s\n\
    frontend web\n    bind <web>\n    bind unix@<dir>/web\n    \
    http-request return status 200 content-type text/plain string hello\n";

fn start(text: &str) -> Master {
    Master::start(Setup::new(text), &["-W"])
}

/// One request on a connection of its own.
fn get(path: &PathBuf) -> std::io::Result<bool> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    ask(&mut stream)
}

fn ask(stream: &mut UnixStream) -> std::io::Result<bool> {
    stream.write_all(b"GET / HTTP/1.1\r\nHost: test\r\n\r\n")?;
    let mut bytes = [0; 4096];
    let mut text = String::new();
    while !text.ends_with("hello") {
        match stream.read(&mut bytes)? {
            0 => return Ok(false),
            count => text.push_str(&String::from_utf8_lossy(&bytes[..count])),
        }
    }
    Ok(text.starts_with("HTTP/1.1 200"))
}

/// Stops the clients when the test ends or fails.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[test]
fn ten_reloads_lose_no_request_and_leak_nothing() {
    let master = start(TEXT);
    let path = master.path("web");
    let (stop, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    let first = master.settled();
    std::thread::scope(|scope| {
        let client = || {
            while !stop.load(Relaxed) {
                assert!(get(&path).expect("no connection is refused or reset"), "a whole answer");
                done.fetch_add(1, Relaxed);
            }
        };
        let clients = [(); 3].map(|()| scope.spawn(client));
        let stopped = Stops(&stop);
        let mut before = None;
        for round in 0..10 {
            let seen = done.load(Relaxed);
            assert_eq!(master.cli("reload"), "Loading success.");
            eventually("more requests", || (done.load(Relaxed) > seen + 5).then_some(()));
            let worker = master.settled();
            let now = || (descriptors(master.pid()), descriptors(worker));
            match before {
                // Clients and commands come and go while they are counted.
                Some((own, of_worker)) => eventually("as few descriptors as before", || {
                    let now = now();
                    (now.0 <= own && now.1 <= of_worker + 12).then_some(())
                }),
                None if round == 1 => before = Some(now()),
                None => {}
            }
        }
        drop(stopped);
        clients.into_iter().for_each(|client| client.join().expect("no request failed"));
    });
    assert_ne!(master.settled(), first);
    assert_eq!(children(master.pid()).len(), 1);
    assert!(master.cli("show proc").contains(" 10 [failed: 0] "), "{}", master.cli("show proc"));
}

#[test]
fn connections_that_run_outlive_a_reload() {
    let (tell, told) = channel::<()>();
    let told = Arc::new(Mutex::new(told));
    let origin = Origin::new(move |mut peer| {
        while peer.request().is_some() {
            let _ = told.lock().expect("nothing panics with it").recv();
            peer.send(reply("200 OK", "late"));
        }
    });
    let text = TEXT.replace("http-request return", "default_backend b\n#")
        + "backend b\n    server s <origin>\n";
    let master = Master::start(Setup::new(&text).with("origin", origin.address()), &["-W"]);
    let old = master.worker();
    let mut client = master.running.web();
    client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    origin.request(0);
    assert_eq!(master.cli("reload"), "Loading success.");
    let shown = master.cli("show proc");
    assert!(shown.contains("# old workers\n"), "{shown}");
    eventually("the old worker to stop", || {
        let info = master.cli(&format!("@!{old} show info"));
        assert!(info.contains(&format!("\nPid: {old}\n")), "{info}");
        info.contains("\nStopping: 1\n").then_some(())
    });
    tell.send(()).expect("the origin waits");
    assert_eq!(client.response().text(), "late");
    master.running.expect_error(&format!("Former worker ({old}) exited with code 0 (Exit)"));
}

#[test]
fn mworker_max_reloads_ends_old_workers() {
    let text = TEXT.replace("    nbthread 2\n", "    nbthread 2\n    mworker-max-reloads 1\n");
    let master = start(&text);
    let old = master.worker();
    let mut client = master.running.web();
    client.send("GET / HT");
    // The worker has accepted the connection once its counter shows it.
    eventually("the client is in", || {
        master.cli("@1 show info").contains("\nCurrConns: 1\n").then_some(())
    });
    master.cli("reload");
    assert!(master.cli("show proc").contains("# old workers\n"));
    master.cli("reload");
    master
        .running
        .expect_error(&format!("Former worker ({old}) exited with code 143 (Terminated)"));
    client.expect_end();
}

#[test]
fn a_broken_configuration_leaves_the_worker() {
    let master = start(TEXT);
    let worker = master.worker();
    let good = std::fs::read_to_string(master.path("weir.cfg")).expect("its configuration");
    let write = |text: &str| std::fs::write(master.path("weir.cfg"), text).expect("its directory");
    write(&format!("{good}    bogus\n"));
    assert_eq!(master.cli("reload"), "Loading failure!");
    let shown = master.cli("show proc");
    assert!(shown.contains(" 1 [failed: 1] ") && shown.contains(&worker.to_string()), "{shown}");
    assert!(master.cli("show startup-logs").contains("unknown keyword 'bogus'"));
    assert_eq!(master.cli("prompt"), "master[ReloadFailed]>");
    assert_eq!(master.running.web().get("/").text(), "hello");
    // A file that cannot be opened is as bad as one that cannot be read.
    write(&good.replace("unix@", "unix@/nowhere/"));
    assert_eq!(master.cli("reload"), "Loading failure!");
    assert!(master.cli("show proc").contains(" 2 [failed: 2] "));
    let logs = master.cli("show startup-logs");
    assert!(logs.contains("] for frontend web: cannot bind UNIX socket (No such file"), "{logs}");
    assert_eq!(master.worker(), worker);
    write(&good);
    master.running.signal(signal::HUP);
    eventually("another worker", || (master.settled() != worker).then_some(()));
    assert!(master.cli("show proc").contains(" 3 [failed: 0] "));
    assert_eq!(master.running.web().get("/").text(), "hello");
}

#[test]
fn a_killed_worker_takes_the_master_along() {
    let mut master = start(TEXT);
    let worker = master.worker();
    signal::send(worker as i32, signal::KILL).expect("it runs");
    assert_eq!(master.running.wait().code(), Some(137));
    master
        .running
        .expect_error(&format!("Current worker ({worker}) exited with code 137 (Killed)"));
    master.running.expect_error("exit-on-failure: killing every processes with SIGTERM");
    master.running.expect_error("All workers exited. Exiting... (137)");
}

#[test]
fn a_worker_does_not_outlive_its_master() {
    let mut master = start(TEXT);
    assert_eq!(master.running.web().get("/").text(), "hello");
    master.running.signal(signal::KILL);
    master.running.wait();
    let address = master.running.address("web");
    eventually("nobody listens", || std::net::TcpStream::connect(address).err());
}

#[test]
fn no_exit_on_failure_keeps_the_master() {
    let text = TEXT.replacen("global\n", "global\n    master-worker no-exit-on-failure\n", 1);
    // The configuration alone starts a master, without `-W`.
    let mut master = Master::start(Setup::new(&text), &[]);
    let worker = master.worker();
    signal::send(worker as i32, signal::KILL).expect("it runs");
    master.running.expect_error("exited with code 137 (Killed)");
    assert!(master.running.is_running());
    assert!(master.cli("@1 show info").starts_with("Can't find the target PID"));
    assert_eq!(master.cli("reload"), "Loading success.");
    assert_eq!(master.running.web().get("/").text(), "hello");
    master.running.signal(signal::TERM);
    assert_eq!(master.running.wait().code(), Some(0));
}

#[test]
fn signals_reach_all_processes() {
    for (number, status) in [(signal::TERM, 0), (signal::INT, 130), (signal::USR1, 0)] {
        let mut master = start(TEXT);
        let worker = master.worker();
        master.running.signal(number);
        assert_eq!(master.running.wait().code(), Some(status), "signal {number}");
        master.running.expect_error("Exiting Master process...");
        master.running.expect_error(&format!("Current worker ({worker}) exited"));
        assert!(children(worker).is_empty());
    }
}

#[test]
fn listening_sockets_are_inherited() {
    let port = 8_080;
    let [_, b, c, d] = std::process::id().to_be_bytes();
    // An address of this process's own.
    let address = format!("127.{b}.{c}.{d}:{port}");
    let text = TEXT.replace("    bind unix@<dir>/web\n", &format!("    bind {address} shards 2\n"));
    let text = text.replace(
        "    nbthread 2\n",
        "    nbthread 2\n    stats socket abns@weir-<dir> level user\n",
    );
    let master = start(&text);
    let sockets = |pid: u32| -> Vec<PathBuf> {
        let links = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("it runs").flatten();
        let links = links.filter_map(|link| std::fs::read_link(link.path()).ok());
        links.filter(|link| link.to_string_lossy().starts_with("socket:")).collect()
    };
    let listening = |pid: u32| -> Vec<PathBuf> {
        let table = std::fs::read_to_string("/proc/net/tcp").expect("linux");
        let unix = std::fs::read_to_string("/proc/net/unix").expect("linux");
        let port = format!(":{port:04X} 00000000:0000 0A");
        let is = |link: &PathBuf| {
            let text = link.to_string_lossy();
            let inode = text.trim_start_matches("socket:[").trim_end_matches(']');
            table.lines().any(|line| line.contains(&port) && line.contains(&format!(" {inode} ")))
                || unix
                    .lines()
                    .any(|line| line.contains(&format!(" {inode} ")) && line.contains(" 00010000 "))
        };
        let mut all: Vec<PathBuf> = sockets(pid).into_iter().filter(is).collect();
        all.sort();
        all
    };
    let before = listening(master.worker());
    assert_eq!(before.len(), 4, "two shards, two runtime sockets: {before:?}");
    assert_eq!(master.cli("reload"), "Loading success.");
    assert_eq!(listening(master.settled()), before);
}

#[test]
fn the_service_manager_is_notified_of_all_changes() {
    let setup = Setup::new(TEXT);
    let manager = UnixDatagram::bind(setup.path("manager")).expect("its directory");
    manager.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let words = || {
        let mut bytes = [0; 256];
        let len = manager.recv(&mut bytes).expect("a message");
        String::from_utf8_lossy(&bytes[..len]).into_owned()
    };
    let setup = setup.program("/usr/bin/env".as_ref());
    let weir = crate::support::program().display().to_string();
    let master = Master::start(setup, &["NOTIFY_SOCKET=<dir>/manager", &weir, "-Ws"]);
    let pid = master.pid();
    assert_eq!(words(), format!("READY=1\nMAINPID={pid}\nSTATUS=Serving"));
    master.running.signal(signal::USR2);
    let said = words();
    assert!(said.starts_with("RELOADING=1\nMONOTONIC_USEC=") && said.contains("STATUS="), "{said}");
    assert_eq!(words(), format!("READY=1\nMAINPID={pid}\nSTATUS=Serving"));
    std::fs::write(master.path("weir.cfg"), "bogus\n").expect("its directory");
    master.running.signal(signal::USR2);
    assert!(words().starts_with("RELOADING=1\n"));
    assert!(words().contains("STATUS=Reload failed"));
    master.running.signal(signal::TERM);
    assert_eq!(words(), "STOPPING=1\nSTATUS=Stopping");
}

#[test]
fn programs_are_replaced_by_reloads_unless_they_are_to_stay() {
    let text = TEXT.to_owned()
        + "program foo\n    command sh -c \"env > <dir>/env.tmp; mv <dir>/env.tmp <dir>/env; exec sleep 100\"\n\
           program bar\n    command sleep 100\n    no option start-on-reload\n";
    let text = text.replacen("global\n", "global\n    setenv OWN value\n", 1);
    let mut master = start(&text);
    let env = eventually("the environment", || std::fs::read_to_string(master.path("env")).ok());
    for expected in ["OWN=value", "HAPROXY_MWORKER=1", "HAPROXY_CFGFILES=", "HAPROXY_LOCALPEER="] {
        assert!(env.lines().any(|line| line.starts_with(expected)), "{expected} in:\n{env}");
    }
    let cli = env.lines().find_map(|line| line.strip_prefix("HAPROXY_CLI=")).expect("it is set");
    let own = format!("unix@{};sockpair@", master.path("cli").display());
    assert!(cli.starts_with(&own), "{cli}");
    let socket = format!("HAPROXY_MASTER_CLI=unix@{}", master.path("master").display());
    assert!(env.lines().any(|line| line == socket), "{env}");
    let pid = |name: &str| -> Vec<u32> {
        let shown = master.cli("show proc");
        let rows = shown.lines().filter(|line| line.split_whitespace().nth(1) == Some(name));
        rows.filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect()
    };
    let (foo, bar) = (pid("foo"), pid("bar"));
    assert_eq!(master.cli("reload"), "Loading success.");
    eventually("the old one ends", || (pid("foo").len() == 1).then_some(()));
    assert_ne!(pid("foo"), foo);
    assert_eq!(pid("bar"), bar);
    master.running.expect_error(&format!("Former program 'foo' ({}) exited", foo[0]));
    let bad = std::fs::read_to_string(master.path("weir.cfg")).expect("its configuration");
    let bad = bad.replace("command sleep", "command no-such-program-at-all");
    std::fs::write(master.path("weir.cfg"), bad + "program new\n    command nowhere-to-be-found\n")
        .expect("its directory");
    assert_eq!(master.cli("reload"), "Loading failure!");
    assert!(master.cli("show startup-logs").contains("Cannot start program 'new'"));
    master.running.signal(signal::TERM);
    assert_eq!(master.running.wait().code(), Some(0));
    master
        .running
        .expect_error(&format!("Current program 'bar' ({}) exited with code 143", bar[0]));
}

#[test]
fn a_master_goes_to_the_background() {
    let mut master = Master::start(Setup::new(TEXT), &["-W", "-D", "-p", "<dir>/pid"]);
    assert!(master.running.wait().success());
    let pid = std::fs::read_to_string(master.path("pid")).expect("a pid file");
    let pid: u32 = pid.trim().parse().expect("a number");
    let shown = master.cli("show proc");
    assert!(shown.contains(&format!("\n{pid} ")), "{shown}");
    assert_eq!(children(pid), [master.settled()]);
    assert_eq!(master.cli("reload"), "Loading success.");
    assert_eq!(master.running.web().get("/").text(), "hello");
    signal::send(pid as i32, signal::TERM).expect("it runs");
    eventually("its end", || signal::send(pid as i32, 0).is_err().then_some(()));
}

/// The service manager watches over the process that it has started.
#[test]
fn a_master_of_a_service_manager_stays_in_the_foreground_unless_the_command_line_says_otherwise() {
    let text = TEXT.replacen("global\n", "global\n    daemon\n", 1);
    let mut master = Master::start(Setup::new(&text), &["-Ws"]);
    assert_eq!(master.cli("reload"), "Loading success.");
    master.settled();
    assert!(master.running.is_running());
    for arguments in [["-Ws", "-D"], ["-D", "-Ws"], ["-W", "-q"]] {
        let mut master = Master::start(Setup::new(&text), &arguments);
        assert!(master.running.wait().success(), "{arguments:?}");
        // The process in the background goes with the test.
        let shown = master.cli("show proc");
        let pid = shown.lines().nth(1).and_then(|line| line.split(' ').next()?.parse().ok());
        signal::send(pid.expect("a master"), signal::TERM).expect("it runs");
    }
}

/// The sockets that a process has open, by inode.
fn sockets(pid: u32) -> HashSet<String> {
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("it runs");
    let links = descriptors.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let names = links.filter_map(|link| link.to_str().map(str::to_owned));
    names.filter(|name| name.starts_with("socket:")).collect()
}

#[test]
fn a_process_takes_over_the_listening_sockets_of_another() {
    let text = TEXT
        .replace("level admin\n", "level admin expose-fd listeners\n")
        .replace("    bind <web>\n", "");
    let mut old = Setup::new(&text).start();
    old.cli("show info");
    let before = sockets(old.pid());
    let (path, stop) = (old.path("web"), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let client = scope.spawn(|| {
            while !stop.load(Relaxed) {
                assert!(get(&path).expect("no connection is refused or reset"));
            }
        });
        let stopped = Stops(&stop);
        let (socket, pid) = (old.path("cli").display().to_string(), old.pid().to_string());
        // Sockets are taken over by address, so the path has to be the same to the byte.
        let directory = old.path("").display().to_string();
        let text = text.replace("<dir>", directory.trim_end_matches('/'));
        let new = Setup::new(&text).arguments(&["-db", "-x", &socket, "-sf", &pid]).start();
        assert_eq!(old.wait().code(), Some(0));
        // The first process's file is the second one's socket now.
        let info = old.cli("show info");
        assert!(info.contains(&format!("\nPid: {}\n", new.pid())), "{info}");
        let after = sockets(new.pid());
        assert!(!after.is_disjoint(&before), "-x: {before:?} {after:?}");
        drop(stopped);
        client.join().expect("no request failed");
    });
}

#[test]
fn sockets_are_not_handed_to_anybody() {
    let old = Setup::new(TEXT).start();
    assert!(old.cli("_getsocks").contains("expose-fd listeners"), "{}", old.cli("_getsocks"));
    let socket = old.path("cli").display().to_string();
    let file = old.path("weir.cfg").display().to_string();
    let output = crate::support::run(&["-db", "-x", &socket, "-f", &file]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("Failed to get the sockets from the old process!"), "{said}");
}

#[test]
fn connections_go_through_a_pair() {
    let (one, other) = UnixStream::pair().expect("a pair");
    let text = "global\n    nbthread 2\ndefaults\n    mode http\n    timeout connect 5s\n    \
        timeout client 20s\n    timeout server 20s\nlisten web\n    bind <web>\n    \
        http-reuse never\n    option httpclose\n    \
        server s sockpair@<one>\nfrontend inner\n    bind sockpair@<other>\n    \
        http-request return status 200 content-type text/plain string hello\n";
    let weir = Setup::new(text).inherit("one", one.into()).inherit("other", other.into()).start();
    for _ in 0..20 {
        assert_eq!(weir.web().get("/").text(), "hello");
    }
}
