//! A master with its own runtime socket, and what the system knows of processes.

use super::{PATIENCE, Running, Setup, eventually};
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// A master that runs; it and its processes are killed when dropped.
pub(crate) struct Master {
    pub(crate) running: Running,
}

impl Master {
    /// Starts one with the arguments given.
    pub(crate) fn start(setup: Setup, arguments: &[&str]) -> Self {
        let own = ["-S", "<dir>/master"];
        let running = setup.arguments(&[arguments, &own].concat()).start();
        let master = Self { running };
        // Its commands are answered when its worker serves.
        master.cli("show proc");
        master
    }

    pub(crate) fn pid(&self) -> u32 {
        self.running.pid()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.running.path(name)
    }

    /// The answer of the master's socket to a line, without the empty line at its end.
    pub(crate) fn cli(&self, line: &str) -> String {
        self.raw(line).trim_end().to_owned()
    }

    /// The answer, to the byte.
    pub(crate) fn raw(&self, line: &str) -> String {
        let path = self.path("master");
        // A master that executes itself again drops connections from which it has not read.
        let mut stream = eventually("the master's socket", || {
            let mut stream = UnixStream::connect(&path).ok()?;
            stream.write_all(format!("{line}\n").as_bytes()).is_ok().then_some(stream)
        });
        stream.set_read_timeout(Some(PATIENCE)).expect("a unix socket");
        stream.shutdown(std::net::Shutdown::Write).expect("it is open");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    /// The number of the worker that serves.
    pub(crate) fn worker(&self) -> u32 {
        let info = self.cli("@1 show info");
        let pid = info.lines().find_map(|line| line.strip_prefix("Pid: "));
        pid.and_then(|pid| pid.parse().ok()).unwrap_or_else(|| panic!("no worker: {info}"))
    }

    /// The worker, when no other worker is left.
    pub(crate) fn settled(&self) -> u32 {
        eventually("old workers are gone", || {
            let shown = self.cli("show proc");
            (!shown.contains("# old workers")).then_some(())
        });
        self.worker()
    }
}

impl Drop for Master {
    fn drop(&mut self) {
        let shown = match self.path("master").exists() && !std::thread::panicking() {
            true => self.cli_now("show proc"),
            false => String::new(),
        };
        let pids = shown.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok());
        let all: Vec<u32> = pids.chain(children(self.pid())).collect();
        for pid in all.into_iter().filter(|pid| *pid > 1) {
            let _ = sys::signal::send(pid as i32, sys::signal::KILL);
        }
    }
}

impl Master {
    /// The answer, if the socket is there.
    fn cli_now(&self, line: &str) -> String {
        let mut answer = String::new();
        if let Ok(mut stream) = UnixStream::connect(self.path("master")) {
            let _ = stream.set_read_timeout(Some(PATIENCE));
            let _ = stream.write_all(format!("{line}\n").as_bytes());
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.read_to_string(&mut answer);
        }
        answer
    }
}

/// The processes that a process has started.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// How many descriptors a process has.
pub(crate) fn descriptors(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}
