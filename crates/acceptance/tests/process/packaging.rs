//! The contents of packages: pages, completions, the unit, readiness.

use crate::support::{Setup, program, run};
use std::io::Write as _;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Stdio};

fn generated(kind: &str) -> String {
    let output = run(&["--generate", kind]);
    assert!(output.status.success(), "{kind}");
    String::from_utf8(output.stdout).expect("a text")
}

/// The messages of a checker about a text; `None` if the checker is not installed.
fn checked(checker: &[&str], text: &str) -> Option<String> {
    let mut child = Command::new(checker[0])
        .args(&checker[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(text.as_bytes()).expect("a reader");
    drop(input);
    let output = child.wait_with_output().expect("an end");
    Some(String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn pages_are_sound_roff() {
    for kind in ["weir.8", "weir.cfg.5"] {
        let page = generated(kind);
        assert!(page.starts_with(".TH \"WEIR"), "{page}");
        let said = checked(&["groff", "-man", "-ww", "-z", "-Tutf8", "-Kutf8"], &page);
        assert_eq!(said.unwrap_or_default(), "", "{kind}");
    }
}

#[test]
fn completions_are_sound_shell() {
    assert_eq!(checked(&["bash", "-n"], &generated("bash")).unwrap_or_default(), "");
    assert!(generated("fish").contains("complete -c weir -o f -l config -r -F"));
    assert!(generated("zsh").starts_with("#compdef weir\n_arguments \\\n"));
    assert_eq!(checked(&["zsh", "-n"], &generated("zsh")).unwrap_or_default(), "");
    let refused = run(&["--generate", "tcsh"]);
    assert_eq!(refused.status.code(), Some(1));
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        words.starts_with("--generate: {weir.8|weir.cfg.5|manual|bash|zsh|fish} is expected"),
        "{words}"
    );
}

/// The unit starts the program in words that it knows.
#[test]
fn the_unit_starts_the_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let unit = std::fs::read_to_string(root.join("contrib/systemd/weir.service")).unwrap();
    for line in unit.lines().filter_map(|line| line.strip_prefix("ExecStart")) {
        let words: Vec<&str> = line.split_whitespace().skip(1).collect();
        let flags = words.iter().filter(|word| word.starts_with('-'));
        let known = String::from_utf8(run(&["-h"]).stdout).unwrap();
        for flag in flags {
            let named = known.lines().any(|line| {
                let rest = line.trim_start().strip_prefix(flag);
                rest.is_some_and(|rest| rest.starts_with([' ', ',']))
            });
            assert!(named, "{flag}");
        }
    }
}

#[test]
fn the_service_manager_is_notified() {
    let setup = Setup::http("    http-request return status 200", "    server s 127.0.0.1:1");
    let path = setup.path("manager");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(crate::support::PATIENCE)).unwrap();
    let words = || {
        let mut bytes = [0; 256];
        let len = manager.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..len]).into_owned()
    };
    let weir = program().display().to_string();
    let arguments = ["NOTIFY_SOCKET=<dir>/manager", &weir, "-db"];
    let weir = setup.program(Path::new("/usr/bin/env")).arguments(&arguments).start();
    assert_eq!(words(), format!("READY=1\nMAINPID={}\nSTATUS=Serving", weir.pid()));
    weir.signal(10);
    assert_eq!(words(), "STOPPING=1\nSTATUS=Stopping");
}
