//! `bench slow`: thousands of clients that send or read a little now and then (slowhttptest), and
//! what others wait for their answers meanwhile. Never tells what the slow ones got.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::files::Files;
use super::origin;
use super::pace::{self, Latencies};
use super::process::{self, Process};
use super::subjects::{self, Subject};
use crate::args;
use crate::clock;
use crate::failure::{self, Outcome};
use crate::tools;

const FLAGS: &[args::Flag] = &[args::value("-n"), args::value("-d"), subjects::ALONE];

/// The port of the first proxy; each takes the next one.
const FIRST_PORT: u16 = 18951;

/// The origin.
const ORIGIN: u16 = 19021;

/// Slow clients that connect per second.
const PACE: u32 = 1_000;

/// One way of being slow: its name, and how slowhttptest is told of it.
struct Attack {
    name: &'static str,
    path: &'static str,
    words: &'static [&'static str],
}

const ATTACKS: &[Attack] = &[
    Attack { name: "headers", path: "/", words: &["-H", "-x", "8"] },
    Attack { name: "body", path: "/", words: &["-B", "-s", "8192", "-x", "8"] },
    Attack {
        name: "read",
        path: "/1m",
        words: &["-X", "-w", "512", "-y", "1024", "-n", "1", "-z", "32"],
    },
];

/// Pace of the client that behaves.
const STEP: Duration = Duration::from_millis(1);

/// What one run measured.
struct Measured {
    latencies: Latencies,
    /// Descriptors that the proxy had open for the slow clients.
    open: u64,
    /// Percent of a processor that the proxy used for the slow clients alone.
    cpu: f64,
    /// Growth of resident memory, in bytes per slow client.
    memory: f64,
}

pub(super) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, FLAGS)?;
    let slow = parsed.number("-n", 4_000)?;
    let seconds = parsed.number("-d", 10)?;
    tools::require(&[tools::NGINX, tools::TASKSET, tools::SLOWHTTPTEST])?;
    process::raise_descriptor_limit();
    let subjects = subjects::subjects(&parsed)?;
    let files = Files::new("slow")?;
    let _origin = origin::start(&files, "origin", &[ORIGIN])?;
    for (subject, port) in subjects.iter().zip(FIRST_PORT..) {
        match alone(&files, subject, port, slow, seconds) {
            Ok(mut it) => println!("{:8} nobody   {}", subject.name, waits(&mut it)),
            Err(error) => println!("{:8} FAILED {error}", subject.name),
        }
        for attack in ATTACKS {
            match measure(&files, subject, port, attack, slow, seconds) {
                Ok(mut it) => println!(
                    "{:8} {:8} {}  {:5} descriptors more, {:5.1} % of a processor and {:6.0} bytes each for the slow ones",
                    subject.name,
                    attack.name,
                    waits(&mut it.latencies),
                    it.open,
                    it.cpu,
                    it.memory
                ),
                Err(error) => println!("{:8} {:8} FAILED {error}", subject.name, attack.name),
            }
        }
    }
    Ok(())
}

/// What others waited.
fn waits(latencies: &mut Latencies) -> String {
    let ms = |it: Duration| it.as_secs_f64() * 1_000.0;
    let (half, most) = (latencies.per_mille(500), latencies.per_mille(990));
    let (half, most, all) = (ms(half), ms(most), ms(latencies.per_mille(1_000)));
    let count = latencies.count();
    format!("{count} requests: half {half:.2} ms, 99 % {most:.2} ms, all {all:.2} ms")
}

/// The client that behaves.
fn fast(port: u16, seconds: u32) -> Outcome<Latencies> {
    pace::ask(port, STEP, Duration::from_secs(u64::from(seconds)))
}

/// Others without any slow client.
fn alone(
    files: &Files,
    subject: &Subject,
    port: u16,
    slow: u32,
    seconds: u32,
) -> Outcome<Latencies> {
    let _proxy = start(files, subject, port, slow)?;
    fast(port, seconds)
}

fn measure(
    files: &Files,
    subject: &Subject,
    port: u16,
    attack: &Attack,
    slow: u32,
    seconds: u32,
) -> Outcome<Measured> {
    let proxy = start(files, subject, port, slow)?;
    let before = proxy.resident()?;
    let open_before = proxy.descriptors()?;
    let length = slow / PACE + seconds + 8;
    let mut slow_ones = Process::start(&slow_clients(attack, port, slow, length), None)?;
    // Until all of them are there, and a little longer.
    clock::pause(Duration::from_secs(u64::from(slow / PACE) + 2));
    let open = proxy.descriptors()?.saturating_sub(open_before);
    let used = proxy.cpu()?;
    clock::pause(Duration::from_secs(2));
    let cpu = 100.0 * (proxy.cpu()? - used) / 2.0;
    let memory = 1024.0 * (proxy.resident()? as f64 - before as f64) / f64::from(slow);
    let latencies = fast(port, seconds)?;
    if !slow_ones.runs() {
        return Err(failure::check("the slow clients had left before the others were done"));
    }
    slow_ones.kill();
    Ok(Measured { latencies, open, cpu, memory })
}

fn start(files: &Files, subject: &Subject, port: u16, slow: u32) -> Outcome<Process> {
    subject.start(files, port, configuration(port, slow + 1_000))
}

fn slow_clients(attack: &Attack, port: u16, slow: u32, seconds: u32) -> Command {
    // They are many and must not take the time of what is measured.
    let mut command = process::pinned(1, Path::new("nice"));
    command
        .args(["-n", "19", "slowhttptest"])
        .args(attack.words)
        .args(["-c", &slow.to_string(), "-r", &PACE.to_string(), "-l", &seconds.to_string()])
        .args(["-u", &format!("http://127.0.0.1:{port}{}", attack.path), "-p", "60", "-v", "0"])
        .stdin(Stdio::null());
    command
}

fn configuration(port: u16, room: u32) -> String {
    format!(
        "global\n    nbthread 1\n    maxconn {room}\n\
         defaults\n    mode http\n    timeout client 60s\n    timeout server 60s\n    \
         timeout connect 2s\n    timeout http-request 60s\n\
         frontend fe\n    bind 127.0.0.1:{port} backlog {room}\n    default_backend be\n\
         backend be\n    http-reuse always\n    server s1 127.0.0.1:{ORIGIN}\n"
    )
}
