//! Start of a master's processes: programs, then a worker, which is a copy of the master. A master
//! serves no clients, and keeps the previous worker until its successor serves.

use super::listeners::Pool;
use super::old_processes::{self, Predecessors};
use super::socket_files::SocketFiles;
use super::start::{self, Place, Prepared};
use super::{runtime_sockets, takeover};
use crate::cli::Options;
use crate::master::master_state::{Child, Record};
use crate::master::watch::{self, End, Orders, print};
use crate::master::{delivery, program};
use crate::start_error::StartError;
use admin::Reloads;
use admin::master::ProcessKind;
use config::Model;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use sys::fork::ForkSide;
use sys::signal;

/// Notes about workers that serve.
const STARTED: &str = "The configuration was read at the start.";
const RELOADED: &str = "The configuration was read anew.";
/// Time of a worker from its start until it serves, in milliseconds.
const PATIENCE: u32 = 60_000;

/// A master before it watches.
pub(crate) struct Leading {
    pub(crate) record: Record,
    /// Whether the process was a master before the configuration was read.
    pub(crate) again: bool,
}

/// Starts the processes of the configuration, and watches them.
pub(crate) fn run(model: Model, options: &Options, said: &str, leading: Leading) -> ExitCode {
    let Leading { mut record, again } = leading;
    let mut orders = Orders {
        quiet: options.quiet || model.global.process.quiet,
        startup_logs: said.to_owned(),
        manager: start::manager(),
    };
    let stays = model.global.process.no_exit_on_failure;
    let max_reloads = model.global.process.max_reloads;
    match load(model, options, &mut record, &orders, again) {
        Ok(Loaded::Worker(prepared, place)) => return prepared.serve(options, place),
        Ok(Loaded::Master) => {}
        Err(alerts) if again => return fail(record, orders, &alerts),
        Err(alerts) => {
            alerts.iter().for_each(|text| print("ALERT", text));
            return ExitCode::from(1);
        }
    }
    (record.failed, record.stays) = (0, stays);
    report(&mut orders, "NOTICE", "Loading success.");
    record.answer("Loading success.");
    if let Some(pid) = record.current_worker().map(|worker| worker.process.pid) {
        record.note(pid, false, if again { RELOADED } else { STARTED });
    }
    end_outlived(&record, max_reloads);
    if !again {
        old_processes::dismiss(options);
    }
    orders.manager.iter().for_each(|manager| manager.ready(std::process::id()));
    watch(record, orders)
}

/// Continues with the existing processes: the configuration is broken, and `said` holds its
/// messages.
pub(crate) fn keep(record: Record, options: &Options, said: &str) -> ExitCode {
    let orders =
        Orders { quiet: options.quiet, startup_logs: said.to_owned(), manager: start::manager() };
    fail(record, orders, &[])
}

fn fail(mut record: Record, mut orders: Orders, alerts: &[String]) -> ExitCode {
    alerts.iter().for_each(|text| report(&mut orders, "ALERT", text));
    let reason = alerts.first().map_or_else(|| first_alert(&orders.startup_logs), Clone::clone);
    report(&mut orders, "WARNING", "Loading failure!");
    record.failed += 1;
    note_failure(&mut record, &reason);
    record.answer("Loading failure!");
    orders.manager.iter().for_each(|manager| manager.reload_failed(std::process::id()));
    watch(record, orders)
}

/// Notes a failed reload, and tells the worker that goes on.
fn note_failure(record: &mut Record, reason: &str) {
    let reload = record.note(std::process::id(), true, reason).clone();
    if let Some(worker) = record.current_worker() {
        delivery::tell_of_failure(worker, &reload);
    }
}

/// The first alert among the messages about a configuration.
fn first_alert(messages: &str) -> String {
    let line = messages.lines().find(|line| line.contains("[ALERT]")).unwrap_or_default();
    line.split_once(" : ").map_or(line, |(_, text)| text).to_owned()
}

/// Prints a message, and keeps it for `show startup-logs`.
fn report(orders: &mut Orders, severity: &str, text: &str) {
    if !orders.quiet || severity == "ALERT" {
        print(severity, text);
    }
    let line = format!("{:10} ({}) : {text}\n", format!("[{severity}]"), std::process::id());
    orders.startup_logs.push_str(&line);
}

