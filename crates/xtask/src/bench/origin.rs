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

/// The answer to every small request: 64 bytes.
const BODY: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Starts one nginx that listens on all `ports`: 64 bytes at any path, 1 MiB at `/1m`.
pub(super) fn start(files: &Files, name: &str, ports: &[u16]) -> Outcome<Process> {
    if !files.path().join("1m").exists() {
        files.write_random("1m", 1 << 20)?;
    }
    let configuration = files.write(&format!("{name}.conf"), nginx(files.path(), name, ports))?;
    let mut command = process::pinned(1, &program());
    let origin = Process::start(command.arg("-c").arg(configuration), None)?;
    match ports.iter().find(|port| !process::wait_for_port(**port)) {
        None => Ok(origin),
        Some(port) => Err(failure::machine(format!("nginx does not listen on port {port}"))),
    }
}

/// Starts an nginx on any processor that counts what it answers.
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

fn program() -> PathBuf {
    tools::find("nginx").unwrap_or_else(|| "nginx".into())
}

/// One process without a master, so that killing it leaves nothing behind.
fn nginx(directory: &Path, name: &str, ports: &[u16]) -> String {
    let directory = directory.display();
    let servers: String = ports
        .iter()
        .map(|port| {
            format!(
                " server {{ listen 127.0.0.1:{port} backlog=4096; \
                 location / {{ return 200 \"{BODY}\"; }} location /1m {{ alias {directory}/1m; }} }}\n"
            )
        })
        .collect();
    format!(
        "master_process off; daemon off; pid {directory}/{name}.pid; error_log /dev/null crit;\n\
         events {{ worker_connections 16384; }}\n\
         http {{ access_log off; keepalive_requests 100000000; keepalive_timeout 300; sendfile on;\n\
         {servers}}}\n"
    )
}

#[cfg(test)]
mod tests {
    //! Reading the status page.
    use super::*;

    #[test]
    fn reads_the_count() {
        let page = "Active connections: 1 \nserver accepts handled requests\n 5 5 17 \nReading: 0";
        assert_eq!(count(page), Some(17));
        assert_eq!(count("404"), None);
    }
}
