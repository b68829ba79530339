//! One program at work: its configuration, its traffic, its runtime socket.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;

use super::shape::Own;
use crate::bench::files::{Files, Key};
use crate::beside::Program;
use crate::failure::{self, Outcome};

/// The requests, and how often each is sent: good ones, one with an invalid answer, an invalid one.
const REQUESTS: &[(&str, usize)] = &[
    ("GET /one HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 4),
    ("GET /bad HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 1),
    ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 1),
];

pub(super) struct ConsoleTestBed {
    program: Program,
    /// The certificate of its encrypted listener.
    certificate: String,
}

impl ConsoleTestBed {
    /// Starts a program with an origin of its own.
    pub(super) fn start(files: &Files, name: &'static str, binary: &Path) -> Outcome<Self> {
        let origin = origin()?;
        let pem = files.path().join("one.pem");
        if !pem.exists() {
            files.write_certificate("one.pem", Key::P256)?;
        }
        let certificate = std::fs::read_to_string(pem);
        let certificate = certificate.map_err(|error| failure::machine(error.to_string()))?;
        let text = |place: &Path| {
            for (file, content) in [("one.pem", &*certificate), ("list", "one.pem\n")] {
                files.write(&format!("{name}/{file}"), content)?;
            }
            Ok(configuration(place, origin))
        };
        let program = Program::start(files, name, binary, text)?;
        Ok(Self { program, certificate })
    }

    /// Sends the requests, one after the other.
    pub(super) fn play(&self) -> Outcome {
        for (request, times) in REQUESTS {
            for _ in 0..*times {
                self.program.talk("fe", request)?;
            }
        }
        Ok(())
    }

    /// The answer of the runtime socket. `DIRECTORY` and `PEM` stand for the paths of this run.
    pub(super) fn ask(&self, command: &str) -> Outcome<String> {
        let place = self.program.directory.display().to_string();
        let command = command.replace("DIRECTORY", &place).replace("PEM", &self.certificate);
        self.program.ask(&command)
    }

    /// The text with the paths of this run.
    pub(super) fn own(&self) -> Own {
        let version = self.ask("show version").unwrap_or_default().trim().to_owned();
        let mut own = vec![(self.program.directory.display().to_string(), "DIRECTORY")];
        own.push((format!("{}.cfg", self.program.name), "FILE"));
        if !version.is_empty() {
            own.push((version, "VERSION"));
        }
        own
    }
}

/// An origin that answers all requests, `/bad` with bytes that are no response; returns its port.
fn origin() -> Outcome<u16> {
    let listener = TcpListener::bind("127.0.0.1:0");
    let listener = listener.map_err(|error| failure::machine(error.to_string()))?;
    let port = listener.local_addr().map_err(|error| failure::machine(error.to_string()))?.port();
    // The thread ends with the process.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let mut request = [0; 4096];
            let Ok(count) = stream.read(&mut request) else { continue };
            let bad = request[..count].starts_with(b"GET /bad");
            let line = if bad { "no colon" } else { "X-Y: z" };
            let text = format!("HTTP/1.1 200 OK\r\n{line}\r\nContent-Length: 2\r\n\r\nok");
            // A client that has left needs no answer.
            let _ = stream.write_all(text.as_bytes());
        }
    });
    Ok(port)
}

fn configuration(directory: &Path, origin: u16) -> String {
    let place = directory.display();
    format!(
        "global\n    stats socket unix@{place}/cli level admin\n    maxconn 100\n    nbthread 2\n    \
         node here\n    description something\n    crt-base {place}\n    ca-base {place}\n\
         ring r\n    description \"a ring\"\n    format raw\n    size 32764\n\
         resolvers one\n    nameserver ns 127.0.0.1:9\n\
         defaults\n    mode http\n    timeout connect 2s\n    timeout client 5s\n    \
         timeout server 5s\n    retries 0\n\
         frontend fe\n    bind unix@{place}/fe\n    log ring@r local0\n    log-format \"%ST %B\"\n    \
         acl known path /one /bad\n    http-request set-var(proc.seen) path if known\n    \
         default_backend be\n\
         backend be\n    balance roundrobin\n    cookie SRV insert\n    \
         stick-table type string size 100 store http_req_cnt\n    \
         http-request track-sc0 path\n    \
         server s1 127.0.0.1:{origin} cookie one check inter 60s\n    \
         server s2 127.0.0.1:9 disabled cookie two\n    \
         server s3 127.0.0.1:9 backup weight 5\n\
         frontend se\n    bind unix@{place}/se ssl crt-list {place}/list ca-file one.pem verify \
         optional\n    default_backend be\n\
         listen tc\n    mode tcp\n    bind unix@{place}/tc\n    server t1 127.0.0.1:{origin}\n"
    )
}
