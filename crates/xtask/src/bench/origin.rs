//! The web server behind the proxies: nginx on processor 1. Never logs.

use std::path::{Path, PathBuf};

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
