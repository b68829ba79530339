//! An HAProxy process with a peers section, and its runtime socket.

use crate::clock;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// An entry of a table as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    /// Values by the name of their type.
    pub(crate) fields: BTreeMap<String, String>,
    /// Milliseconds that the entry has left.
    pub(crate) left: u64,
}

/// A running HAProxy.
pub(crate) struct Haproxy {
    program: PathBuf,
    directory: PathBuf,
    process: Child,
    port: u16,
}

impl Haproxy {
    /// Starts HAProxy as the peer `A` of a peer `B` on this port, with these tables in its section
    /// `p`; `None` where none is installed.
    pub(crate) fn start(other: u16, tables: &str) -> Option<Haproxy> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let program = std::env::var_os("PEERS_HAPROXY").unwrap_or("/usr/sbin/haproxy".into());
        let program = PathBuf::from(program);
        if !program.exists() {
            eprintln!("skipped: {} is not installed", program.display());
            return None;
        }
        let number = NUMBER.fetch_add(1, Relaxed);
        let name = format!("weir-peers-{}-{number}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory).expect("a directory for the test");
        let port = {
            let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
            free.local_addr().expect("bound").port()
        };
        let configuration = format!(
            "global\n  localpeer A\n  stats socket {0}/socket level admin\n\
             defaults\n  mode http\n  timeout connect 5s\n  timeout client 5s\n  timeout server 5s\n\
             peers p\n  peer A 127.0.0.1:{port}\n  peer B 127.0.0.1:{other}\n{tables}\
             frontend f\n  bind {0}/frontend\n  http-request return status 200\n",
            directory.display()
        );
        std::fs::write(directory.join("cfg"), configuration).expect("a file of the test");
        let process = spawn(&program, &directory);
        let haproxy = Haproxy { program, directory, process, port };
        haproxy.wait();
        Some(haproxy)
    }

    /// Kills the process and starts another one.
    pub(crate) fn restart(&mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("a child of ours");
        let _ = std::fs::remove_file(self.directory.join("socket"));
        self.process = spawn(&self.program, &self.directory);
        self.wait();
    }

    fn wait(&self) {
        let until = clock::now() + Duration::from_secs(15);
        while UnixStream::connect(self.directory.join("socket")).is_err() {
            assert!(clock::now() < until, "HAProxy does not start");
            clock::pause();
        }
    }

    /// The port on which it waits for peers.
    pub(crate) fn peer_port(&self) -> u16 {
        self.port
    }

    /// Runs a command.
    pub(crate) fn run(&self, command: &str) -> String {
        let mut socket = UnixStream::connect(self.directory.join("socket")).expect("HAProxy runs");
        socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a socket");
        writeln!(socket, "{command}").expect("HAProxy runs");
        let mut said = String::new();
        socket.read_to_string(&mut said).expect("HAProxy answers");
        said
    }

    /// The entries of a table by key.
    pub(crate) fn table(&self, name: &str) -> BTreeMap<String, Shown> {
        let text = self.run(&format!("show table {name}"));
        text.lines().filter(|line| line.contains(": key=")).map(entry).collect()
    }

    /// Breaches of the protocol that it has counted.
    pub(crate) fn protocol_errors(&self) -> u32 {
        let text = self.run("show peers p");
        let counts = text.split_whitespace().filter_map(|word| word.strip_prefix("proto_err="));
        counts.map(|count| count.parse::<u32>().expect("a number")).sum()
    }
}

fn spawn(program: &PathBuf, directory: &std::path::Path) -> Child {
    let mut command = Command::new(program);
    command.arg("-db").arg("-f").arg(directory.join("cfg"));
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("HAProxy starts")
}

/// One line of `show table`.
fn entry(line: &str) -> (String, Shown) {
    let (_, rest) = line.split_once(": key=").expect("an entry");
    let (key, rest) = rest.split_once(" use=").expect("an entry");
    let mut fields = BTreeMap::new();
    let mut left = 0;
    for word in rest.split_whitespace().skip(1) {
        let (name, value) = word.split_once('=').expect("a field");
        if name == "exp" {
            left = value.parse().expect("a number");
            continue;
        }
        // Rates are listed with their period.
        let name = name.split('(').next().unwrap_or(name);
        fields.insert(name.to_string(), value.to_string());
    }
    (key.to_string(), Shown { fields, left })
}

impl Drop for Haproxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
