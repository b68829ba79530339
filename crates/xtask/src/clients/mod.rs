//! `cargo xtask clients`: TLS clients of several libraries before Weir, with and without a
//! certificate of their own, and with sessions that are resumed; and a browser over HTTP/3.

mod browser;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::bench::files::Files;
use crate::bench::process::{self, Process};
use crate::failure::{self, Outcome};
use crate::{args, tools, workspace};

pub(crate) const HELP: &str = "\
usage: cargo xtask clients [--weir BINARY]

Starts weir with a certificate of a private authority, and has curl, openssl s_client, Python and Go
ask it twice each, over two connections: with TLS 1.2 and 1.3, with and without a certificate of their
own; s_client also with the second request before the handshake is over (0-RTT). They have to accept
weir's certificate, weir has to see theirs, and the second session has to be a resumed one. Chromium,
forced to QUIC, shows a page whose script makes fifty requests at the same time over HTTP/3. Clients that
are not there are named and left out.

  --weir     the program to ask (default: weir, built in debug mode)

Exit status 1 if a client got another answer. Needs openssl for the certificates.
";

const FLAGS: &[args::Flag] = &[args::value("--weir")];

/// Where weir listens.
const PORT: u16 = 19181;

/// A client: its program, a text for it to run, and the words before the name of that text.
struct Client {
    program: &'static str,
    file: &'static str,
    text: &'static str,
    words: &'static [&'static str],
    /// Whether it can ask before its handshake is over.
    early: bool,
}

const CLIENTS: &[Client] = &[
    Client {
        program: "curl",
        file: "curl.sh",
        text: include_str!("programs/curl.sh"),
        words: &["sh"],
        early: false,
    },
    Client {
        program: "openssl",
        file: "openssl.sh",
        text: include_str!("programs/openssl.sh"),
        words: &["sh"],
        early: true,
    },
    Client {
        program: "python3",
        file: "python.py",
        text: include_str!("programs/python.py"),
        words: &["python3"],
        early: false,
    },
    Client {
        program: "go",
        file: "go.go",
        text: include_str!("programs/go.go"),
        words: &["go", "run"],
        early: false,
    },
];

/// The request that a client makes.
#[derive(Clone, Copy)]
struct TlsCase {
    version: &'static str,
    certificate: bool,
    early: bool,
}

const CASES: [TlsCase; 6] = [
    TlsCase { version: "1.2", certificate: false, early: false },
    TlsCase { version: "1.2", certificate: true, early: false },
    TlsCase { version: "1.3", certificate: false, early: false },
    TlsCase { version: "1.3", certificate: true, early: false },
    TlsCase { version: "1.3", certificate: false, early: true },
    TlsCase { version: "1.3", certificate: true, early: true },
];

impl TlsCase {
    /// The answers of weir to the first and to the second request.
    fn answers(self) -> String {
        let seen = if self.certificate { "1 client" } else { "0 -" };
        let taken = if self.early { "Early data was accepted\n" } else { "" };
        format!("TLSv{0} {seen} 0\n{taken}TLSv{0} {seen} 1\n", self.version)
    }

    fn name(self) -> String {
        let own = if self.certificate { "with a certificate" } else { "without" };
        let when = if self.early { ", 0-RTT" } else { "" };
        format!("TLS {} {own}{when}", self.version)
    }
}

pub(crate) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, FLAGS)?;
    tools::require(&[tools::OPENSSL])?;
    let weir = match parsed.value("--weir") {
        Some(name) => tools::resolve(name)?,
        None => workspace::debug_binary(&workspace::root()?)?,
    };
    let files = Files::new("clients")?;
    make_certificates(files.path())?;
    files.write("page.html", browser::PAGE)?;
    let file = files.write("weir.cfg", configuration(files.path()))?;
    let mut command = Command::new(weir);
    let _weir = Process::start(command.arg("-f").arg(file).arg("-db"), None)?;
    if !process::wait_for_port(PORT) {
        return Err(failure::check("weir did not start"));
    }
    let mut wrong = 0;
    for client in CLIENTS {
        if tools::find(client.program).is_none() {
            println!("{:8} skipped: it is not there", client.program);
            continue;
        }
        let script = files.write(client.file, client.text)?;
        for case in CASES.iter().filter(|case| client.early || !case.early) {
            let verdict = ask(client, &script, *case, files.path())?;
            wrong += usize::from(verdict.is_some());
            let verdict = verdict.map_or("ok".to_owned(), |got| format!("WRONG: {got}"));
            println!("{:8} {:33} {verdict}", client.program, case.name());
        }
    }
    wrong += usize::from(!shows_page(files.path())?);
    match wrong {
        0 => Ok(()),
        _ => Err(failure::check(format!("{wrong} answers are not what they should be"))),
    }
}

