//! `bench idle`: what a connection at rest costs in memory, by kind, and what many cost in CPU.

use std::path::Path;
use std::time::Duration;

use super::files::{Files, Key};
use super::process::{self, Process};
use super::subjects::{self, Subject};
use crate::failure::{self, Outcome};
use crate::{args, clock, h3_load, tools, workspace};

const FLAGS: &[args::Flag] = &[args::value("-n"), args::value("--kind"), subjects::ALONE];

/// The port of the first proxy; each takes the next one.
const FIRST_PORT: u16 = 19701;

/// The port of the origin of tunnels.
const ORIGIN_PORT: u16 = 19700;

/// The certificate of listeners with TLS.
const CERTIFICATE: &str = "idle.pem";

/// How long the connections are watched at rest.
const REST: Duration = Duration::from_secs(5);

/// A kind of connections.
#[derive(Debug)]
struct Kind {
    name: &'static str,
    title: &'static str,
    /// Options of the `bind` line; `{w}` stands for the directory of files.
    bind: &'static str,
    /// The rule of the frontend that answers, or the backend that does.
    answer: IdleAnswer,
}

/// Where answers come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum IdleAnswer {
    /// The proxy itself.
    Proxy,
    /// The origin, by opaque bytes in TCP mode.
    Tcp,
    /// The origin, which accepts an upgrade.
    Upgrade,
}

const TLS: &str = "ssl crt {w}/idle.pem alpn h2,http/1.1";

const KINDS: &[Kind] = &[
    Kind { name: "h1", title: "HTTP/1", bind: "", answer: IdleAnswer::Proxy },
    Kind { name: "tls", title: "HTTP/1 over TLS", bind: TLS, answer: IdleAnswer::Proxy },
    Kind { name: "h2tls", title: "HTTP/2 over TLS", bind: TLS, answer: IdleAnswer::Proxy },
    Kind { name: "h2", title: "HTTP/2", bind: "", answer: IdleAnswer::Proxy },
    Kind { name: "tcp", title: "TCP, both sides", bind: "", answer: IdleAnswer::Tcp },
    Kind { name: "ws", title: "WebSocket, both sides", bind: "", answer: IdleAnswer::Upgrade },
    Kind { name: "wstls", title: "WebSocket over TLS", bind: TLS, answer: IdleAnswer::Upgrade },
    Kind { name: "h3", title: "HTTP/3", bind: "", answer: IdleAnswer::Proxy },
];

/// Kinds of the default: HAProxy of Debian has no HTTP/3.
const DEFAULT: usize = 7;

pub(super) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, FLAGS)?;
    let connections = parsed.number("-n", 3000)?;
    let kinds = chosen(parsed.value("--kind"))?;
    process::raise_descriptor_limit();
    let files = Files::new("idle")?;
    files.write_certificate(CERTIFICATE, Key::P256)?;
    let hold = workspace::release_example(&workspace::root()?, "bench", "idle_hold")?;
    let mut subjects = subjects::subjects(&parsed)?;
    if let Some(nginx) = tools::find("nginx").filter(|_| !parsed.has(subjects::ALONE.name)) {
        subjects.insert(1.min(subjects.len()), Subject::new("nginx", nginx));
    }
    let mut port = FIRST_PORT;
    for kind in kinds {
        let h3 = (kind.name == "h3").then(h3_load::program).transpose()?;
        let load = h3.as_deref().unwrap_or(&hold);
        for subject in subjects.iter().filter(|subject| subject.name != "nginx" || kind.is_nginx())
        {
            match measure(&files, subject, (kind, connections), port, (load, &hold)) {
                Ok(line) => println!("{:22} {:8} {line}", kind.title, subject.name),
                Err(error) => println!("{:22} {:8} FAILED {error}", kind.title, subject.name),
            }
            port += 1;
        }
    }
    Ok(())
}

