//! The commands that the master itself answers.

use super::Supervisor;
use super::processes;
use super::session::MasterState;
use crate::cli::help::{self, Doc};
use crate::settings::Level;
use std::fmt::Write as _;

const fn doc(words: &'static str, args: &'static str, text: &'static str) -> Doc {
    Doc { words, args, text, alone: false }
}

/// The commands, in the order of help.
const COMMANDS: &[Doc] = &[
    doc("@!<pid>", "", "send a command to the <pid> process"),
    doc("@<relative pid>", "", "send a command to the <relative pid> process"),
    doc("@master", "", "send a command to the master process"),
    doc("operator", "", "lower the level of the current CLI session to operator"),
    doc("reload", "", "reload haproxy"),
    doc("show cli level", "", "display the level of the current CLI session"),
    doc("show cli sockets", "", "dump list of cli sockets"),
    doc("show proc", "", "show processes status"),
    doc("show startup-logs", "", "report logs emitted during HAProxy startup"),
    doc("show version", "", "show version of the current process"),
    doc("user", "", "lower the level of the current CLI session to user"),
];

/// Commands that `mcli-debug-mode` adds.
const DEBUG: &[Doc] = &[
    doc("show env", "[var]", "dump environment variables known to the process"),
    doc("show fd", "", "dump list of file descriptors in use"),
];

/// The words of the commands that only a master has.
pub fn commands() -> impl Iterator<Item = &'static str> {
    ["mcli-debug-mode", "reload", "show proc"].into_iter()
}

/// The answer to a command.
pub(super) enum Answer {
    /// Text, with its newlines.
    Text(String),
    /// The configuration is to be read again; nothing follows.
    Reload,
}

/// Runs a command of the master's.
pub(super) fn run(words: &[String], state: &MasterState, supervisor: &dyn Supervisor) -> Answer {
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let text = match (word(0), word(1)) {
        ("help", _) => format!("{}\n", help::listing(&words[1..], there(state))),
        ("reload", _) if state.level < Level::Operator => denied(),
        ("reload", _) => return Answer::Reload,
        ("show", "cli") if word(2) == "level" => format!("{}\n", state.level.name()),
        ("show", "cli") if word(2) == "sockets" => sockets(supervisor),
        ("show", "proc") => processes::show(supervisor),
        ("show", "startup-logs") => supervisor.startup_logs().to_owned(),
        ("show", "version") => format!("{}\n", supervisor.version()),
        ("show", "env" | "fd") if state.debug && state.level < Level::Operator => denied(),
        ("show", "env") if state.debug => environment(word(2)),
        ("show", "fd") if state.debug => descriptors(),
        _ => format!("{}\n", help::suggestion(words, there(state))),
    };
    Answer::Text(text)
}

pub(super) fn denied() -> String {
    "Permission denied\n".to_owned()
}

fn there(state: &MasterState) -> Vec<Doc> {
    let more = if state.debug { DEBUG } else { &[] };
    COMMANDS.iter().chain(more).copied().collect()
}

fn sockets(supervisor: &dyn Supervisor) -> String {
    let mut out = "# socket lvl processes\n".to_owned();
    for socket in supervisor.sockets() {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{} {} all", socket.address, socket.level.name());
    }
    out
}

fn environment(wanted: &str) -> String {
    let all = std::env::vars_os().filter(|(name, _)| wanted.is_empty() || name == wanted);
    let line = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        let value = value.to_string_lossy().replace(['\n', '\r'], " ");
        format!("{}={value}\n", name.to_string_lossy())
    };
    let text: String = all.map(line).collect();
    if text.is_empty() && !wanted.is_empty() { "Variable not found\n".to_owned() } else { text }
}

/// The system's view of the descriptors.
fn descriptors() -> String {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return String::new() };
    let line = |entry: std::fs::DirEntry| {
        let number: u32 = entry.file_name().to_str()?.parse().ok()?;
        let target = std::fs::read_link(entry.path()).ok()?;
        Some((number, format!("{number:>6} : {}\n", target.display())))
    };
    let mut all: Vec<_> = entries.flatten().filter_map(line).collect();
    all.sort();
    all.into_iter().map(|(_, line)| line).collect()
}
