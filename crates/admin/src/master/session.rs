//! The conversation on the master's socket: which process a command is for.

use super::table::{self, Answer};
use super::{ProcessKind, Supervisor, relay};
use crate::channel::{Channel, CliListener, LONGEST, PAYLOAD_TOO_LONG, Place, Room};
use crate::cli::line::{Command, Line, Parser};
use crate::settings::{CliSocket, Level};
use reactor::{Class, Handle, Socket, TaskId, Thread};
use std::io;
use std::rc::Rc;

/// Bytes of input that has been dealt with and is kept at most.
const DONE: usize = 64 * 1024;
/// Bytes of answers that are sent before the next command runs.
const FULL: usize = 64 * 1024;
/// Sessions at once.
const SESSIONS: usize = 100;

/// The state of a session between two commands.
#[derive(Debug, Default)]
pub(super) struct MasterState {
    /// Its level, which can only be lowered.
    pub(super) level: Level,
    /// Whether a prompt is shown and the connection stays open.
    pub(super) interactive: bool,
    pub(super) expert: bool,
    pub(super) experimental: bool,
    /// `mcli-debug-mode`
    pub(super) debug: bool,
    /// The worker that commands go to; `None` is the master.
    pub(super) target: Option<u32>,
    pub(super) quitting: bool,
}

/// Answers commands on a socket that is bound and listens; The `level` of `socket` limits the
/// commands. The task ends with its thread.
pub fn serve(
    thread: &Rc<Thread>,
    handle: Handle,
    socket: &CliSocket,
    supervisor: &Rc<dyn Supervisor>,
) -> TaskId {
    let (level, own, supervisor) = (socket.level, thread.clone(), supervisor.clone());
    let rooms = [Room::new(SESSIONS), Room::of_socket(socket.maxconn)].into();
    let task = async move {
        let begin = |socket, place| {
            let state = MasterState { level, ..MasterState::default() };
            let task = converse(own.clone(), socket, state, supervisor.clone(), place);
            own.scheduler().spawn(Class::Normal, task);
        };
        let thread = own.clone();
        CliListener { thread, rooms, is_over: || false, begin }.run(handle).await;
    };
    thread.scheduler().spawn(Class::Normal, task)
}

struct MasterSession {
    channel: Channel,
    state: MasterState,
    supervisor: Rc<dyn Supervisor>,
    parser: Parser,
}

async fn converse(
    thread: Rc<Thread>,
    socket: Socket,
    state: MasterState,
    supervisor: Rc<dyn Supervisor>,
    _place: Place,
) {
    let channel = Channel::new(&thread, socket.into(), Vec::new());
    let mut session = MasterSession { channel, state, supervisor, parser: Parser::default() };
    // A client that has left needs no answer; one that waits for a reload gets its answer later.
    if matches!(session.talk().await, Ok(SessionEnd::Over)) {
        session.channel.part().await;
    }
}

/// How a conversation ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SessionEnd {
    Over,
    /// The connection belongs to the supervisor now.
    HandedOn,
}

impl MasterSession {
    async fn talk(&mut self) -> io::Result<SessionEnd> {
        loop {
            let open = self.channel.read(None).await?;
            let Some(ran) = self.run_lines().await? else { return Ok(SessionEnd::HandedOn) };
            self.channel.flush(None).await?;
            let stays = self.state.interactive || !ran;
            if self.state.quitting || !open || !stays {
                return Ok(SessionEnd::Over);
            }
            if self.channel.input.len() > LONGEST {
                self.channel.output.extend_from_slice(b"The line is too long.\n\n");
                self.channel.flush(None).await?;
                return Ok(SessionEnd::Over);
            }
        }
    }

    /// Runs the complete lines; returns whether there was a command. `None`: the connection has
    /// been handed on.
    async fn run_lines(&mut self) -> io::Result<Option<bool>> {
        let mut ran = false;
        // While a command runs, more input may arrive behind the bytes in the buffer.
        let mut from = 0;
        while let Some(length) = self.channel.input[from..].iter().position(|byte| *byte == b'\n') {
            let line = self.parser.line(&self.channel.input[from..from + length]);
            from += length + 1;
            let commands = match line {
                Line::Commands(commands) => commands,
                Line::Unfinished => continue,
                Line::TooLong => {
                    self.channel.output.extend_from_slice(PAYLOAD_TOO_LONG);
                    self.state.quitting = true;
                    return Ok(Some(true));
                }
            };
            ran = true;
            // Processed lines must not take the room of new input; moving the rest for each line
            // would take a time that grows with the square of its length.
            if from > DONE {
                self.channel.input.drain(..std::mem::take(&mut from));
            }
            for command in commands {
                if !self.run(command).await? {
                    return Ok(None);
                }
                if self.state.quitting {
                    return Ok(Some(true));
                }
                self.give_way().await?;
            }
        }
        self.channel.input.drain(..from);
        Ok(Some(ran))
    }

