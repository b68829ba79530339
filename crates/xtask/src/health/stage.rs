//! One program before its actors. Never compares.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::actors::{Agent, Log, MailServer, Origin};
use super::plan::{self, ORIGINS, Step};
use super::seen::{self, Seen};
use crate::bench::files::Files;
use crate::bench::process::Process;
use crate::clock;
use crate::failure::{self, Outcome};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often, and how long after each other, a moment between checks is looked for.
const GLANCES: usize = 300;
const GLANCE: Duration = Duration::from_millis(7);

pub(super) struct Stage {
    name: &'static str,
    directory: PathBuf,
    origins: Vec<Origin>,
    agent: Agent,
    mails: MailServer,
    log: Log,
    _process: Process,
}

impl Stage {
    /// Starts a program with actors of its own.
    pub(super) fn start(files: &Files, name: &'static str, binary: &Path) -> Outcome<Self> {
        let directory = files.path().join(name);
        std::fs::create_dir_all(&directory)
            .map_err(|error| failure::machine(format!("{}: {error}", directory.display())))?;
        let origins = ORIGINS.iter().map(|_| Origin::start()).collect::<Outcome<Vec<_>>>()?;
        let (agent, mails, log) = (Agent::start()?, MailServer::start()?, Log::start()?);
        let ports = std::array::from_fn(|place| origins[place].port());
        let others = (agent.port, mails.port, log.port);
        let text = plan::configuration(&directory.display(), ports, others);
        let file = files.write(&format!("{name}.cfg"), text)?;
        let output = directory.join("output");
        let mut command = Command::new(binary);
        let process = Process::start(command.arg("-f").arg(file).arg("-db"), Some(&output))?;
        let stage = Self { name, directory, origins, agent, mails, log, _process: process };
        let answers = || stage.ask("show version").is_ok_and(|answer| !answer.is_empty());
        if !clock::wait_until(PATIENCE, Duration::from_millis(50), answers) {
            let text = std::fs::read_to_string(&output).unwrap_or_default();
            return Err(failure::check(format!("{name} did not start: {text}")));
        }
        Ok(stage)
    }

    pub(super) fn play(&self, step: &Step) -> Outcome {
        match step {
            Step::Origin(place, manner) => self.origins[*place].behave(*manner),
            Step::Agent(words) => self.agent.say(words),
            Step::Command(line) => drop(self.ask(line)?),
            Step::Requests(place, count) => {
                let request = format!(
                    "GET /{} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
                    ORIGINS[*place]
                );
                for _ in 0..*count {
                    self.talk("fe", &request)?;
                }
            }
        }
        Ok(())
    }

    /// Something that changes whenever anything has happened.
    pub(super) fn pulse(&self) -> Outcome<(usize, usize, Vec<String>)> {
        let states = seen::states(&self.ask("show servers state")?);
        let states = states.iter().map(|row| seen::at_rest(row)).collect();
        Ok((self.log.count(), self.mails.count(), states))
    }

    /// What has happened since the last time, and how things are now.
    pub(super) fn take(&self) -> Outcome<Seen> {
        let ports: Vec<u16> = self.origins.iter().map(Origin::port).collect();
        let mut shown = self.servers()?;
        for _ in 0..GLANCES {
            if seen::is_still(&shown.0) {
                break;
            }
            clock::pause(GLANCE);
            shown = self.servers()?;
        }
        let (states, checks) = shown;
        Ok(Seen {
            states,
            checks,
            log: seen::log(self.log.take(), &ports),
            mails: seen::mails(self.mails.take(), &ports),
        })
    }

    /// States, and figures of the same moment.
    fn servers(&self) -> Outcome<(Vec<String>, Vec<String>)> {
        let answer = self.ask("show servers state;show stat -1 4 -1")?;
        let (states, figures) = answer.split_once("# pxname").unwrap_or((&answer, ""));
        Ok((seen::states(states), seen::checks(figures)))
    }

    /// What the runtime socket answers.
    fn ask(&self, command: &str) -> Outcome<String> {
        self.talk("cli", &format!("{command}\n"))
    }

    fn talk(&self, socket: &str, text: &str) -> Outcome<String> {
        let unusable = |error| failure::check(format!("{}, {socket}: {error}", self.name));
        let mut stream = UnixStream::connect(self.directory.join(socket)).map_err(unusable)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(unusable)?;
        stream.write_all(text.as_bytes()).map_err(unusable)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).map_err(unusable)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }
}
