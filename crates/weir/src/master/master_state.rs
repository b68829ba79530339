//! State of a master and its processes, also as text, which the program receives when the master
//! re-executes itself.

use super::delivery;
use admin::master::{Process, ProcessKind};
use admin::{CliSocket, Level, Reload, Reloads};
use reactor::Handle;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// Environment variables with the state of a master.
const STATE: &str = "WEIR_MASTER";
const PROGRAM: &str = "WEIR_MASTER_PROGRAM";
const DIRECTORY: &str = "WEIR_MASTER_DIRECTORY";
/// Apart from the state, so that programs of earlier versions understand that.
const RELOADS: &str = "WEIR_MASTER_RELOADS";

/// A process that was started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Child {
    pub(crate) process: Process,
    /// Our end of the pair over which a worker takes commands; -1 for a program.
    pub(crate) channel: i32,
}

impl Child {
    /// A process that has just been started; `channel` is -1 for a program.
    pub(crate) fn new(pid: u32, kind: ProcessKind, name: &str, channel: i32) -> Self {
        let version = match kind {
            ProcessKind::Program => "-",
            _ => crate::version::VERSION,
        };
        let process = Process {
            pid,
            kind,
            name: name.to_owned(),
            reloads: 0,
            started: now(),
            version: version.to_owned(),
            leaving: false,
        };
        Self { process, channel }
    }
}

/// State that outlives a reload.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    /// Path of the program's file as found at the start: reloads run the file that is there by
    /// then.
    program: PathBuf,
    /// The directory that relative paths of the command line refer to.
    directory: PathBuf,
    /// When the master was started, in seconds since 1970.
    pub(crate) started: u64,
    pub(crate) reloads: u32,
    /// Failed reloads since the last successful one.
    pub(crate) failed: u32,
    /// `no-exit-on-failure`
    pub(crate) stays: bool,
    pub(crate) children: Vec<Child>,
    /// Its own runtime sockets.
    pub(crate) sockets: Vec<(Handle, CliSocket)>,
    /// The last starts and reloads, oldest first.
    pub(crate) history: Vec<Reload>,
    /// The client that waits for the result of the reload.
    pub(crate) asked: Option<i32>,
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    sys::clock::wall() / 1_000_000_000
}

impl Record {
    /// The state of a new master.
    ///
    /// # Errors
    /// The program's path is unknown.
    pub(crate) fn new(directory: PathBuf) -> io::Result<Self> {
        let program = std::env::current_exe()?;
        Ok(Self { program, directory, started: now(), ..Self::default() })
    }

    /// The state that this process had as a master before it executed the program again.
    pub(crate) fn inherited() -> Option<Self> {
        let text = std::env::var(STATE).ok()?;
        let path = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let (program, directory) = (path(PROGRAM)?, path(DIRECTORY)?);
        let history = std::env::var(RELOADS).map(|text| parse_history(&text)).unwrap_or_default();
        let parsed = Self::parse(&text, std::process::id())?;
        let record = Self { program, directory, history, ..parsed };
        // Other programs are no masters.
        [STATE, PROGRAM, DIRECTORY, RELOADS].into_iter().for_each(sys::fork::remove_variable);
        record.keep(false);
        Some(record)
    }

    /// Executes the program again, with the same command line.
    pub(crate) fn become_anew(&mut self) -> io::Error {
        let before = self.clone();
        self.reloads += 1;
        self.children.iter_mut().for_each(|child| child.process.reloads += 1);
        self.keep(true);
        let own: [(OsString, OsString); 4] = [
            (STATE.into(), self.text(std::process::id()).into()),
            (RELOADS.into(), history_text(&self.history).into()),
            (PROGRAM.into(), self.program.clone().into()),
            (DIRECTORY.into(), self.directory.clone().into()),
        ];
        let env: Vec<_> = std::env::vars_os().chain(own).collect();
        let args: Vec<OsString> = std::env::args_os().collect();
        let held = sys::signal::block(&super::SIGNALS, true);
        let moved = held.and_then(|()| std::env::set_current_dir(&self.directory));
        let error = match moved {
            Ok(()) => sys::fork::exec(self.program.as_os_str(), &args, &env),
            Err(error) => error,
        };
        self.keep(false);
        *self = before;
        error
    }