/// Whether the browser shows its page, or is not there.
fn shows_page(directory: &Path) -> Outcome<bool> {
    if !browser::is_there() {
        println!("{:8} skipped: it is not there", browser::PROGRAM);
        return Ok(true);
    }
    let wrong = browser::show(directory)?;
    let verdict = wrong.as_ref().map_or("ok".to_owned(), |got| format!("WRONG: {got}"));
    println!("{:8} {:33} {verdict}", browser::PROGRAM, "a page over HTTP/3");
    Ok(wrong.is_none())
}

/// The answer to a client, if it is not the expected one.
fn ask(client: &Client, script: &Path, case: TlsCase, directory: &Path) -> Outcome<Option<String>> {
    let own = if case.certificate { directory.join("client.pem") } else { PathBuf::new() };
    let (program, words) = client.words.split_first().unwrap_or((&client.program, &[]));
    let output = Command::new(program)
        .args(words)
        .arg(script)
        .current_dir(directory)
        .env("PORT", PORT.to_string())
        .env("VERSION", case.version)
        .env("CA", directory.join("ca.pem"))
        .env("CERTIFICATE", own)
        .env("EARLY", if case.early { "1" } else { "" })
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failure::machine(format!("cannot start {program}: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let got = || format!("{text:?} {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok((text != case.answers()).then(got))
}

/// An authority, and two certificates that it has signed, each with its key.
fn make_certificates(directory: &Path) -> Outcome {
    let make = |name: &str, subject: &str, more: &[&str]| -> Outcome {
        let (certificate, key) = (format!("{name}.crt"), format!("{name}.key"));
        let status = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"])
            .args([
                "-nodes",
                "-days",
                "30",
                "-subj",
                subject,
                "-keyout",
                &key,
                "-out",
                &certificate,
            ])
            .args(more)
            .current_dir(directory)
            .stderr(Stdio::null())
            .status();
        let read = |name: &str| std::fs::read(directory.join(name)).ok();
        let both = read(&certificate).zip(read(&key)).map(|(one, other)| [one, other].concat());
        match both.filter(|_| status.is_ok_and(|status| status.success())) {
            Some(both) => std::fs::write(directory.join(format!("{name}.pem")), both)
                .map_err(|error| failure::machine(format!("{name}.pem: {error}"))),
            None => Err(failure::machine("openssl cannot make a certificate")),
        }
    };
    let signed = ["-CA", "ca.crt", "-CAkey", "ca.key", "-addext"];
    make("ca", "/CN=Private authority", &[])?;
    make("server", "/CN=localhost", &[&signed[..], &[SERVER_NAMES]].concat())?;
    make("client", "/CN=client", &[&signed[..], &["extendedKeyUsage=clientAuth"]].concat())
}

/// Without a server name, Go checks the address that it connects to.
const SERVER_NAMES: &str = "subjectAltName=DNS:localhost,IP:127.0.0.1";

fn configuration(directory: &Path) -> String {
    let h3 = browser::lines(directory);
    let directory = directory.display();
    format!(
        "global\n    maxconn 100\n\
         defaults\n    mode http\n    timeout client 10s\n    timeout server 10s\n    \
         timeout connect 2s\n\
         frontend fe\n    \
         bind 127.0.0.1:{PORT} ssl crt {directory}/server.pem ca-file {directory}/ca.pem verify optional allow-0rtt\n\
         {h3}    \
         http-request set-var(txn.who) str(-)\n    \
         http-request set-var(txn.who) ssl_c_s_dn(cn) if {{ ssl_c_used }}\n    \
         http-request return status 200 content-type text/plain \
         lf-string \"%[ssl_fc_protocol] %[ssl_c_used] %[var(txn.who)] %[ssl_fc_is_resumed]\\n\"\n"
    )
}
