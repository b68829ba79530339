//! Names that only a running program can show: commands, fields, flags.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{ChildStderr, Command, Stdio};
use std::time::Duration;

use super::links::Links;
use super::probe::Verdict;
use super::table::Name;
use crate::bench::process::Process;
use crate::failure::{self, Outcome};

/// How long the program may take to answer on its socket.
const PATIENCE: Duration = Duration::from_secs(10);

/// The facts that a running program prints about itself.
pub(crate) struct RunningFacts {
    usage: String,
    /// Commands, as `help` shows them and, with hidden ones, as `-dKcli` lists them.
    help: String,
    info: String,
    header: String,
    environment: String,
    /// The sources of traces.
    traces: String,
    /// The answer to `set server b/s <field>`, by field.
    fields: Vec<(String, String)>,
}

/// Starts the program with a master and sockets of both in `directory`, and asks.
pub(crate) fn ask(program: &Path, directory: &Path, names: &[Name]) -> Outcome<RunningFacts> {
    let (socket, master) = (directory.join("s"), directory.join("m"));
    let text = format!(
        "global\n stats socket {} level admin\nbackend b\n server s 127.0.0.1:1 disabled\n",
        socket.display()
    );
    let file = directory.join("running.cfg");
    std::fs::write(&file, text).map_err(|error| failure::machine(error.to_string()))?;
    let mut child = Command::new(program)
        .args(["-W", "-db", "-f"])
        .arg(&file)
        .arg("-S")
        .arg(&master)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failure::machine(format!("{}: {error}", program.display())))?;
    let said = child.stderr.take();
    let _running = Process::from(child);
    await_socket(said)?;
    let fields = names.iter().filter(|name| name.class.starts_with("cli-set-server"));
    let field = |name: &Name| {
        let words = match name.class.as_str() {
            "cli-set-server-state" => format!("state {}", name.name),
            _ => name.name.clone(),
        };
        let answer = command(&socket, &format!("set server b/s {words}"))?;
        Ok((name.name.clone(), answer))
    };
    Ok(RunningFacts {
        help: command(&socket, "expert-mode on;experimental-mode on;help")?
            + &command(&master, "help")?
            + &said_by(program, &["-dKcli", "-c", "-f", "/dev/null"])?,
        info: command(&socket, "show info")?,
        environment: command(&socket, "show env")?,
        traces: command(&socket, "show trace")?,
        header: command(&socket, "show stat")?.lines().next().unwrap_or_default().to_owned(),
        fields: fields.map(field).collect::<Outcome<_>>()?,
        usage: said_by(program, &["-h"])?,
    })
}

/// Reads the program's messages until one names its socket.
fn await_socket(said: Option<ChildStderr>) -> Outcome {
    let said = said.map(BufReader::new);
    let mut lines = said.into_iter().flat_map(BufRead::lines).map_while(Result::ok);
    match lines.any(|line| line.contains("Runtime socket")) {
        true => Ok(()),
        false => Err(failure::check("weir ended before its runtime socket was there")),
    }
}

/// The output of the program.
fn said_by(program: &Path, arguments: &[&str]) -> Outcome<String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| failure::machine(error.to_string()))?;
    Ok(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

fn command(socket: &Path, line: &str) -> Outcome<String> {
    // The socket's file gets its name shortly after the notice that names it.
    let connect = |_| {
        let stream = UnixStream::connect(socket);
        if stream.is_err() {
            std::thread::park_timeout(Duration::from_millis(10));
        }
        stream.ok()
    };
    let mut stream = (0..500)
        .find_map(connect)
        .map_or_else(|| UnixStream::connect(socket), Ok)
        .map_err(|error| failure::check(format!("no runtime socket: {error}")))?;
    let mut answer = Vec::new();
    let talk = stream
        .set_read_timeout(Some(PATIENCE))
        .and_then(|()| stream.write_all(format!("{line}\n").as_bytes()))
        .and_then(|()| stream.read_to_end(&mut answer));
    talk.map_err(|error| failure::check(format!("`{line}`: {error}")))?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

impl RunningFacts {
    /// The program's verdict on a name, if it can show it.
    pub(crate) fn verdict(&self, name: &Name, links: &Links) -> Option<Verdict> {
        let word = name.name.as_str();
        let there = match name.class.as_str() {
            "cmdline-flag" => return self.flag(word),
            "cli" => self.help.lines().any(|line| is_command(line, word)),
            "info-field" => self.info.lines().any(|line| line.split(':').next() == Some(word)),
            "stat-field" => self.header.trim_start_matches("# ").split(',').any(|f| f == word),
            "cli-set-server-field" | "cli-set-server-state" => {
                let (_, said) = self.fields.iter().find(|(field, _)| field == word)?;
                !said.contains("not implemented") && !said.contains("only supports")
            }
            "env-var" => self.environment.lines().any(|line| line.split('=').next() == Some(word)),
            "trace-source" => self.traces.lines().any(|line| is_source(line, word)),
            // These names appear at run time only: a test must have seen them.
            "check-status-code" | "env-external-check" | "lua-api" | "prometheus-metric"
            | "stat-module-field" => links.of(&name.class, word).is_some(),
            class if class.contains("spoe-") => links.of(&name.class, word).is_some(),
            _ => return None,
        };
        Some(if there { Verdict::Works } else { Verdict::Waits(String::new()) })
    }

    fn flag(&self, flag: &str) -> Option<Verdict> {
        let is_flag = |line: &&str| {
            let rest = line.trim_start().strip_prefix(flag);
            rest.is_some_and(|rest| rest.is_empty() || !rest.starts_with(char::is_alphabetic))
        };
        match self.usage.lines().find(is_flag) {
            Some(line) if line.contains("not implemented") => Some(Verdict::Waits(String::new())),
            Some(_) => Some(Verdict::Works),
            None if flag == "--" => Some(Verdict::Works),
            None => Some(Verdict::Unknown(format!("{flag} is not in the usage text"))),
        }
    }
}

/// Whether a line of `show trace` is about a source.
fn is_source(line: &str, name: &str) -> bool {
    let own = line.split_once("] ").and_then(|(_, rest)| rest.split_once(" -> "));
    own.is_some_and(|(own, _)| own.trim_end() == name)
}

/// Whether a line of `help` is about a command.
fn is_command(line: &str, name: &str) -> bool {
    let rest = line.trim_start().strip_prefix(name);
    rest.is_some_and(|rest| rest.starts_with([' ', ':']))
}
