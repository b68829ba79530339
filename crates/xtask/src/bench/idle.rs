//! `bench idle`: what an idle keep-alive connection costs in memory, and what many cost in CPU.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::files::Files;
use super::process::{self, Process};
use super::subjects::{self, Subject};
use crate::args;
use crate::clock;
use crate::failure::{self, Outcome};

const FLAGS: &[args::Flag] = &[args::value("-n"), subjects::ALONE];

/// The port of the first proxy; each takes the next one.
const FIRST_PORT: u16 = 19701;

/// How long the connections are watched at rest.
const REST: Duration = Duration::from_secs(5);

pub(super) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, FLAGS)?;
    let connections = parsed.number("-n", 8000)?;
    process::raise_descriptor_limit();
    let files = Files::new("idle")?;
    for (subject, port) in subjects::subjects(&parsed)?.iter().zip(FIRST_PORT..) {
        match measure(&files, subject, port, connections) {
            Ok(line) => println!("{:8} {line}", subject.name),
            Err(error) => println!("{:8} FAILED {error}", subject.name),
        }
    }
    Ok(())
}

fn measure(files: &Files, subject: &Subject, port: u16, connections: u32) -> Outcome<String> {
    let configuration =
        files.write(&format!("{}.cfg", subject.name), configuration(port, connections))?;
    let mut command = std::process::Command::new(&subject.binary);
    command.arg("-f").arg(configuration).arg("-db");
    let mut proxy = Process::start(&command, None)?;
    clock::pause(Duration::from_secs(1));
    if !proxy.runs() || !process::wait_for_port(port) {
        return Err(failure::check("did not start"));
    }
    let empty = proxy.resident()?;
    let idle: Vec<TcpStream> =
        (0..connections).map(|_| connect(port)).collect::<std::io::Result<_>>().map_err(
            |error| failure::machine(format!("cannot open {connections} connections: {error}")),
        )?;
    clock::pause(Duration::from_secs(1));
    let before = proxy.cpu()?;
    clock::pause(REST);
    let used = 100.0 * (proxy.cpu()? - before) / REST.as_secs_f64();
    let growth = 1024.0 * (proxy.resident()? as f64 - empty as f64) / f64::from(connections);
    drop(idle);
    Ok(format!(
        "{connections} idle connections: {growth:8.0} bytes each, start {:.1} MB, cpu at rest {used:.2} %",
        empty as f64 / 1024.0
    ))
}

/// A connection that has had one answer and now waits.
fn connect(port: u16) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")?;
    let mut answer = [0; 4096];
    if stream.read(&mut answer)? == 0 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(stream)
}

fn configuration(port: u16, connections: u32) -> String {
    let room = connections + 1000;
    format!(
        "global\n  nbthread 1\n  maxconn {room}\n\
         defaults\n  mode http\n  timeout client 300s\n  timeout server 60s\n  timeout connect 2s\n\
         frontend a\n  bind 127.0.0.1:{port} backlog {room}\n  \
         http-request return status 200 content-type text/plain string ok\n"
    )
}
