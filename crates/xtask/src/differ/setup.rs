//! The configuration that both proxies run, and their processes.

use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::bench::files::Files;
use crate::bench::process::Process;
use crate::clock;
use crate::failure::{self, Outcome};

/// The options of each listener.
pub(super) const VARIANTS: &[(&str, &str)] = &[
    ("default", ""),
    ("server-close", "option http-server-close"),
    ("close", "option httpclose"),
    ("lenient", "option accept-invalid-http-request\n    option accept-invalid-http-response"),
    ("delete", "option http-restrict-req-hdr-names delete"),
    ("reject", "option http-restrict-req-hdr-names reject"),
    ("buffer", "option http-buffer-request"),
];

/// One proxy at work, with the origin's sockets.
pub(super) struct Proxy {
    pub(super) name: &'static str,
    directory: PathBuf,
    _process: Process,
}

/// The peers of one of the threads that play exchanges.
pub(super) struct Lane {
    pub(super) name: &'static str,
    fronts: Vec<PathBuf>,
    /// The origin behind all of them.
    pub(super) origin: UnixListener,
}

impl Proxy {
    /// Starts a proxy with listeners for this many threads.
    pub(super) fn start(
        files: &Files,
        name: &'static str,
        binary: &Path,
        lanes: usize,
    ) -> Outcome<Self> {
        let directory = files.path().join(name);
        std::fs::create_dir_all(&directory)
            .map_err(|error| failure::machine(format!("{}: {error}", directory.display())))?;
        let file = files.write(&format!("{name}.cfg"), configuration(&directory, lanes))?;
        let log = directory.join("output");
        let mut command = Command::new(binary);
        let process = Process::start(command.arg("-f").arg(file).arg("-db"), Some(&log))?;
        let last = front(&directory, lanes - 1, VARIANTS.len() - 1);
        let listens = || UnixStream::connect(&last).is_ok();
        if !clock::wait_until(Duration::from_secs(10), Duration::from_millis(20), listens) {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            return Err(failure::check(format!("{name} did not start: {text}")));
        }
        Ok(Self { name, directory, _process: process })
    }

    /// The sockets of one thread.
    pub(super) fn lane(&self, lane: usize) -> Outcome<Lane> {
        let path = origin(&self.directory, lane);
        let listener = UnixListener::bind(&path)
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .map_err(|error| failure::machine(format!("{}: {error}", path.display())))?;
        let fronts = (0..VARIANTS.len()).map(|it| front(&self.directory, lane, it)).collect();
        Ok(Lane { name: self.name, fronts, origin: listener })
    }
}

impl Lane {
    /// A new connection to the listener with these options.
    pub(super) fn connect(&self, variant: usize) -> std::io::Result<UnixStream> {
        let stream = UnixStream::connect(&self.fronts[variant])?;
        stream.set_nonblocking(true)?;
        Ok(stream)
    }
}

fn front(directory: &Path, lane: usize, variant: usize) -> PathBuf {
    directory.join(format!("f{lane}-{variant}"))
}

fn origin(directory: &Path, lane: usize) -> PathBuf {
    directory.join(format!("o{lane}"))
}

fn configuration(directory: &Path, lanes: usize) -> String {
    let mut text = "global\n    nbthread 1\n    maxconn 2000\n\
        defaults\n    mode http\n    timeout connect 2s\n    timeout client 20s\n    \
        timeout server 20s\n    retries 0\n    http-reuse never\n"
        .to_owned();
    for lane in 0..lanes {
        for (variant, (name, options)) in VARIANTS.iter().enumerate() {
            text.push_str(&format!(
                "listen {name}{lane}\n    bind unix@{}\n    {options}\n    server s unix@{}\n",
                front(directory, lane, variant).display(),
                origin(directory, lane).display(),
            ));
        }
    }
    text
}
