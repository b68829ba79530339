//! The web server behind the proxies: nginx on processor 1.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::files::Files;
use super::process::{self, Process};
use crate::failure::{self, Outcome};
use crate::tools;

/// Ports of the two origins that `compare` balances over.
pub(super) const PORTS: [u16; 2] = [19001, 19002];

/// The port on which the origin of `compare` speaks TLS, where the directory has a certificate.
pub(super) const TLS_PORT: u16 = 19003;

/// The certificate of the workloads, in the directory of files.
pub(super) const CERTIFICATE: &str = "ec.pem";

/// The answer to every small request: 64 bytes.
const BODY: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Starts one nginx that listens on all `ports`: 64 bytes at any path, random bytes at `/1m`,
/// `/100k` and `/1k`, and text that compresses as pages do at `/64k`.
pub(super) fn start(files: &Files, name: &str, ports: &[u16]) -> Outcome<Process> {
    if !files.path().join("1m").exists() {
        files.write_random("1m", 1 << 20)?;
        files.write_random("100k", 100 << 10)?;
        files.write_random("1k", 1 << 10)?;
        files.write("64k", page(64 << 10))?;
    }
    let configuration = files.write(&format!("{name}.conf"), nginx(files.path(), name, ports))?;
    let mut command = process::pinned(1, &program());
    let origin = Process::start(command.arg("-c").arg(configuration), None)?;
    match ports.iter().find(|port| !process::wait_for_port(**port)) {
        None => Ok(origin),
        Some(port) => Err(failure::machine(format!("nginx does not listen on port {port}"))),
    }
}

/// Text of `size` bytes: HTML, JSON and JavaScript by turns, with words in an order that does not
/// repeat.
fn page(length: usize) -> String {
    const WORDS: [&str; 16] = [
        "server",
        "latency",
        "buffer",
        "request",
        "a",
        "of",
        "the",
        "stream",
        "connection",
        "for",
        "queue",
        "weight",
        "in",
        "balance",
        "health",
        "is",
    ];
    let (mut text, mut state) = (String::with_capacity(length + 256), 1u64);
    let mut draw = move || {
        // A linear congruential generator (Knuth, MMIX).
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    while text.len() < length {
        let words: Vec<&str> = (0..12).map(|_| WORDS[draw() % WORDS.len()]).collect();
        let (number, sentence) = (draw() % 100_000, words.join(" "));
        text += &match number % 3 {
            0 => format!("<div class=\"row\" id=\"r{number}\"><p>{sentence}</p></div>\n"),
            1 => format!(
                "{{\"id\": {number}, \"name\": \"{}\", \"text\": \"{sentence}\"}},\n",
                words[0]
            ),
            _ => format!("function f{number}(x) {{ return \"{sentence}\" + x[{number}]; }}\n"),
        };
    }
    text.truncate(length);
    text
}

/// Starts an nginx on any processor that counts its requests.
pub(super) fn start_counting(files: &Files, name: &str, port: u16) -> Outcome<Process> {
    let configuration = files.write(&format!("{name}.conf"), counting(files.path(), name, port))?;
    let mut command = Command::new(program());
    let origin = Process::start(command.arg("-c").arg(configuration), None)?;
    match process::wait_for_port(port) {
        true => Ok(origin),
        false => Err(failure::machine(format!("nginx does not listen on port {port}"))),
    }
}

/// Requests that a counting origin has had so far, this question included.
pub(super) fn requests(port: u16) -> Outcome<u64> {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.write_all(b"GET /status HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = ask().map_err(|error| failure::machine(format!("the origin's count: {error}")))?;
    count(&answer).ok_or_else(|| failure::machine("the origin tells no count"))
}

/// The third number below `server accepts handled requests`.
fn count(status: &str) -> Option<u64> {
    let (_, rest) = status.split_once("requests")?;
    rest.split_whitespace().nth(2)?.parse().ok()
}

fn counting(directory: &Path, name: &str, port: u16) -> String {
    let directory = directory.display();
    format!(
        "master_process off; daemon off; pid {directory}/{name}.pid; error_log /dev/null crit;\n\
         worker_rlimit_nofile 20000; events {{ worker_connections 16384; }}\n\
         http {{ access_log off; server {{ listen 127.0.0.1:{port} backlog=4096; \
         location / {{ return 200 ok; }} location /status {{ stub_status; }} }} }}\n"
    )
}

pub(super) fn program() -> PathBuf {
    tools::find("nginx").unwrap_or_else(|| "nginx".into())
}

/// One process without a master, so that killing it leaves no child.
fn nginx(directory: &Path, name: &str, ports: &[u16]) -> String {
    let directory = directory.display();
    let servers: String = ports
        .iter()
        .map(|port| {
            format!(
                " server {{ listen 127.0.0.1:{port} backlog=4096; \
                 location / {{ return 200 \"{BODY}\"; }} location /1m {{ alias {directory}/1m; }} \
                 location /64k {{ alias {directory}/64k; }} \
                 location /100k {{ alias {directory}/100k; expires 1h; }} \
                 location /1k {{ alias {directory}/1k; expires 1h; }} }}\n"
            )
        })
        .collect();
    let tls = match ports == PORTS && Path::new(&format!("{directory}/{CERTIFICATE}")).exists() {
        true => format!(
            " server {{ listen 127.0.0.1:{TLS_PORT} ssl backlog=4096; \
             ssl_certificate {directory}/{CERTIFICATE}; \
             ssl_certificate_key {directory}/{CERTIFICATE}; location / {{ return 200 \"{BODY}\"; }} }}\n"
        ),
        false => String::new(),
    };
    format!(
        "master_process off; daemon off; pid {directory}/{name}.pid; error_log /dev/null crit;\n\
         events {{ worker_connections 16384; }}\n\
         http {{ access_log off; default_type text/html; keepalive_requests 100000000; keepalive_timeout 300; sendfile on;\n\
         {servers}{tls}}}\n"
    )
}

#[cfg(test)]
mod tests {
    //! Reading the status page.
    use super::*;

    #[test]
    fn a_page_has_its_length_and_three_kinds_of_text() {
        let text = page(10_000);
        assert_eq!(text.len(), 10_000);
        assert!(["<div", "\"id\":", "function"].iter().all(|part| text.contains(part)));
    }

    #[test]
    fn reads_the_count() {
        let page = "Active connections: 1 \nserver accepts handled requests\n 5 5 17 \nReading: 0";
        assert_eq!(count(page), Some(17));
        assert_eq!(count("404"), None);
    }
}