    /// Notes the result of a start or a reload; `pid` is the worker's, or the master's if it
    /// failed.
    pub(crate) fn note(&mut self, pid: u32, failed: bool, text: &str) -> &Reload {
        let at = self.history.len() + 1;
        self.history.drain(..at.saturating_sub(Reloads::MOST));
        let text = text.chars().take(LONGEST_NOTE).collect::<String>().replace(['\t', '\n'], " ");
        self.history.push(Reload { at: now(), pid, failed, text });
        &self.history[self.history.len() - 1]
    }

    /// Sets whether the master's descriptors stay open in the program that this process executes.
    fn keep(&self, keep: bool) {
        let channels = self.children.iter().map(|child| child.channel);
        let own = self.sockets.iter().map(|(handle, _)| handle.0);
        for fd in channels.chain(own).chain(self.asked).filter(|fd| *fd >= 0) {
            let _ = sys::process::keep_across_exec(fd, keep);
        }
    }

    /// Closes what only the master needs: this process is a worker now.
    pub(crate) fn leave(self) {
        let channels = self.children.into_iter().map(|child| child.channel);
        let own = self.sockets.into_iter().map(|(handle, _)| handle.0);
        channels.chain(own).chain(self.asked).for_each(sys::close);
    }

    /// Sends the result of the reload to the client that requested it.
    pub(crate) fn answer(&mut self, text: &str) {
        if let Some(asked) = self.asked.take() {
            // A client that has left needs no answer.
            let _ = sys::socketpair::send(asked, format!("{text}\n\n").as_bytes(), &[]);
            let _ = sys::socket::shutdown_write(asked);
            sys::close(asked);
        }
    }

    /// The worker that serves.
    pub(crate) fn current_worker(&self) -> Option<&Child> {
        let is =
            |child: &&Child| child.process.kind == ProcessKind::Worker && !child.process.leaving;
        self.children.iter().find(is)
    }

    /// A process that has been started.
    pub(crate) fn enter(&mut self, pid: u32, kind: ProcessKind, name: &str, channel: i32) {
        self.children.push(Child::new(pid, kind, name, channel));
    }

    /// Sends a signal to the processes that `which` chooses; returns an alert for each process that
    /// could not be reached.
    #[must_use]
    pub(crate) fn signal(&self, number: i32, which: impl Fn(&Child) -> bool) -> Vec<String> {
        let chosen = self.children.iter().filter(|child| which(child));
        let failed = chosen.filter_map(|child| delivery::deliver(child, number).err());
        failed.map(|error| error.to_string()).collect()
    }

    fn text(&self, pid: u32) -> String {
        let asked = self.asked.unwrap_or(-1);
        let mut text =
            format!("{pid}\t{}\t{}\t{}\t{asked}", self.started, self.reloads, self.failed);
        text += &format!("\t{}\n", u8::from(self.stays));
        for (handle, socket) in &self.sockets {
            let (level, address, maxconn) = (socket.level.name(), &socket.address, socket.maxconn);
            text += &format!("S\t{}\t{level}\t{address}\t{maxconn}\n", handle.0);
        }
        for Child { process: it, channel } in &self.children {
            let letter = if it.kind == ProcessKind::Worker { 'W' } else { 'P' };
            let numbers = [u64::from(it.pid), u64::from(it.reloads), it.started];
            let [pid, reloads, started] = numbers;
            text += &format!(
                "{letter}\t{pid}\t{reloads}\t{started}\t{}\t{channel}\t{}\t{}\n",
                u8::from(it.leaving),
                it.name.replace(['\t', '\n'], " "),
                it.version
            );
        }
        text
    }

