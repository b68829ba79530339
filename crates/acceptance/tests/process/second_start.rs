//! A start or a reload that fails leaves the serving process unchanged.

use crate::support::master::Master;
use crate::support::{Setup, eventually, run};
use std::path::PathBuf;

const TEXT: &str = "global\n    nbthread 1\n    stats socket <dir>/cli level admin\n\
    defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    timeout server 20s\n\
    frontend web\n    bind <web>\n    bind unix@<dir>/web\n    \
    http-request return status 200 content-type text/plain string hello\n";

/// The names in a directory.
fn names(path: &PathBuf) -> Vec<String> {
    let entries = std::fs::read_dir(path).expect("a directory").flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_second_start_that_fails_leaves_the_sockets_and_the_pid_file() {
    let weir = Setup::new(TEXT).arguments(&["-db", "-p", "<dir>/pid"]).start();
    let pid_line = format!("\nPid: {}\n", weir.pid());
    assert!(weir.cli("show info").contains(&pid_line));
    let good = std::fs::read_to_string(weir.path("weir.cfg")).expect("its configuration");
    // The second process does not inherit the listener.
    let good: String =
        good.lines().filter(|line| !line.contains("fd@")).map(|line| format!("{line}\n")).collect();
    let before = names(&weir.path("").to_path_buf());
    let taken = weir.address("web");
    let pid_file = weir.path("pid").display().to_string();
    for (what, text) in [
        ("a port that cannot be had", good.clone() + "    bind 192.0.2.77:80\n"),
        ("a port in use", good.clone() + &format!("    bind {taken}\n")),
        ("no such root", good.replacen("global\n", "global\n    chroot /nonexistent\n", 1)),
        ("no such socket directory", good.clone() + "    bind unix@/nonexistent/x\n"),
    ] {
        for mode in ["-db", "-W", "-D"] {
            let file = weir.path("second");
            std::fs::write(&file, &text).expect("its directory");
            let file = file.display().to_string();
            let output = run(&[mode, "-p", &pid_file, "-f", &file]);
            std::fs::remove_file(&file).expect("its file");
            assert_eq!(output.status.code(), Some(1), "{what} {mode}");
            assert!(weir.cli("show info").contains(&pid_line), "{what} {mode}");
            let noted = std::fs::read_to_string(weir.path("pid")).expect("its pid file");
            assert_eq!(noted, format!("{}\n", weir.pid()), "{what} {mode}");
            assert_eq!(names(&weir.path("").to_path_buf()), before, "{what} {mode}");
        }
    }
}

#[test]
fn a_second_start_that_succeeds_replaces_the_sockets() {
    let weir = Setup::new(TEXT).start();
    weir.cli("show info");
    let directory = weir.path("").display().to_string();
    let second = Setup::new(&TEXT.replace("<dir>", &directory)).start();
    let pid_line = format!("\nPid: {}\n", second.pid());
    eventually("the second one answers", || {
        weir.cli("show info").contains(&pid_line).then_some(())
    });
    assert!(names(&weir.path("").to_path_buf()).iter().all(|name| !name.ends_with(".tmp")));
}

#[test]
fn a_second_master_that_fails_leaves_the_socket_of_the_first() {
    let master = Master::start(Setup::new(TEXT), &["-W"]);
    let shown = master.cli("show proc");
    let good = std::fs::read_to_string(master.path("weir.cfg")).expect("its configuration");
    let file = master.path("second");
    let bad = good.replacen("global\n", "global\n    chroot /nonexistent\n", 1);
    let bad: String =
        bad.lines().filter(|line| !line.contains("fd@")).map(|line| format!("{line}\n")).collect();
    std::fs::write(&file, bad).expect("its directory");
    let (file, socket) = (file.display().to_string(), master.path("master").display().to_string());
    let output = run(&["-W", "-S", &socket, "-f", &file]);
    assert_eq!(output.status.code(), Some(1));
    let pid =
        |text: &str| text.lines().nth(1).map(|line| line.split(' ').next().map(str::to_owned));
    assert_eq!(pid(&master.cli("show proc")), pid(&shown));
}

#[test]
fn an_empty_configuration_at_reload_is_refused() {
    let master = Master::start(Setup::new(TEXT), &["-W"]);
    let worker = master.worker();
    for text in
        ["", "global\n    nbthread 1\n", "# nothing\n", "listen l\n    disabled\n    bind :1\n"]
    {
        std::fs::write(master.path("weir.cfg"), text).expect("its directory");
        assert_eq!(master.cli("reload"), "Loading failure!", "{text}");
        let logs = master.cli("show startup-logs");
        assert!(logs.contains("No enabled listener found"), "{logs}");
        assert_eq!(master.worker(), worker, "{text}");
    }
    assert_eq!(master.running.web().get("/").text(), "hello");
}

#[test]
fn a_reload_that_fails_leaves_the_rights_of_the_sockets() {
    use std::os::unix::fs::MetadataExt as _;
    let master = Master::start(Setup::new(TEXT), &["-W"]);
    let good = std::fs::read_to_string(master.path("weir.cfg")).expect("its configuration");
    let mode = |name: &str| std::fs::metadata(master.path(name)).expect("a socket").mode() & 0o777;
    let before = (mode("cli"), mode("web"));
    let changed = good.replace("level admin", "level admin mode 600");
    let changed = changed.replace("/web\n", "/web mode 611\n");
    let write = |text: &str| std::fs::write(master.path("weir.cfg"), text).expect("its directory");
    write(&(changed.clone() + "    bind unix@/nonexistent/x\n"));
    assert_eq!(master.cli("reload"), "Loading failure!");
    assert_eq!((mode("cli"), mode("web")), before);
    write(&changed);
    assert_eq!(master.cli("reload"), "Loading success.");
    assert_eq!((mode("cli"), mode("web")), (0o600, 0o611));
    assert_eq!(master.running.web().get("/").text(), "hello");
}
