//! `cargo xtask testssl`: what testssl.sh finds at a default `ssl` bind of HAProxy and of Weir.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::bench::files::{Files, Key};
use crate::bench::process::{self, Process};
use crate::failure::{self, Outcome};
use crate::{args, tools, workspace};

pub(crate) const HELP: &str = "\
usage: cargo xtask testssl [--weir BINARY] [--haproxy BINARY]

Starts HAProxy and weir with the same configuration (a bind with `ssl crt` and nothing else), has
testssl.sh look at both, and prints what it finds at only one of them. Takes minutes.

  --weir     the program to look at (default: weir, built in debug mode)
  --haproxy  what to compare it with (default: haproxy of the search path)

Exit status 1 if weir has a finding that HAProxy has not. Needs, from Debian: haproxy openssl
testssl.sh. Without haproxy or testssl.sh it says so and does nothing.
";

const FLAGS: &[args::Flag] = &[args::value("--weir"), args::value("--haproxy")];

/// Where HAProxy listens; Weir takes the next port.
const FIRST_PORT: u16 = 19191;

/// Severities of findings that are no problem.
const FINE: [&str; 2] = ["OK", "INFO"];

/// A finding of testssl.sh: the test, its severity, and the text.
type ScanFinding = (String, String, String);

pub(crate) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, FLAGS)?;
    tools::require(&[tools::OPENSSL])?;
    if let Some(missing) =
        [tools::HAPROXY, tools::TESTSSL].iter().find(|tool| tools::find(tool.program).is_none())
    {
        println!("skipped: there is no {}", missing.program);
        return Ok(());
    }
    let weir = match parsed.value("--weir") {
        Some(name) => tools::resolve(name)?,
        None => workspace::debug_binary(&workspace::root()?)?,
    };
    let haproxy = tools::resolve(parsed.value("--haproxy").unwrap_or(tools::HAPROXY.program))?;
    let files = Files::new("testssl")?;
    files.write_certificate("rsa.pem", Key::Rsa2048)?;
    let theirs = findings(&files, "haproxy", &haproxy, FIRST_PORT)?;
    let ours = findings(&files, "weir", &weir, FIRST_PORT + 1)?;
    println!("{} findings at haproxy, {} at weir", theirs.len(), ours.len());
    show("haproxy", theirs.difference(&ours));
    show("weir", ours.difference(&theirs));
    match ours.difference(&theirs).count() {
        0 => Ok(()),
        more => Err(failure::check(format!("{more} findings at weir that haproxy has not"))),
    }
}

fn show<'a>(name: &str, findings: impl Iterator<Item = &'a ScanFinding>) {
    for (what, severity, text) in findings {
        println!("  only at {name:8} {severity:8} {what}: {text}");
    }
}

/// A machine that is busy for a moment makes testssl.sh give up, or leave a question open.
const ATTEMPTS: u32 = 3;
const OPEN: [&str; 2] = ["Scan interrupted", "connect problem"];

fn findings(files: &Files, name: &str, binary: &Path, port: u16) -> Outcome<BTreeSet<ScanFinding>> {
    let text = configuration(port, files.path());
    let file = files.write(&format!("{name}.cfg"), text)?;
    let mut command = Command::new(binary);
    let _proxy = Process::start(command.arg("-f").arg(file).arg("-db"), None)?;
    if !process::wait_for_port(port) {
        return Err(failure::check(format!("{name} did not start")));
    }
    for attempt in 1..=ATTEMPTS {
        let found = files.path().join(format!("{name}.{attempt}.json"));
        let text = look(&found, port)?;
        if text.contains("scanTime") && !OPEN.iter().any(|words| text.contains(words)) {
            return Ok(read(&text));
        }
        println!("testssl has not answered all questions about {name}: attempt {attempt}");
    }
    Err(failure::check(format!("testssl did not come to an end with {name}")))
}

/// The findings of testssl.sh about a port, written into this file.
fn look(found: &Path, port: u16) -> Outcome<String> {
    // Its exit status counts findings.
    let mut command = Command::new(tools::TESTSSL.program);
    command
        .args(["--quiet", "--color", "0", "--warnings", "batch", "--ip", "127.0.0.1", "--jsonfile"])
        .arg(found)
        .arg(format!("localhost:{port}"));
    process::run(&command)?;
    std::fs::read_to_string(found)
        .map_err(|error| failure::machine(format!("{}: {error}", found.display())))
}

/// The faults in the file of testssl.sh: each value has its own line.
fn read(text: &str) -> BTreeSet<ScanFinding> {
    let value = |line: &str, name: &str| {
        let (own, value) = line.trim().split_once(':')?;
        (own.trim() == format!("\"{name}\""))
            .then(|| value.trim().trim_end_matches(',').trim_matches('"').to_owned())
    };
    let objects = text.split('{').skip(1);
    let finding = |object: &str| {
        let of = |name: &str| object.lines().find_map(|line| value(line, name));
        Some((of("id")?, of("severity")?, of("finding")?))
    };
    objects.filter_map(finding).filter(|(_, severity, _)| !FINE.contains(&&**severity)).collect()
}

fn configuration(port: u16, directory: &Path) -> String {
    format!(
        "global\n    maxconn 100\n\
         defaults\n    mode http\n    timeout client 30s\n    timeout server 10s\n    \
         timeout connect 2s\n\
         frontend fe\n    bind 127.0.0.1:{port} ssl crt {}/rsa.pem\n    \
         http-request return status 200 content-type text/plain string ok\n",
        directory.display()
    )
}

#[cfg(test)]
mod tests {
    //! The file of testssl.sh.
    use super::*;

    #[test]
    fn findings_are_read() {
        let text = "[\n {\n  \"id\" : \"a\",\n  \"severity\" : \"OK\",\n  \"finding\" : \"x\"\n }\n\
            , {\n  \"id\" : \"b\",\n  \"severity\" : \"LOW\",\n  \"finding\" : \"c: d\"\n }\n]\n";
        let found: Vec<ScanFinding> = read(text).into_iter().collect();
        assert_eq!(found, [("b".to_owned(), "LOW".to_owned(), "c: d".to_owned())]);
    }
}