    /// Lets others have their turn between two commands, however many there are, and keeps answers
    /// from piling up.
    async fn give_way(&mut self) -> io::Result<()> {
        if self.channel.output.len() >= FULL {
            self.channel.flush(None).await?;
        }
        self.channel.thread.next_turn(Class::Bulk).await;
        Ok(())
    }

    /// Runs a command. `false`: the connection has been handed on.
    async fn run(&mut self, mut command: Command) -> io::Result<bool> {
        let mut target = self.state.target;
        let prefix = command.words.first().filter(|word| word.starts_with('@')).cloned();
        if let Some(prefix) = prefix {
            command.words.remove(0);
            target = match self.find(&prefix[1..]) {
                Ok(target) => target,
                Err(()) => {
                    self.write(&format!(
                        "Can't find the target PID matching the prefix '{prefix}'\n"
                    ));
                    self.state.quitting = true;
                    return Ok(true);
                }
            };
            if command.words.is_empty() {
                self.state.target = target;
                self.prompt();
                return Ok(true);
            }
        } else if self.own(&command) {
            self.prompt();
            return Ok(true);
        }
        match target {
            Some(pid) => self.relay(pid, &command).await?,
            None => match table::run(&command.words, &self.state, &*self.supervisor) {
                Answer::Text(text) => self.write(&format!("{text}\n")),
                Answer::Reload => {
                    self.channel.flush(None).await?;
                    self.supervisor.reload(Some(self.channel.socket.release().0));
                    return Ok(false);
                }
            },
        }
        self.prompt();
        Ok(true)
    }

    async fn relay(&mut self, pid: u32, command: &Command) -> io::Result<()> {
        let request = relay::request(command, &self.state);
        match self.supervisor.connect(pid) {
            Ok(worker) => {
                self.channel.flush(None).await?;
                relay::run(&mut self.channel, worker, &request, command).await
            }
            Err(_) => {
                self.write("Can't connect to the target CLI!\n");
                Ok(())
            }
        }
    }

    /// The process that a prefix names; nothing is the master.
    fn find(&self, prefix: &str) -> Result<Option<u32>, ()> {
        let all = self.supervisor.processes();
        let workers = || all.iter().filter(|it| it.kind == ProcessKind::Worker);
        if matches!(prefix, "" | "master" | "0") {
            return Ok(None);
        }
        if let Some(pid) = prefix.strip_prefix('!') {
            let pid: u32 = pid.parse().map_err(drop)?;
            if all.iter().any(|it| it.kind == ProcessKind::Master && it.pid == pid) {
                return Ok(None);
            }
            return workers().find(|it| it.pid == pid).map(|it| Some(it.pid)).ok_or(());
        }
        let place: usize = prefix.parse().map_err(drop)?;
        let place = place.checked_sub(1).ok_or(())?;
        let current = workers().filter(|it| !it.leaving).nth(place);
        current.map(|it| Some(it.pid)).ok_or(())
    }

    /// Runs a command about the session itself, for any selected process. `false`: the command is
    /// not one of the session's own.
    fn own(&mut self, command: &Command) -> bool {
        let word = |at: usize| command.words.get(at).map_or("", String::as_str);
        let state = &mut self.state;
        match word(0) {
            "prompt" => state.interactive = !state.interactive,
            "quit" => state.quitting = true,
            "operator" => return self.lower(Level::Operator),
            "user" => return self.lower(Level::User),
            "expert-mode" | "experimental-mode" | "mcli-debug-mode"
                if state.level < Level::Admin =>
            {
                self.write(&format!("{}\n", table::denied()));
            }
            "expert-mode" => switch(&mut state.expert, word(1)),
            "experimental-mode" => switch(&mut state.experimental, word(1)),
            "mcli-debug-mode" => switch(&mut state.debug, word(1)),
            _ => return false,
        }
        true
    }

    fn lower(&mut self, to: Level) -> bool {
        if self.state.level < to {
            self.write(&format!("{}\n", table::denied()));
        } else {
            self.state.level = to;
        }
        true
    }

    fn write(&mut self, text: &str) {
        self.channel.output.extend_from_slice(text.as_bytes());
    }

    fn prompt(&mut self) {
        if !self.state.interactive || self.state.quitting {
            return;
        }
        let state = &self.state;
        let name = match state.target {
            Some(pid) => pid.to_string(),
            None if self.supervisor.failed_reloads() > 0 => "master[ReloadFailed]".to_owned(),
            None => "master".to_owned(),
        };
        let modes = [(state.experimental, 'x'), (state.expert, 'e'), (state.debug, 'd')];
        let flags: String = modes.iter().filter(|it| it.0).map(|it| it.1).collect();
        let flags = if flags.is_empty() { flags } else { format!("({flags})") };
        self.write(&format!("{name}{flags}> "));
    }
}

fn switch(mode: &mut bool, word: &str) {
    match word {
        "on" => *mode = true,
        "off" => *mode = false,
        _ => {}
    }
}
