//! Limits, privileges and the end of a process as `global` sets them.

use crate::support::{LogReceiver, Origin, Running, Setup, eventually, pass, run};
use std::time::Duration;
use sys::signal;

fn start(global: &str) -> (Origin, Running) {
    let origin = Origin::saying("hello");
    let weir = Setup::http("", "    server s <origin>")
        .global(global)
        .with("origin", origin.address())
        .start();
    // Answers come when signals are prepared and privileges are given up.
    weir.cli("show info");
    (origin, weir)
}

/// A line of /proc/PID/`file` after its name.
fn system(weir: &Running, file: &str, name: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/{}/{file}", weir.pid())).expect("it runs");
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.expect("a line of that name").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn info(weir: &Running, name: &str) -> String {
    let info = weir.cli("show info");
    let line = info.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
    line.expect("a field of that name").to_owned()
}

#[test]
fn grace_delays_the_stop_with_a_warning() {
    let (_origin, mut weir) = start("grace 700ms");
    weir.signal(signal::USR1);
    eventually("the stop is announced", || (info(&weir, "Stopping") == "1").then_some(()));
    assert_eq!(weir.web().get("/").text(), "hello", "clients are served still");
    assert_eq!(weir.wait().code(), Some(0));
}

#[test]
fn idle_connections_stay_while_their_end_is_not_due() {
    let (_origin, mut weir) = start("close-spread-time infinite");
    let mut client = weir.web();
    client.expect_open("/");
    weir.signal(signal::USR1);
    weir.expect_error("Proxy app stopped");
    pass(Duration::from_millis(100));
    let answer = client.get("/");
    assert_eq!((answer.text().as_str(), answer.header("connection")), ("hello", None));
    assert!(weir.is_running());
    drop(client);
    assert_eq!(weir.wait().code(), Some(0));
}

#[test]
fn idle_connections_end_within_the_window() {
    let (_origin, mut weir) = start("close-spread-time 400ms");
    let mut clients: Vec<_> = (0..20).map(|_| weir.web()).collect();
    clients.iter_mut().for_each(|client| client.expect_open("/"));
    weir.signal(signal::USR1);
    clients.iter_mut().for_each(|client| client.expect_end());
    assert_eq!(weir.wait().code(), Some(0));
}

#[test]
fn descriptors_are_counted_on_up_to_a_bound() {
    let (_origin, weir) = start("fd-hard-limit 1000");
    let connections: u32 = info(&weir, "Maxconn").parse().expect("a number");
    assert!((400..500).contains(&connections), "{connections}");
}

#[test]
fn too_few_descriptors_prevent_a_start_with_strict_limits() {
    let directory = crate::support::Directory::new();
    let socket = directory.path("socket").display().to_string();
    let text = format!(
        "global\n ulimit-n 2000000000\nfrontend f\n mode http\n timeout client 1s\n \
         bind unix@{socket}\n http-request deny\n"
    );
    let file = directory.write("a.cfg", &text);
    let output = run(&["-db", "-f", &file.display().to_string()]);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(errors.contains("Cannot raise FD limit to 2000000000, limit is "), "{errors}");
    let (_origin, weir) = start("ulimit-n 2000000000\n    no strict-limits");
    weir.expect_error("Cannot raise FD limit to 2000000000, limit is ");
}

#[test]
fn programs_gain_no_privileges_unless_wanted() {
    let (_origin, weir) = start("");
    assert_eq!(system(&weir, "status", "NoNewPrivs:"), "1");
    let (_origin, weir) = start("insecure-setuid-wanted");
    let inherited = std::fs::read_to_string("/proc/self/status").expect("this process runs");
    if inherited.contains("NoNewPrivs:\t0") {
        assert_eq!(system(&weir, "status", "NoNewPrivs:"), "0");
    }
}

#[test]
fn a_dumpable_process_may_write_cores() {
    let (_origin, weir) = start("set-dumpable");
    let limits = system(&weir, "limits", "Max core file size");
    let (soft, hard) = limits.split_once(' ').expect("two limits");
    assert!(hard.starts_with(soft), "{limits}");
}

#[test]
fn long_request_lines_are_cut_in_logs() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let weir = Setup::http("", "    server s <origin>")
        .global("tune.http.logurilen 20")
        .between(&origin, &log);
    for (target, logged) in [
        ("/a", "\"GET /a HTTP/1.1\""),
        ("/abcde?q=1", "\"GET /abcde?q=1 HTTP/\""),
        ("/abcdefghijklmno?q=1", "\"GET /abcdefghijklmno\""),
    ] {
        weir.web().get(target);
        let line = log.line();
        assert!(line.ends_with(logged), "{line}");
    }
}

#[test]
fn identities_that_keep_rights_of_the_superuser_are_warned_of() {
    if std::fs::metadata("/proc/self")
        .is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) != 0)
    {
        // Others have no rights to keep.
        return;
    }
    for (global, warning) in [
        ("uid 65534", Some("'user' is set without 'group': the process stays in the group root.")),
        ("uid 65534\n gid 0", Some("stays in the group root")),
        ("uid 65534\n gid 65534", None),
        ("gid 65534", Some("runs as root, with neither 'user' nor 'chroot'")),
        ("uid 0", Some("runs as root, with neither 'user' nor 'chroot'")),
        ("gid 65534\n chroot /", Some("it can leave its 'chroot' without 'user'")),
        ("gid 65534\n quiet", None),
    ] {
        let (_origin, mut weir) = start(global);
        weir.signal(signal::TERM);
        weir.wait();
        let told = weir.errors();
        match warning {
            Some(warning) => assert!(told.contains(warning), "{global}: {told}"),
            None => assert!(!told.contains(" root"), "{global}: {told}"),
        }
    }
}
