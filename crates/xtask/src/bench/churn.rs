//! `bench churn`: a load while origins are killed and started again all the time. Looks for
//! requests that fail, memory that grows and descriptors that stay.

use std::process::Stdio;
use std::time::Duration;

use super::files::Files;
use super::load::{self, Counted};
use super::origin;
use super::process::{self, Process};
use super::subjects::{self, Subject};
use crate::args;
use crate::clock;
use crate::failure::{self, Outcome};
use crate::tools;

const FLAGS: &[args::Flag] =
    &[args::value("-c"), args::value("-d"), args::value("-e"), subjects::ALONE];

/// The port of the first proxy; each takes the next one.
const FIRST_PORT: u16 = 18971;

/// The origins; each in its turn is killed.
const ORIGINS: [u16; 3] = [19031, 19032, 19033];

/// How long an origin is away.
const AWAY: Duration = Duration::from_secs(3);

/// A look at the proxy: seconds since the start, KiB of memory, descriptors.
type Sample = (u64, u64, u64);

pub(super) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, FLAGS)?;
    let connections = parsed.number("-c", 32)?;
    let seconds = parsed.number("-d", 120)?;
    let every = parsed.number("-e", 20)?;
    tools::require(&[tools::NGINX, tools::WRK, tools::TASKSET])?;
    let subjects = subjects::subjects(&parsed)?;
    let files = Files::new("churn")?;
    for (subject, port) in subjects.iter().zip(FIRST_PORT..) {
        match measure(&files, subject, port, connections, seconds, every) {
            Ok((counted, samples, left)) => print(&subject.name, &counted, &samples, left),
            Err(error) => println!("{:8} FAILED {error}", subject.name),
        }
    }
    Ok(())
}

/// The counts of the load, the observations of the proxy, and the descriptors that were open after
/// all clients had gone.
fn measure(
    files: &Files,
    subject: &Subject,
    port: u16,
    connections: u32,
    seconds: u32,
    every: u32,
) -> Outcome<(Counted, Vec<Sample>, u64)> {
    let start_origin =
        |number: usize| origin::start(files, &format!("origin{number}"), &[ORIGINS[number]]);
    let mut origins: Vec<Option<Process>> =
        (0..ORIGINS.len()).map(|number| start_origin(number).map(Some)).collect::<Outcome<_>>()?;
    let configuration = files.write(&format!("{}.cfg", subject.name), configuration(port))?;
    let mut command = process::pinned(0, &subject.binary);
    command.arg("-f").arg(configuration).arg("-db");
    let proxy = Process::start(&command, None)?;
    if !process::wait_for_port(port) {
        return Err(failure::check("did not start"));
    }
    let idle = proxy.descriptors()?;
    let mut client = client(port, connections, seconds)?;
    let (start, mut samples, mut killed) = (clock::now(), Vec::new(), 0);
    let every = Duration::from_secs(u64::from(every));
    while matches!(client.try_wait(), Ok(None)) {
        let now = start.elapsed();
        let number = killed % ORIGINS.len();
        let next_kill = every * (killed as u32 + 1);
        if origins[number].is_some() && now >= next_kill {
            origins[number].iter_mut().for_each(Process::kill);
            origins[number] = None;
        } else if origins[number].is_none() && now >= next_kill + AWAY {
            origins[number] = Some(start_origin(number)?);
            killed += 1;
        }
        if samples.len() as u64 * 5 <= now.as_secs() {
            samples.push((now.as_secs(), proxy.resident()?, proxy.descriptors()?));
        }
        clock::pause(Duration::from_millis(50));
    }
    let output = client
        .wait_with_output()
        .map_err(|error| failure::machine(format!("cannot read the load's output: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let counted = load::read(&text).ok_or_else(|| failure::check("no load result"))?;
    drop(origins);
    // Clients learn during this time that their connection has ended.
    clock::pause(Duration::from_secs(2));
    Ok((counted, samples, proxy.descriptors()?.saturating_sub(idle)))
}

fn client(port: u16, connections: u32, seconds: u32) -> Outcome<std::process::Child> {
    let url = format!("http://127.0.0.1:{port}/");
    let words =
        ["wrk", "-t1", &format!("-c{connections}"), &format!("-d{seconds}s"), "--latency", &url];
    load::command(&words.map(str::to_owned))
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failure::machine(format!("cannot start wrk: {error}")))
}

fn configuration(port: u16) -> String {
    let servers: String = ORIGINS
        .iter()
        .enumerate()
        .map(|(number, origin)| format!("    server s{number} 127.0.0.1:{origin}\n"))
        .collect();
    format!(
        "global\n    nbthread 1\n    maxconn 4000\n\
         defaults\n    mode http\n    timeout client 10s\n    timeout server 10s\n    \
         timeout connect 2s\n    option redispatch 1\n    retries 3\n    \
         retry-on all-retryable-errors\n\
         frontend fe\n    bind 127.0.0.1:{port}\n    default_backend be\n\
         backend be\n    balance roundrobin\n    http-reuse always\n    option httpchk GET /\n    \
         default-server check inter 500ms fall 2 rise 1\n{servers}"
    )
}

fn print(name: &str, counted: &Counted, samples: &[Sample], left: u64) {
    println!(
        "{name:8} {} requests, failed {} (status {}, socket {}), late {}, p99 {}, \
         descriptors left {left}",
        counted.requests,
        counted.bad_status + counted.socket_errors,
        counted.bad_status,
        counted.socket_errors,
        counted.late,
        counted.p99,
    );
    // About twelve looks, evenly.
    for (second, memory, descriptors) in samples.iter().step_by(samples.len().div_ceil(12).max(1)) {
        println!("    {second:5} s  {memory:7} KiB, {descriptors:4} descriptors");
    }
}