/// Watches the workers, and re-executes the program for a reload.
fn watch(mut record: Record, mut orders: Orders) -> ExitCode {
    crate::never_wait_to_complain();
    loop {
        let end = match watch::run(record, orders) {
            Ok((End::Exit(status), ..)) => return ExitCode::from(status),
            Ok((End::Reload, record, orders)) => (record, orders),
            Err(error) => {
                print("ALERT", &format!("Cannot watch over the processes: {error}"));
                return ExitCode::from(1);
            }
        };
        (record, orders) = end;
        // The call returns only if the program's file is gone.
        let error = record.become_anew();
        let reason = format!("Cannot start the program anew: {error}");
        report(&mut orders, "ALERT", &reason);
        report(&mut orders, "WARNING", "Loading failure!");
        record.failed += 1;
        note_failure(&mut record, &reason);
        record.answer("Loading failure!");
    }
}

/// Role of this process after [`load`].
enum Loaded {
    Master,
    /// The worker that is to serve.
    Worker(Box<Prepared>, Place),
}

/// Opens the sockets of the configuration, and starts programs and a worker.
///
/// # Errors
/// Alerts. All previous processes are left as they were.
fn load(
    model: Model,
    options: &Options,
    record: &mut Record,
    orders: &Orders,
    again: bool,
) -> Result<Loaded, Vec<String>> {
    let main = |error: &dyn std::fmt::Display| vec![format!("[haproxy.main()] {error}")];
    let pool = handed(options, record, again).map_err(|error| main(&error))?;
    // The processes that the command line names ended after the first start, and their ids may
    // belong to others by now.
    let before = if again { Predecessors::default() } else { Predecessors::of(options) };
    check_delivery(&model, record)?;
    let mut prepared = Prepared::new(model, options, &orders.startup_logs, (pool, before))?;
    let mut files = SocketFiles::default();
    let mut pid_file = None;
    if !again {
        (record.sockets, files) = sockets(options).map_err(|error| main(&error))?;
        start::background(&prepared.model, options).map_err(|error| main(&error))?;
        files.adopt();
        prepared.adopt_files();
        pid_file = start::foreground_pid_file(&prepared.model, options);
    }
    let (channel, of_worker) = sys::socketpair::pair().map_err(|error| main(&error))?;
    let (ready, tells) = sys::socketpair::pair().map_err(|error| main(&error))?;
    tell_environment(&prepared, record, of_worker);
    let programs =
        program::start_all(&prepared.model, record).map_err(|error| vec![error.to_string()])?;
    for (pid, name) in &programs {
        say_unless_quiet(orders, &format!("New program '{name}' ({pid}) forked"));
    }
    let pid = match sys::fork::fork() {
        Ok(ForkSide::Parent(pid)) => pid,
        Ok(ForkSide::Child) => {
            [channel, ready].into_iter().for_each(sys::close);
            prepared.runtime.reloads = leave(std::mem::take(record), again);
            let place = Place { manager: None, master: Some((of_worker, tells)), silent: again };
            return Ok(Loaded::Worker(Box::new(prepared), place));
        }
        Err(error) => {
            program::end(&programs);
            return Err(main(&StartError::Fork(error)));
        }
    };
    say_unless_quiet(orders, &format!("New worker ({pid}) forked"));
    [of_worker, tells].into_iter().for_each(sys::close);
    let staying: Vec<String> = program::staying(&prepared.model, record);
    let mut of_worker = prepared.leave();
    let serves = serves(ready);
    sys::close(ready);
    let stays = |child: &Child| {
        child.process.kind == ProcessKind::Program && staying.contains(&child.process.name)
    };
    let replaced = match serves {
        true => replace(record, &stays, [&mut files, &mut of_worker], pid_file),
        false => Err(vec![format!("The new worker ({pid}) does not serve.")]),
    };
    let worker = Child::new(pid, ProcessKind::Worker, "", channel);
    if let Err(mut alerts) = replaced {
        let failed = delivery::deliver(&worker, signal::KILL).err();
        alerts.extend(failed.map(|error| error.to_string()));
        sys::close(channel);
        program::end(&programs);
        return Err(alerts.iter().flat_map(|text| main(text)).collect());
    }
    record.children.iter_mut().for_each(|child| child.process.leaving |= !stays(child));
    record.children.push(worker);
    programs.iter().for_each(|(pid, name)| record.enter(*pid, ProcessKind::Program, name, -1));
    Ok(Loaded::Master)
}

/// Closes in a new worker what only the master needs. Returns the starts and reloads that the
/// worker knows of, its own included.
fn leave(mut record: Record, again: bool) -> Arc<Reloads> {
    record.note(std::process::id(), false, if again { RELOADED } else { STARTED });
    let reloads = Arc::new(Reloads::new(std::mem::take(&mut record.history)));
    record.leave();
    reloads
}

