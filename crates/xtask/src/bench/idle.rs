//! `bench idle`: what an idle keep-alive connection costs in memory, and what many cost in CPU.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use super::files::{Files, Key};
use super::process::{self, Process};
use super::subjects::{self, Subject};
use crate::failure::{self, Outcome};
use crate::{args, clock, h3_load};

const FLAGS: &[args::Flag] = &[args::value("-n"), args::switch("--h3"), subjects::ALONE];

/// The port of the first proxy; each takes the next one.
const FIRST_PORT: u16 = 19701;

/// The certificate of the listener of HTTP/3.
const CERTIFICATE: &str = "idle.pem";

/// How long the connections are watched at rest.
const REST: Duration = Duration::from_secs(5);

pub(super) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, FLAGS)?;
    let connections = parsed.number("-n", 8000)?;
    process::raise_descriptor_limit();
    let files = Files::new("idle")?;
    let h3 = parsed.has("--h3").then(h3_load::program).transpose()?;
    if h3.is_some() {
        files.write_certificate(CERTIFICATE, Key::P256)?;
    }
    for (subject, port) in subjects::subjects(&parsed)?.iter().zip(FIRST_PORT..) {
        match measure(&files, subject, port, (connections, h3.as_deref())) {
            Ok(line) => println!("{:8} {line}", subject.name),
            Err(error) => println!("{:8} FAILED {error}", subject.name),
        }
    }
    Ok(())
}

fn measure(
    files: &Files,
    subject: &Subject,
    port: u16,
    (connections, h3): (u32, Option<&Path>),
) -> Outcome<String> {
    let mut text = configuration(port, connections);
    if h3.is_some() {
        text = text.replacen("global\n", "global\n  tune.quic.frontend.max-idle-timeout 300s\n", 1);
        text.push_str(&format!(
            "  bind quic4@127.0.0.1:{port} ssl crt {}/{CERTIFICATE} alpn h3\n",
            files.path().display()
        ));
    }
    let configuration = files.write(&format!("{}.cfg", subject.name), text)?;
    let mut command = std::process::Command::new(&subject.binary);
    command.arg("-f").arg(configuration).arg("-db");
    let mut proxy = Process::start(&command, None)?;
    clock::pause(Duration::from_secs(1));
    if !proxy.runs() || !process::wait_for_port(port) {
        return Err(failure::check("did not start"));
    }
    let empty = proxy.resident()?;
    let client = h3.map(|program| hold(files, program, port, connections)).transpose()?;
    let idle = open(port, if h3.is_some() { 0 } else { connections })?;
    // HTTP/3 clients and Weir have given back what handshakes needed after ten seconds.
    clock::pause(Duration::from_secs(if h3.is_some() { 10 } else { 1 }));
    let before = proxy.cpu()?;
    clock::pause(REST);
    let used = 100.0 * (proxy.cpu()? - before) / REST.as_secs_f64();
    let growth = 1024.0 * (proxy.resident()? as f64 - empty as f64) / f64::from(connections);
    drop((idle, client));
    Ok(format!(
        "{connections} idle connections: {growth:8.0} bytes each, start {:.1} MB, cpu at rest {used:.2} %",
        empty as f64 / 1024.0
    ))
}

fn open(port: u16, connections: u32) -> Outcome<Vec<TcpStream>> {
    let open = (0..connections).map(|_| connect(port)).collect::<std::io::Result<_>>();
    open.map_err(|error| {
        failure::machine(format!("cannot open {connections} connections: {error}"))
    })
}

/// A client with connections of HTTP/3, each of which has had one answer.
fn hold(files: &Files, program: &Path, port: u16, connections: u32) -> Outcome<Process> {
    let output = files.path().join("h3-load.out");
    let mut command = process::pinned(1, program);
    command.arg(format!("-c{connections}")).arg("--hold");
    command.arg(format!("https://127.0.0.1:{port}/"));
    let client = Process::start(&command, Some(&output))?;
    let is_open = || std::fs::read_to_string(&output).is_ok_and(|it| it.contains("open: "));
    match clock::wait_until(Duration::from_secs(60), Duration::from_millis(50), is_open) {
        true => Ok(client),
        false => Err(failure::check(format!("{connections} connections do not open"))),
    }
}

/// A connection that waits after its first answer.
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
