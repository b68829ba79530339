//! Programs of `program` sections (configuration manual, section 3.7).

use super::master_state::Record;
use super::watch;
use crate::start_error::StartError;
use admin::master::ProcessKind;
use config::Model;
use config::model::Program;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use sys::fork::ForkSide;

/// Starts the programs that do not run yet, or that restart on a reload; the started ones, by name.
///
/// # Errors
/// A program cannot be started; those before it have been ended again.
pub(crate) fn start_all(model: &Model, record: &Record) -> Result<Vec<(u32, String)>, StartError> {
    let mut started: Vec<(u32, String)> = Vec::new();
    for program in model.programs.iter().filter(|program| !stays(program, record)) {
        match start(program, model) {
            Ok(pid) => started.push((pid, program.name.to_string())),
            Err(error) => {
                end(&started);
                let name = program.name.to_string();
                return Err(StartError::Program { name, error });
            }
        }
    }
    Ok(started)
}

/// Names of the programs that continue.
pub(crate) fn staying(model: &Model, record: &Record) -> Vec<String> {
    let all = model.programs.iter().filter(|program| stays(program, record));
    all.map(|program| program.name.to_string()).collect()
}

/// Whether the instance that runs continues (`no option start-on-reload`).
fn stays(program: &Program, record: &Record) -> bool {
    let mut running = record.children.iter().map(|child| &child.process);
    let own = |it: &admin::master::Process| {
        it.kind == ProcessKind::Program && !it.leaving && it.name == *program.name
    };
    !program.restarts && running.any(own)
}

/// Ends programs that have just been started.
pub(crate) fn end(started: &[(u32, String)]) {
    for (pid, name) in started {
        if let Err(error) = sys::signal::send(*pid as i32, super::END) {
            watch::print("ALERT", &format!("Cannot end program '{name}' ({pid}): {error}"));
        }
    }
}

/// Starts a program. If the system cannot execute it, the process ends with status 1.
fn start(program: &Program, model: &Model) -> io::Result<u32> {
    let name = program.command.first().ok_or(io::ErrorKind::InvalidInput)?;
    if !is_there(name) {
        return Err(io::ErrorKind::NotFound.into());
    }
    match sys::fork::fork()? {
        ForkSide::Parent(pid) => Ok(pid),
        ForkSide::Child => {
            let error = become_it(program, model);
            watch::print("ALERT", &format!("Cannot execute '{name}': {error}"));
            sys::fork::exit_now(1)
        }
    }
}

/// Whether there is a file of this name, in the `PATH` if it has no slash.
fn is_there(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    match name.contains('/') {
        true => Path::new(name).exists(),
        false => std::env::split_paths(&path).any(|directory| directory.join(name).is_file()),
    }
}

/// Executes the program; returns only with an error.
fn become_it(program: &Program, model: &Model) -> io::Error {
    // The environment that the configuration leaves, with the `HAPROXY_*` variables of this
    // process.
    let own = |(name, value): (&str, &str)| (OsString::from(name), OsString::from(value));
    let ours = |(name, _): &(OsString, OsString)| {
        name.to_str().is_some_and(|name| name.starts_with("HAPROXY_"))
    };
    let mut env: BTreeMap<OsString, OsString> = model.env.iter().map(own).collect();
    env.extend(std::env::vars_os().filter(ours));
    let env: Vec<_> = env.into_iter().collect();
    let args: Vec<OsString> = program.command.iter().map(OsString::from).collect();
    let prepared = sys::fork::close_stdin()
        .and_then(|()| sys::process::drop_privileges(program.uid, program.gid))
        .and_then(|()| sys::signal::block(&super::SIGNALS, false));
    match prepared {
        Ok(()) => sys::fork::exec(&args[0], &args, &env),
        Err(error) => error,
    }
}
