//! `bench handshakes`: the latency of plain requests under a full load of handshakes, and the CPU
//! of a resumed session.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::files::{Files, Key};
use super::load;
use super::pace::{self, Latencies};
use super::process::{self, Process};
use super::subjects::{self, Subject};
use crate::args;
use crate::clock;
use crate::failure::{self, Outcome};
use crate::tools;

const FLAGS: &[args::Flag] =
    &[args::value("-c"), args::value("-d"), args::value("-r"), subjects::ALONE];

/// The first port; each run takes the next two.
const FIRST_PORT: u16 = 19101;

/// The pause of the measured client between an answer and its next request.
const REST: Duration = Duration::from_millis(1);

/// The measured settings: the name, and `tune.sched.low-latency`.
const MODES: [(&str, &str); 2] = [("default", "off"), ("low-latency", "on")];

/// Versions with resumed sessions, and the flags of `openssl s_time` for them.
const RESUMED: [(&str, &str); 2] = [("TLS 1.2", "-tls1_2"), ("TLS 1.3", "-tls1_3")];

/// Clients that resume sessions, each one session after the other.
const CLIENTS: usize = 4;

pub(super) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, FLAGS)?;
    let connections = parsed.number("-c", 200)?;
    let seconds = parsed.number("-d", 8)?.max(4);
    let rounds = parsed.number("-r", 1)?;
    tools::require(&[tools::OPENSSL, tools::TASKSET, tools::WRK])?;
    let subjects = subjects::subjects(&parsed)?;
    let files = Files::new("handshakes")?;
    let certificate = files.write_certificate("rsa.pem", Key::Rsa2048)?;
    let mut port = FIRST_PORT;
    for _ in 0..rounds {
        for (mode, low) in MODES {
            for subject in &subjects {
                let stand =
                    HandshakeRun { files: &files, subject, certificate: &certificate, port, low };
                match stand.full(connections, seconds) {
                    Ok(text) => println!("{:8} {mode:11} {text}", subject.name),
                    Err(error) => println!("{:8} {mode:11} FAILED {error}", subject.name),
                }
                port += 2;
            }
        }
        for (version, flag) in RESUMED {
            for subject in &subjects {
                let stand = HandshakeRun {
                    files: &files,
                    subject,
                    certificate: &certificate,
                    port,
                    low: "off",
                };
                match stand.resumed(flag, seconds) {
                    Ok(text) => println!("{:8} {version:11} {text}", subject.name),
                    Err(error) => println!("{:8} {version:11} FAILED {error}", subject.name),
                }
                port += 2;
            }
        }
    }
    Ok(())
}

/// One proxy: plain at its port, TLS at the next one.
struct HandshakeRun<'a> {
    files: &'a Files,
    subject: &'a Subject,
    certificate: &'a Path,
    port: u16,
    low: &'a str,
}