/// The kinds of `--kind`, in the order given.
fn chosen(names: Option<&str>) -> Outcome<Vec<&'static Kind>> {
    let named = |name: &str| {
        let found = KINDS.iter().find(|kind| kind.name == name);
        found.ok_or_else(|| failure::usage(format!("no kind `{name}` (try --help)")))
    };
    match names {
        None => Ok(KINDS.iter().take(DEFAULT).collect()),
        Some(names) => names.split(',').map(named).collect(),
    }
}

/// Opens connections of a kind through a proxy, and watches them. `load` makes them, `hold` is the
/// origin.
fn measure(
    files: &Files,
    subject: &Subject,
    (kind, connections): (&Kind, u32),
    port: u16,
    (load, hold): (&Path, &Path),
) -> Outcome<String> {
    let _origin = (kind.answer != IdleAnswer::Proxy).then(|| origin(hold, kind)).transpose()?;
    let mut proxy = start(files, subject, kind, port, connections)?;
    clock::pause(Duration::from_secs(1));
    if !proxy.runs() || !process::wait_for_port(port) {
        return Err(failure::check("did not start"));
    }
    let empty = proxy.resident()?;
    let client = hold_open(files, load, kind, port, connections)?;
    // HTTP/3 clients and Weir have given back what handshakes needed after ten seconds.
    clock::pause(Duration::from_secs(if kind.name == "h3" { 10 } else { 3 }));
    let before = proxy.cpu()?;
    clock::pause(REST);
    let used = 100.0 * (proxy.cpu()? - before) / REST.as_secs_f64();
    let growth = 1024.0 * (proxy.resident()? as f64 - empty as f64) / f64::from(connections);
    drop(client);
    Ok(format!(
        "{connections} at rest: {growth:8.0} bytes each, start {:.1} MB, cpu at rest {used:.2} %",
        empty as f64 / 1024.0
    ))
}

fn start(
    files: &Files,
    subject: &Subject,
    kind: &Kind,
    port: u16,
    connections: u32,
) -> Outcome<Process> {
    let mut command = std::process::Command::new(&subject.binary);
    if subject.name == "nginx" {
        let text = kind.nginx(files.path(), port, connections);
        command.arg("-c").arg(files.write("nginx.conf", text)?);
    } else {
        let text = kind.configuration(files.path(), port, connections);
        let configuration = files.write(&format!("{}.cfg", subject.name), text)?;
        command.arg("-f").arg(configuration).arg("-db");
    }
    Process::start(&command, None)
}

/// The origin of tunnels.
fn origin(hold: &Path, kind: &Kind) -> Outcome<Process> {
    let mut command = std::process::Command::new(hold);
    let what = if kind.answer == IdleAnswer::Tcp { "tcp" } else { "ws" };
    command.arg("origin").arg(ORIGIN_PORT.to_string()).arg(what);
    let origin = Process::start(&command, None)?;
    match process::wait_for_port(ORIGIN_PORT) {
        true => Ok(origin),
        false => Err(failure::machine(format!("the origin does not listen on {ORIGIN_PORT}"))),
    }
}

/// Clients that have had one exchange each.
fn hold_open(
    files: &Files,
    program: &Path,
    kind: &Kind,
    port: u16,
    connections: u32,
) -> Outcome<Process> {
    let output = files.path().join("clients.out");
    let mut command = process::pinned(1, program);
    if kind.name == "h3" {
        command.arg(format!("-c{connections}")).arg("--hold");
        command.arg(format!("https://127.0.0.1:{port}/"));
    } else {
        command.args(["clients", kind.name, &port.to_string(), &connections.to_string()]);
    }
    let client = Process::start(&command, Some(&output))?;
    let is_open = || std::fs::read_to_string(&output).is_ok_and(|it| it.contains("open: "));
    match clock::wait_until(Duration::from_secs(120), Duration::from_millis(50), is_open) {
        true => Ok(client),
        false => Err(failure::check(format!("{connections} connections do not open"))),
    }
}

impl Kind {
    /// Whether nginx can be measured: it has no HTTP/2 in the clear beside HTTP/1, and the build of
    /// Debian relays no TCP.
    fn is_nginx(&self) -> bool {
        ["h1", "tls", "h2tls", "ws", "wstls"].contains(&self.name)
    }

