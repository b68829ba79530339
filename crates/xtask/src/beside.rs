//! HAProxy and Weir side by side: their programs, how they are started, and how commands are sent
//! to them.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::args::Parsed;
use crate::bench::files::Files;
use crate::bench::process::Process;
use crate::failure::{self, Outcome};
use crate::{clock, tools, workspace};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The programs to compare, HAProxy first, from `--haproxy` and `--weir`. Says so if there is no
/// HAProxy.
pub(crate) fn programs(parsed: &Parsed) -> Outcome<Option<[PathBuf; 2]>> {
    let haproxy = match parsed.value("--haproxy") {
        Some(name) => tools::resolve(name)?,
        None if tools::find(tools::HAPROXY.program).is_none() => {
            println!("skipped: there is no haproxy to compare with");
            return Ok(None);
        }
        None => tools::resolve(tools::HAPROXY.program)?,
    };
    let weir = match parsed.value("--weir") {
        Some(name) => tools::resolve(name)?,
        None => workspace::debug_binary(&workspace::root()?)?,
    };
    Ok(Some([haproxy, weir]))
}

/// One of both at work. Its sockets are in a directory of its own: `cli`, the runtime socket, and
/// those that its configuration names.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) directory: PathBuf,
    _process: Process,
}

impl Program {
    /// Starts the program with a configuration made from its directory, and waits until it answers.
    pub(crate) fn start(
        files: &Files,
        name: &'static str,
        binary: &Path,
        configuration: impl FnOnce(&Path) -> Outcome<String>,
    ) -> Outcome<Self> {
        let directory = files.path().join(name);
        std::fs::create_dir_all(&directory)
            .map_err(|error| failure::machine(format!("{}: {error}", directory.display())))?;
        let file = files.write(&format!("{name}.cfg"), configuration(&directory)?)?;
        let output = directory.join("output");
        let mut command = Command::new(binary);
        let process = Process::start(command.arg("-f").arg(file).arg("-db"), Some(&output))?;
        let program = Self { name, directory, _process: process };
        let answers = || program.ask("show version").is_ok_and(|answer| !answer.is_empty());
        if !clock::wait_until(PATIENCE, Duration::from_millis(50), answers) {
            let text = std::fs::read_to_string(&output).unwrap_or_default();
            return Err(failure::check(format!("{name} did not start: {text}")));
        }
        Ok(program)
    }

    /// The answer of the runtime socket.
    pub(crate) fn ask(&self, command: &str) -> Outcome<String> {
        let mut stream = self.connect("cli")?;
        self.said(stream.write_all(format!("{command}\n").as_bytes()))?;
        // A prompt would otherwise wait for the next command.
        self.said(stream.shutdown(Shutdown::Write))?;
        self.rest(stream)
    }

    /// The bytes from one of the sockets until it is closed.
    pub(crate) fn talk(&self, socket: &str, text: &str) -> Outcome<String> {
        let mut stream = self.connect(socket)?;
        self.said(stream.write_all(text.as_bytes()))?;
        self.rest(stream)
    }

    fn connect(&self, socket: &str) -> Outcome<UnixStream> {
        let stream = self.said(UnixStream::connect(self.directory.join(socket)))?;
        self.said(stream.set_read_timeout(Some(PATIENCE)))?;
        Ok(stream)
    }

    fn rest(&self, mut stream: UnixStream) -> Outcome<String> {
        let mut answer = Vec::new();
        self.said(stream.read_to_end(&mut answer))?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    fn said<T>(&self, result: std::io::Result<T>) -> Outcome<T> {
        result.map_err(|error| failure::check(format!("{}: {error}", self.name)))
    }
}