    fn parse(text: &str, own_pid: u32) -> Option<Self> {
        let mut lines = text.lines();
        let head: Vec<i64> =
            lines.next()?.split('\t').map(str::parse).collect::<Result<_, _>>().ok()?;
        let [pid, started, reloads, failed, asked, stays] = head[..] else { return None };
        if pid != i64::from(own_pid) {
            return None;
        }
        let mut record = Self {
            started: u64::try_from(started).ok()?,
            reloads: u32::try_from(reloads).ok()?,
            failed: u32::try_from(failed).ok()?,
            stays: stays == 1,
            asked: i32::try_from(asked).ok().filter(|fd| *fd >= 0),
            ..Self::default()
        };
        for line in lines {
            let fields: Vec<&str> = line.split('\t').collect();
            match fields[..] {
                // Programs of earlier versions have no limit.
                ["S", handle, level, address, ref limit @ ..] => {
                    let socket = CliSocket {
                        address: address.to_owned(),
                        level: self::level(level)?,
                        maxconn: limit.first().map_or(Ok(0), |it| it.parse()).ok()?,
                        ..CliSocket::default()
                    };
                    record.sockets.push((Handle(handle.parse().ok()?), socket));
                }
                [kind @ ("W" | "P"), pid, reloads, started, leaving, channel, name, version] => {
                    let process = Process {
                        pid: pid.parse().ok()?,
                        kind: if kind == "W" { ProcessKind::Worker } else { ProcessKind::Program },
                        name: name.to_owned(),
                        reloads: reloads.parse().ok()?,
                        started: started.parse().ok()?,
                        version: version.to_owned(),
                        leaving: leaving == "1",
                    };
                    record.children.push(Child { process, channel: channel.parse().ok()? });
                }
                _ => return None,
            }
        }
        Some(record)
    }
}

/// Characters of a message that are kept.
const LONGEST_NOTE: usize = 200;

fn history_text(history: &[Reload]) -> String {
    let line =
        |it: &Reload| format!("{}\t{}\t{}\t{}\n", it.at, it.pid, u8::from(it.failed), it.text);
    history.iter().map(line).collect()
}

/// A line that is none of ours is left out.
fn parse_history(text: &str) -> Vec<Reload> {
    let reload = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [at, pid, failed, text] = fields[..] else { return None };
        let (at, pid) = (at.parse().ok()?, pid.parse().ok()?);
        Some(Reload { at, pid, failed: failed == "1", text: text.to_owned() })
    };
    text.lines().filter_map(reload).collect()
}

fn level(name: &str) -> Option<Level> {
    [Level::User, Level::Operator, Level::Admin].into_iter().find(|level| level.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_of_reloads_survives_as_text() {
        let mut record = Record::default();
        for number in 0..60 {
            record.note(number, number % 2 == 1, "a\tb\nc");
        }
        assert_eq!(record.history.len(), Reloads::MOST);
        let last = record.history[Reloads::MOST - 1].clone();
        assert_eq!((last.pid, last.failed, last.text.as_str()), (59, true, "a b c"));
        let text = history_text(&record.history);
        assert_eq!(parse_history(&text), record.history);
        assert_eq!(parse_history("x\n1\t2\t0\tok\n").len(), 1);
    }

    #[test]
    fn a_record_survives_as_text() {
        let mut record =
            Record { started: 5, reloads: 2, failed: 1, stays: true, ..Record::default() };
        record.enter(11, ProcessKind::Worker, "", 7);
        record.enter(12, ProcessKind::Program, "a b", -1);
        record.children[0].process.leaving = true;
        let (level, address) = (Level::Operator, "unix@/x".to_owned());
        let socket = CliSocket { address, level, maxconn: 5, ..CliSocket::default() };
        record.sockets.push((Handle(3), socket));
        record.asked = Some(9);
        let text = record.text(100);
        assert!(Record::parse(&text, 101).is_none(), "that of another process");
        let read = Record::parse(&text, 100).expect("its own text");
        assert_eq!((&read.children, read.asked), (&record.children, Some(9)));
        assert_eq!((read.started, read.reloads, read.failed, read.stays), (5, 2, 1, true));
        let told = |record: &Record| {
            let (handle, it) = &record.sockets[0];
            (handle.0, it.address.clone(), it.level, it.maxconn)
        };
        assert_eq!(told(&read), (3, "unix@/x".to_owned(), Level::Operator, 5));
        let before = text.replace("unix@/x\t5\n", "unix@/x\n");
        let read = Record::parse(&before, 100).expect("that of a program before");
        assert_eq!(told(&read).3, 0);
        assert!(Record::parse("x", 100).is_none() && Record::parse("", 100).is_none());
        assert!(Record::parse("100\t1\t1\t1\t-1\t0\nW\t1", 100).is_none());
    }
}