/// Refuses a reload that could not end a previous process: a program with another user takes no
/// signal of a master without the capability, and has no socket to take it by.
fn check_delivery(model: &Model, record: &Record) -> Result<(), Vec<String>> {
    let staying = program::staying(model, record);
    let replaced = |child: &&Child| {
        child.process.kind == ProcessKind::Program && !staying.contains(&child.process.name)
    };
    let all = record.children.iter().filter(replaced);
    let alert = |child: &Child| {
        let (name, pid) = (&child.process.name, child.process.pid);
        format!("Cannot end program '{name}' ({pid}): the system forbids to signal it (CAP_KILL)")
    };
    let alerts: Vec<String> =
        all.filter(|child| !delivery::is_possible(child)).map(alert).collect();
    if alerts.is_empty() { Ok(()) } else { Err(alerts) }
}

/// Replaces the previous processes by the new worker: socket files get their names, the pid file is
/// written, and processes that do not stay get SIGUSR1, which makes them finish.
///
/// # Errors
/// Alerts. The previous worker continues.
fn replace(
    record: &Record,
    stays: &dyn Fn(&Child) -> bool,
    files: [&mut SocketFiles; 2],
    pid_file: Option<PathBuf>,
) -> Result<(), Vec<String>> {
    let worker = |child: &Child| child.process.kind == ProcessKind::Worker;
    let current = |child: &Child| worker(child) && !child.process.leaving;
    let done = |alerts: Vec<String>| if alerts.is_empty() { Ok(()) } else { Err(alerts) };
    // The previous worker is replaced only if it can be signalled to finish.
    done(record.signal(signal::NONE, current))?;
    let published = files.into_iter().try_for_each(SocketFiles::publish);
    let noted = published.and_then(|()| match pid_file {
        Some(path) => start::write_pid(&path, std::process::id()),
        None => Ok(()),
    });
    noted.map_err(|error| vec![error.to_string()])?;
    done(record.signal(signal::USR1, current))?;
    let programs = record.signal(signal::USR1, |child| !worker(child) && !stays(child));
    programs.iter().for_each(|text| print("ALERT", text));
    Ok(())
}

fn say_unless_quiet(orders: &Orders, text: &str) {
    if !orders.quiet {
        print("NOTICE", text);
    }
}

/// The listening sockets of the serving process. Without them all sockets are opened by a new bind.
///
/// # Errors
/// The process that the command line names does not hand them over.
fn handed(options: &Options, record: &Record, again: bool) -> Result<Pool, StartError> {
    if let Some(path) = options.takes_over.as_deref().filter(|_| !again) {
        return takeover::at(path).map_err(StartError::Handover);
    }
    let Some(worker) = record.current_worker() else { return Ok(Pool::default()) };
    let connected = sys::socketpair::connect(worker.channel);
    match connected.and_then(takeover::over) {
        Ok(pool) => Ok(pool),
        Err(error) => {
            let pid = worker.process.pid;
            print("WARNING", &format!("Failed to get the sockets of worker ({pid}): {error}"));
            Ok(Pool::default())
        }
    }
}

/// The master's own runtime sockets, and their files.
fn sockets(options: &Options) -> Result<(runtime_sockets::Sockets, SocketFiles), StartError> {
    let (mut all, mut all_files) = (Vec::new(), SocketFiles::default());
    for given in &options.master_sockets {
        let (sockets, files, warnings) = runtime_sockets::of_master(given)?;
        warnings.iter().for_each(|text| print("WARNING", text));
        all.extend(sockets);
        all_files.append(files);
    }
    Ok((all, all_files))
}

/// Environment variables of processes (configuration manual, section 2.3).
fn tell_environment(prepared: &Prepared, record: &Record, channel: i32) {
    let own = record.sockets.iter().map(|(_, socket)| socket.address.clone());
    let own: Vec<String> = own.collect();
    if !own.is_empty() {
        crate::set_variable("HAPROXY_MASTER_CLI", &own.join(";"));
    }
    let mut all = prepared.addresses();
    all.push(format!("sockpair@{channel}"));
    crate::set_variable("HAPROXY_CLI", &all.join(";"));
    crate::set_variable("HAPROXY_MWORKER", "1");
}

/// Whether a worker reports that it serves.
fn serves(ready: i32) -> bool {
    let waited = sys::socketpair::wait_readable(ready, PATIENCE).unwrap_or(false);
    // The worker's end closes when it dies.
    waited && sys::socketpair::receive(ready, &mut [0]).is_ok_and(|(count, _)| count > 0)
}

/// Ends previous processes at once that have outlived too many reloads.
fn end_outlived(record: &Record, max_reloads: Option<u32>) {
    let outlived = |reloads: u32| max_reloads.is_some_and(|most| reloads > most);
    let chosen = |child: &Child| child.process.leaving && outlived(child.process.reloads);
    record.signal(signal::TERM, chosen).iter().for_each(|text| print("ALERT", text));
}
