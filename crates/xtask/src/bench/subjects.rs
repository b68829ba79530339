//! Which binaries a benchmark compares, and in what order.

use std::path::PathBuf;

use super::files::Files;
use super::process::{self, Process};
use crate::args::{self, Flag, Parsed};
use crate::failure::{self, Outcome};
use crate::{tools, workspace};

/// The flag that leaves out the default binaries.
pub(super) const ALONE: Flag = args::switch("--alone");

/// The flag that adds a relay of bytes, which no proxy can be cheaper than.
pub(super) const FLOOR: Flag = args::switch("--floor");

/// One binary under test.
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) binary: PathBuf,
}

impl Subject {
    /// Starts it on processor 0 with a configuration that listens on `port`.
    pub(super) fn start(&self, files: &Files, port: u16, text: String) -> Outcome<Process> {
        let configuration = files.write(&format!("{}.cfg", self.name), text)?;
        let mut command = process::pinned(0, &self.binary);
        command.arg("-f").arg(configuration).arg("-db");
        let proxy = Process::start(&mut command, None)?;
        match process::wait_for_port(port) {
            true => Ok(proxy),
            false => Err(failure::check("did not start")),
        }
    }
}

/// haproxy, weir, the relay if asked for, then what the command line adds; a name given there
/// replaces a default.
pub(super) fn subjects(parsed: &Parsed) -> Outcome<Vec<Subject>> {
    let mut given = Vec::new();
    for word in &parsed.rest {
        let Some((name, binary)) = word.split_once('=') else {
            return Err(failure::usage(format!("`{word}` is not NAME=BINARY")));
        };
        given.push(Subject { name: name.to_owned(), binary: tools::resolve(binary)? });
    }
    let mut subjects = Vec::new();
    if !parsed.has(ALONE.name) {
        subjects.push(taken(&mut given, "haproxy").map_or_else(haproxy, Ok)?);
        subjects.push(taken(&mut given, "weir").map_or_else(weir, Ok)?);
    }
    if parsed.has(FLOOR.name) {
        subjects.push(relay()?);
    }
    subjects.extend(given);
    if subjects.is_empty() {
        return Err(failure::usage("--alone wants at least one NAME=BINARY"));
    }
    Ok(subjects)
}

fn taken(given: &mut Vec<Subject>, name: &str) -> Option<Subject> {
    let index = given.iter().position(|subject| subject.name == name)?;
    Some(given.remove(index))
}

fn haproxy() -> Outcome<Subject> {
    tools::require(&[tools::HAPROXY])?;
    Ok(Subject { name: "haproxy".to_owned(), binary: tools::resolve("haproxy")? })
}

fn weir() -> Outcome<Subject> {
    let binary = workspace::release_binary(&workspace::root()?)?;
    Ok(Subject { name: "weir".to_owned(), binary })
}

fn relay() -> Outcome<Subject> {
    let root = workspace::root()?;
    let binary = workspace::release_example(&root, "bench", "relay")?;
    Ok(Subject { name: "relay".to_owned(), binary })
}
