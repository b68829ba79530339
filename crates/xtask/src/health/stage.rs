//! One program before its actors.

use std::path::Path;
use std::time::Duration;

use super::actors::{Agent, Log, MailServer, Origin};
use super::plan::{self, ORIGINS, Step};
use super::seen::{self, Seen};
use crate::bench::files::Files;
use crate::beside::Program;
use crate::clock;
use crate::failure::Outcome;

/// How often, and how long after each other, a moment between checks is looked for.
const GLANCES: usize = 300;
const GLANCE: Duration = Duration::from_millis(7);

pub(super) struct HealthTestBed {
    program: Program,
    origins: Vec<Origin>,
    agent: Agent,
    mails: MailServer,
    log: Log,
}

impl HealthTestBed {
    /// Starts a program with actors of its own.
    pub(super) fn start(files: &Files, name: &'static str, binary: &Path) -> Outcome<Self> {
        let origins = ORIGINS.iter().map(|_| Origin::start()).collect::<Outcome<Vec<_>>>()?;
        let (agent, mails, log) = (Agent::start()?, MailServer::start()?, Log::start()?);
        let ports = std::array::from_fn(|place| origins[place].port());
        let others = (agent.port, mails.port, log.port);
        let text = |place: &Path| Ok(plan::configuration(&place.display(), ports, others));
        let program = Program::start(files, name, binary, text)?;
        Ok(Self { program, origins, agent, mails, log })
    }

    pub(super) fn play(&self, step: &Step) -> Outcome {
        match step {
            Step::Origin(place, manner) => self.origins[*place].behave(*manner),
            Step::Agent(words) => self.agent.say(words),
            Step::Command(line) => drop(self.program.ask(line)?),
            Step::Requests(place, count) => {
                let request = format!(
                    "GET /{} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
                    ORIGINS[*place]
                );
                for _ in 0..*count {
                    self.program.talk("fe", &request)?;
                }
            }
        }
        Ok(())
    }

    /// A value that changes with every event of the run.
    pub(super) fn pulse(&self) -> Outcome<(usize, usize, Vec<String>)> {
        let states = seen::states(&self.program.ask("show servers state")?);
        let states = states.iter().map(|row| seen::at_rest(row)).collect();
        Ok((self.log.count(), self.mails.count(), states))
    }

    /// The events since the last call, and the present state.
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
        let answer = self.program.ask("show servers state;show stat -1 4 -1")?;
        let (states, figures) = answer.split_once("# pxname").unwrap_or((&answer, ""));
        Ok((seen::states(states), seen::checks(figures)))
    }
}
