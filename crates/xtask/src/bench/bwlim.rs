//! `bench bwlim`: the CPU, rate and memory of thousands of responses under a bandwidth limit.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use super::files::Files;
use super::origin;
use super::process::{self, Process};
use super::subjects::{self, Subject};
use crate::args;
use crate::clock;
use crate::failure::{self, Outcome};
use crate::tools;

const FLAGS: &[args::Flag] = &[
    args::value("-n"),
    args::value("-d"),
    args::value("--rate"),
    args::switch("--shared"),
    subjects::ALONE,
];

/// The port of the first proxy; each takes the next one.
const FIRST_PORT: u16 = 18801;

/// The port of the origin.
const ORIGIN: u16 = 19031;

/// Bytes of a response: no stream ends while it is measured.
const BODY: u64 = 1 << 30;

/// Time from the last request to the beginning of the measurement: the allowances at the beginning
/// have passed.
const WARM_UP: Duration = Duration::from_secs(5);

/// Time between two reads of a client.
const STEP: Duration = Duration::from_millis(100);

/// The settings of all runs.
struct LimitedLoad {
    files: Files,
    streams: u32,
    length: Duration,
    /// Bytes per second of a stream.
    rate: u32,
    /// One limit for all streams.
    shared: bool,
}

pub(super) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, FLAGS)?;
    let load = LimitedLoad {
        files: Files::new("bwlim")?,
        streams: parsed.number("-n", 10_000)?,
        length: Duration::from_secs(u64::from(parsed.number("-d", 20)?)),
        rate: parsed.number("--rate", 20_000)?,
        shared: parsed.has("--shared"),
    };
    tools::require(&[tools::NGINX, tools::TASKSET])?;
    process::raise_descriptor_limit();
    process::pin_self(1);
    let subjects = subjects::subjects(&parsed)?;
    let _origin = load.origin()?;
    for (subject, port) in subjects.iter().zip(FIRST_PORT..) {
        match load.measure(subject, port) {
            Ok(line) => println!("{:8} {line}", subject.name),
            Err(error) => println!("{:8} FAILED {error}", subject.name),
        }
    }
    Ok(())
}

/// A client that reads a response, and the bytes that it has read.
struct Reader {
    stream: TcpStream,
    bytes: u64,
}

impl LimitedLoad {
    /// The server behind the proxies. Its sockets hold little, so that the kernel's memory suffices
    /// for all of them.
    fn origin(&self) -> Outcome<Process> {
        let path = self.files.write("body", [])?;
        std::fs::File::options()
            .write(true)
            .open(&path)
            .and_then(|file| file.set_len(BODY))
            .map_err(|error| failure::machine(format!("{}: {error}", path.display())))?;
        let directory = self.files.path().display();
        let text = format!(
            "master_process off; daemon off; pid {directory}/nginx.pid; error_log /dev/null crit;\n\
             worker_rlimit_nofile 65536; events {{ worker_connections 32768; }}\n\
             http {{ access_log off; sendfile on; send_timeout 600s; server {{ \
             listen 127.0.0.1:{ORIGIN} backlog=16384 sndbuf=65536; \
             location / {{ alias {directory}/; }} }} }}\n"
        );
        let configuration = self.files.write("nginx.conf", text)?;
        let mut command = process::pinned(1, &origin::program());
        let origin = Process::start(command.arg("-c").arg(configuration), None)?;
        match process::wait_for_port(ORIGIN) {
            true => Ok(origin),
            false => Err(failure::machine(format!("nginx does not listen on port {ORIGIN}"))),
        }
    }

    fn measure(&self, subject: &Subject, port: u16) -> Outcome<String> {
        let configuration = self.files.write(&format!("{}.cfg", subject.name), self.text(port))?;
        let mut command: Command = process::pinned(0, &subject.binary);
        command.arg("-f").arg(configuration).arg("-db");
        let proxy = Process::start(&command, None)?;
        if !process::wait_for_port(port) {
            return Err(failure::check("did not start"));
        }
        let empty = proxy.resident()?;
        let mut readers = self.connect(port)?;
        self.read(&mut readers, WARM_UP)?;
        readers.iter_mut().for_each(|reader| reader.bytes = 0);
        let (before, sleeps) = (proxy.worked()?, proxy.voluntary_switches()?);
        let start = clock::now();
        self.read(&mut readers, self.length)?;
        let span = start.elapsed().as_secs_f64();
        let worked = (proxy.worked()? - before).as_secs_f64();
        let sleeps = (proxy.voluntary_switches()? - sleeps) as f64;
        let grown = proxy.resident()?.saturating_sub(empty);
        let rates = || readers.iter().map(|reader| reader.bytes as f64 / span);
        let streams = f64::from(self.streams);
        Ok(format!(
            "{streams} streams at {} B/s: cpu {:.2} %, rate {:.3} of the limit, slowest {:.3}, fastest \
             {:.3}, {:.2} us per stream and second, {:.0} sleeps per second, {:.0} bytes of memory each",
            self.rate,
            100.0 * worked / span,
            rates().sum::<f64>() / streams / f64::from(self.rate),
            rates().fold(f64::MAX, f64::min) / f64::from(self.rate),
            rates().fold(0.0, f64::max) / f64::from(self.rate),
            1e6 * worked / span / streams,
            sleeps / span,
            1024.0 * grown as f64 / streams,
        ))
    }

    fn connect(&self, port: u16) -> Outcome<Vec<Reader>> {
        let connect = |_| {
            let mut stream = TcpStream::connect(("127.0.0.1", port))?;
            stream.write_all(b"GET /body HTTP/1.1\r\nHost: x\r\n\r\n")?;
            stream.set_nonblocking(true)?;
            Ok(Reader { stream, bytes: 0 })
        };
        let all: std::io::Result<_> = (0..self.streams).map(connect).collect();
        all.map_err(|error| failure::machine(format!("{} connections: {error}", self.streams)))
    }

    /// Reads from all streams for so long.
    fn read(&self, readers: &mut [Reader], length: Duration) -> Outcome {
        let (start, mut buffer) = (clock::now(), vec![0; 1 << 16]);
        while start.elapsed() < length {
            let turn = clock::now();
            for reader in &mut *readers {
                match reader.stream.read(&mut buffer) {
                    Ok(0) => return Err(failure::check("a response ended")),
                    Ok(count) => reader.bytes += count as u64,
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                    Err(error) => return Err(failure::check(format!("a response: {error}"))),
                }
            }
            clock::pause(STEP.saturating_sub(turn.elapsed()));
        }
        Ok(())
    }

    fn text(&self, port: u16) -> String {
        let (room, rate) = (self.streams + 100, self.rate);
        let (limit, table, rule) = match self.shared {
            false => (
                format!("default-limit {rate} default-period 1s"),
                "",
                "http-response set-bandwidth-limit slow",
            ),
            true => (
                format!("limit {} key src", u64::from(rate) * u64::from(self.streams)),
                "  stick-table type ip size 10 expire 600s store bytes_out_rate(1s)\n",
                "http-response set-bandwidth-limit slow",
            ),
        };
        format!(
            "global\n  nbthread 1\n  maxconn {room}\n  tune.rcvbuf.server 65536\n  \
             tune.sndbuf.client 65536\n\
             defaults\n  mode http\n  timeout client 600s\n  timeout server 600s\n  timeout connect 10s\n\
             listen a\n  bind 127.0.0.1:{port} backlog {room}\n{table}  filter bwlim-out slow {limit}\n  \
             {rule}\n  server s 127.0.0.1:{ORIGIN}\n"
        )
    }
}