    /// The configuration of HAProxy and Weir.
    fn configuration(&self, files: &Path, port: u16, connections: u32) -> String {
        let room = connections + 1000;
        let files = files.display().to_string();
        let bind = self.bind.replace("{w}", &files);
        let mode = if self.answer == IdleAnswer::Tcp { "tcp" } else { "http" };
        let quic = match self.name {
            "h3" => {
                format!("  bind quic4@127.0.0.1:{port} ssl crt {files}/{CERTIFICATE} alpn h3\n")
            }
            _ => String::new(),
        };
        let idle =
            if quic.is_empty() { "" } else { "  tune.quic.frontend.max-idle-timeout 300s\n" };
        let answer = match self.answer {
            IdleAnswer::Proxy => {
                "  http-request return status 200 content-type text/plain string ok\n".to_owned()
            }
            IdleAnswer::Tcp | IdleAnswer::Upgrade => {
                format!("  default_backend b\nbackend b\n  server s 127.0.0.1:{ORIGIN_PORT}\n")
            }
        };
        format!(
            "global\n  nbthread 1\n  maxconn {room}\n{idle}\
             defaults\n  mode {mode}\n  timeout client 300s\n  timeout server 300s\n  \
             timeout tunnel 300s\n  timeout connect 2s\n\
             frontend a\n  bind 127.0.0.1:{port} backlog {room} {bind}\n{quic}{answer}"
        )
    }

    /// The same for nginx: one process without a master.
    fn nginx(&self, files: &Path, port: u16, connections: u32) -> String {
        let room = 2 * connections + 1000;
        let files = files.display();
        let (options, certificate) = match (self.bind, self.name) {
            ("", _) => ("", String::new()),
            (_, name) => (
                if name == "h2tls" { " ssl http2" } else { " ssl" },
                format!(
                    "ssl_certificate {files}/{CERTIFICATE}; ssl_certificate_key {files}/{CERTIFICATE};"
                ),
            ),
        };
        let answer = match self.answer {
            IdleAnswer::Upgrade => format!(
                "proxy_pass http://127.0.0.1:{ORIGIN_PORT}; proxy_http_version 1.1; \
                 proxy_read_timeout 300s; proxy_set_header Upgrade $http_upgrade; \
                 proxy_set_header Connection upgrade;"
            ),
            IdleAnswer::Proxy | IdleAnswer::Tcp => "return 200 ok;".to_owned(),
        };
        format!(
            "master_process off; daemon off; pid {files}/idle.pid; error_log /dev/null crit;\n\
             worker_rlimit_nofile {room}; events {{ worker_connections {room}; }}\n\
             http {{ access_log off; keepalive_timeout 300s; {certificate}\n\
             server {{ listen 127.0.0.1:{port} backlog=4096{options}; location / {{ {answer} }} }} }}\n"
        )
    }
}

#[cfg(test)]
mod tests {
    //! Kinds and their configurations.
    use super::*;

    #[test]
    fn kinds_are_known_by_name() {
        let names = |words| chosen(words).map(|them| them.iter().map(|it| it.name).collect());
        let all: Vec<_> = names(None).unwrap();
        assert_eq!(all, ["h1", "tls", "h2tls", "h2", "tcp", "ws", "wstls"]);
        let some: Vec<_> = names(Some("ws,h3")).unwrap();
        assert_eq!(some, ["ws", "h3"]);
        assert!(chosen(Some("udp")).is_err());
    }

    #[test]
    fn every_kind_has_an_answer() {
        for kind in KINDS {
            let text = kind.configuration(Path::new("dir"), 19701, 10);
            let returns = text.contains("http-request return");
            let relays = text.contains("server s 127.0.0.1:19700");
            assert!(returns != relays && !text.contains("{w}"), "{}", kind.name);
            assert_eq!(text.contains("mode tcp"), kind.name == "tcp");
            assert_eq!(text.contains("quic4@"), kind.name == "h3");
            let text = kind.nginx(Path::new("dir"), 19701, 10);
            assert_eq!(text.contains("ssl"), !kind.bind.is_empty(), "{}", kind.name);
        }
    }
}