impl HandshakeRun<'_> {
    fn start(&self) -> Outcome<Process> {
        let file = self.files.write(&format!("{}.cfg", self.subject.name), self.configuration())?;
        let mut command = process::pinned(0, &self.subject.binary);
        let proxy = Process::start(command.arg("-f").arg(file).arg("-db"), None)?;
        match process::wait_for_port(self.port) {
            true => Ok(proxy),
            false => Err(failure::check("did not start")),
        }
    }

    /// Full handshakes at full speed, and one client that asks without TLS.
    fn full(&self, connections: u32, seconds: u32) -> Outcome<String> {
        let proxy = self.start()?;
        let (clients, length) = (format!("-c{connections}"), format!("-d{seconds}s"));
        let target = format!("https://127.0.0.1:{}/", self.port + 1);
        let words = ["wrk", "-t1", &clients, &length, "-H", "Connection: close", &target];
        let words = words.map(str::to_owned);
        let length = Duration::from_secs(u64::from(seconds) - 2);
        let (counted, latencies) = std::thread::scope(|scope| {
            let probe = scope.spawn(|| {
                urgent()?;
                clock::pause(Duration::from_secs(1));
                pace::ask_again(self.port, REST, length, || proxy.kept_waiting())
            });
            let counted = load::run(&words);
            (counted, probe.join().map_err(|_| failure::check("the client ended early")))
        });
        let (counted, (mut all, mut own)) = (counted?, latencies??);
        let rate = counted.requests as f64 / f64::from(seconds);
        let (all, own, note) = (waits(&mut all), waits(&mut own), counted.note());
        Ok(format!("{rate:7.0} handshakes/s  plain {all}; never kept from running {own} {note}"))
    }

    /// Sessions that are resumed, again and again.
    fn resumed(&self, version: &str, seconds: u32) -> Outcome<String> {
        let proxy = self.start()?;
        let before = proxy.cpu()?;
        let client = || {
            let mut command = process::pinned(1, Path::new("openssl"));
            command
                .args(["s_time", "-reuse", version, "-www", "/", "-time", &seconds.to_string()])
                .args(["-connect", &format!("127.0.0.1:{}", self.port + 1)])
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .map_err(|error| failure::machine(format!("cannot start openssl: {error}")))
        };
        let clients = (0..CLIENTS).map(|_| client()).collect::<Outcome<Vec<_>>>()?;
        let (mut resumed, mut full) = (0, 0);
        for client in clients {
            let output = client
                .wait_with_output()
                .map_err(|error| failure::machine(format!("openssl: {error}")))?;
            let text = String::from_utf8_lossy(&output.stdout);
            let (r, f) = handshakes(&text);
            resumed += r;
            full += f;
        }
        if resumed == 0 {
            return Err(failure::check("no session was resumed"));
        }
        let cost = (proxy.cpu()? - before) * 1e6 / (resumed + full) as f64;
        Ok(format!("{cost:7.1} us of CPU per handshake, {resumed} resumed and {full} full"))
    }

    fn configuration(&self) -> String {
        let Self { certificate, port, low, .. } = self;
        let second = port + 1;
        let answer = "http-request return status 200 content-type text/plain string ok";
        format!(
            "global\n    nbthread 1\n    maxconn 4000\n    tune.sched.low-latency {low}\n\
             defaults\n    mode http\n    timeout client 60s\n    timeout server 60s\n    \
             timeout connect 2s\n\
             frontend plain\n    bind 127.0.0.1:{port}\n    {answer}\n\
             frontend encrypted\n    bind 127.0.0.1:{second} ssl crt {}\n    {answer}\n",
            certificate.display()
        )
    }
}

/// How many sessions `openssl s_time` resumed and how many it did not: it prints a letter for each
/// (`r`, or another one), on lines of nothing else.
fn handshakes(text: &str) -> (usize, usize) {
    let is_letters = |line: &&str| line.bytes().all(|byte| b"rt*123".contains(&byte));
    let letters = text.lines().map(str::trim).filter(is_letters).flat_map(str::bytes);
    letters.fold((0, 0), |(resumed, full), letter| match letter {
        b'r' => (resumed + 1, full),
        _ => (resumed, full + 1),
    })
}

/// Gives this thread priority over all others on processor 1.
fn urgent() -> Outcome {
    let own = std::fs::read_link("/proc/thread-self");
    let own = own.map_err(|error| failure::machine(format!("/proc/thread-self: {error}")))?;
    let thread = PathBuf::from(own.file_name().unwrap_or_default());
    let set = |program: &str, words: &[&str]| {
        let status = Command::new(program).args(words).arg(&thread).stdout(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    match set("taskset", &["-c", "-p", "1"]) && set("chrt", &["-f", "-p", "10"]) {
        true => Ok(()),
        false => Err(failure::machine("chrt cannot make a thread urgent (needs root)")),
    }
}

/// The client's latencies as text.
fn waits(latencies: &mut Latencies) -> String {
    let [half, most, rare, all] = [500, 990, 999, 1_000].map(|share| latencies.ms(share));
    format!(
        "half {half:.2} ms, 99 % {most:.2} ms, 99.9 % {rare:.2} ms, all {all:.2} ms ({})",
        latencies.count()
    )
}

#[cfg(test)]
mod tests {
    //! The output of `openssl s_time`.
    use super::*;

    #[test]
    fn letters_are_counted() {
        let text =
            "Collecting connection statistics for 1 seconds\nrrr*rr\n\n\n6 connections in 0.1s\n";
        assert_eq!(handshakes(text), (5, 1));
    }
}
