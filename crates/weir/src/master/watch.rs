//! The master at rest: waits for signals, for processes that end, and for commands.

use super::master_state::{Child, Record, now};
use admin::CliSocket;
use admin::master::{self, Process, ProcessKind, Supervisor};
use reactor::os::Os;
use reactor::{Class, Handle, Listener, Thread};
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use sys::fork::EndedChild;
use sys::sd_notify::ServiceManager;
use sys::signal;

/// Events taken from the system at once.
const EVENTS: usize = 64;

/// The event that ends the watch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// All processes have ended: the status to exit with.
    Exit(u8),
    /// A reload of the configuration is requested.
    Reload,
}

/// The inputs of a watch, beside the master's state.
#[derive(Default)]
pub(crate) struct Orders {
    /// Whether only alerts are printed.
    pub(crate) quiet: bool,
    /// The messages about the configuration.
    pub(crate) startup_logs: String,
    /// The service manager that is notified.
    pub(crate) manager: Option<ServiceManager>,
}

struct Watch {
    thread: Rc<Thread>,
    record: RefCell<Record>,
    orders: Orders,
    /// The signal sent to all processes, which are ending.
    stopping: Cell<bool>,
    /// The status to exit with.
    status: Cell<i32>,
    /// Whether the last serving process ended as requested.
    clean: Cell<bool>,
    end: Cell<Option<End>>,
}

/// Watches until an event requires action, and returns the event.
///
/// # Errors
/// The system refuses a resource of the event loop.
pub(crate) fn run(record: Record, orders: Orders) -> io::Result<(End, Record, Orders)> {
    let bell = Handle(signal::listen(&super::SIGNALS)?);
    signal::ignore_pipe()?;
    let thread = Thread::new(0, Box::new(Os::new(EVENTS)?), Default::default());
    let watch = Rc::new(Watch {
        thread: thread.clone(),
        record: RefCell::new(record),
        orders,
        stopping: Cell::new(false),
        status: Cell::new(0),
        clean: Cell::new(false),
        end: Cell::new(None),
    });
    let sockets = watch.record.borrow().sockets.clone();
    let supervisor: Rc<dyn Supervisor> = watch.clone();
    for (handle, socket) in &sockets {
        master::serve(&thread, *handle, socket, &supervisor);
    }
    drop(supervisor);
    thread.scheduler().spawn(Class::Normal, signals(watch.clone(), bell));
    signal::block(&super::SIGNALS, false)?;
    thread.run()?;
    // All tasks have ended and dropped their references.
    let watch = Rc::try_unwrap(watch).map_err(|_| io::Error::other("a task is left over"))?;
    let end = watch.end.get().unwrap_or(End::Exit(1));
    Ok((end, watch.record.into_inner(), watch.orders))
}

async fn signals(watch: Rc<Watch>, bell: Handle) {
    let mut listener = Listener::for_signals(&watch.thread, bell);
    loop {
        watch.reap();
        if watch.end.get().is_some() || listener.resume().is_err() {
            watch.thread.stop();
            return;
        }
        watch.thread.scheduler().wait(None).await;
        sys::eventfd_clear(bell.0);
        for number in signal::take() {
            match number {
                signal::USR1 | signal::TERM | signal::INT => watch.stop(number),
                signal::TTOU | signal::TTIN => watch.pass(number),
                signal::USR2 | signal::HUP => watch.reload(None),
                _ => {}
            }
        }
    }
}

impl Watch {
    fn say(&self, severity: &str, text: &str) {
        if !self.orders.quiet || severity == "ALERT" {
            print(severity, text);
        }
    }

    /// Passes on a signal that ends all processes.
    fn stop(&self, number: i32) {
        if !self.stopping.replace(true) {
            self.say("WARNING", "Exiting Master process...");
            self.status.set(0);
            self.orders.manager.iter().for_each(ServiceManager::stopping);
        }
        self.signal(number, |_| true);
    }

    /// Passes on a signal to the serving processes.
    fn pass(&self, number: i32) {
        self.signal(number, |it| it.process.kind == ProcessKind::Worker);
    }

    fn signal(&self, number: i32, which: impl Fn(&Child) -> bool) {
        let alerts = self.record.borrow().signal(number, which);
        alerts.iter().for_each(|text| print("ALERT", text));
    }

    /// Handles processes that have ended.
    fn reap(&self) {
        while let Some(ended) = sys::fork::reap() {
            self.ended(ended);
        }
        let failed = !self.stopping.get() && !self.clean.get();
        let stays = self.record.borrow().stays && failed;
        if self.record.borrow().children.is_empty() && !stays {
            let status = self.status.get();
            self.say("WARNING", &format!("All workers exited. Exiting... ({status})"));
            self.end.set(Some(End::Exit(u8::try_from(status).unwrap_or(1))));
        }
    }

    fn ended(&self, EndedChild { pid, status, .. }: EndedChild) {
        let mut record = self.record.borrow_mut();
        let Some(place) = record.children.iter().position(|it| it.process.pid == pid) else {
            return;
        };
        let Child { process, channel } = record.children.swap_remove(place);
        let stays = record.stays;
        drop(record);
        sys::close(channel);
        let severity = if status == 0 { "WARNING" } else { "ALERT" };
        self.say(severity, &obituary(&process, status));
        if process.leaving {
            return;
        }
        self.clean.set(is_wanted(status));
        if is_wanted(status) {
            return;
        }
        self.status.set(status);
        // A process that an interrupt has ended was meant to end.
        if status != 128 + signal::INT && !stays && !self.stopping.get() {
            self.say("ALERT", "exit-on-failure: killing every processes with SIGTERM");
            self.signal(signal::TERM, |_| true);
        }
    }
}

/// Whether a process with this exit status has ended as requested.
fn is_wanted(status: i32) -> bool {
    status == 0 || status == 128 + signal::TERM
}

/// HAProxy's line for a process that has ended.
fn obituary(process: &Process, status: i32) -> String {
    let when = if process.leaving { "Former" } else { "Current" };
    let what = match process.kind {
        ProcessKind::Program => format!("program '{}'", process.name),
        _ => "worker".to_owned(),
    };
    let how = match status {
        129.. => sys::fork::signal_name(status - 128),
        _ => "Exit".to_owned(),
    };
    format!("{when} {what} ({}) exited with code {status} ({how})", process.pid)
}

/// One line in HAProxy's shape.
pub(crate) fn print(severity: &str, text: &str) {
    crate::complain(&format!("{:10} ({}) : {text}\n", format!("[{severity}]"), std::process::id()));
}

impl Supervisor for Watch {
    fn processes(&self) -> Vec<Process> {
        let record = self.record.borrow();
        let own = Process {
            pid: std::process::id(),
            kind: ProcessKind::Master,
            name: String::new(),
            reloads: record.reloads,
            started: record.started,
            version: crate::version::VERSION.to_owned(),
            leaving: false,
        };
        let children = record.children.iter().map(|child| child.process.clone());
        std::iter::once(own).chain(children).collect()
    }

    fn failed_reloads(&self) -> u32 {
        self.record.borrow().failed
    }

    fn version(&self) -> &str {
        crate::version::VERSION
    }

    fn startup_logs(&self) -> &str {
        &self.orders.startup_logs
    }

    fn sockets(&self) -> Vec<CliSocket> {
        self.record.borrow().sockets.iter().map(|(_, socket)| socket.clone()).collect()
    }

    fn now(&self) -> u64 {
        now()
    }

    fn connect(&self, pid: u32) -> io::Result<Handle> {
        let record = self.record.borrow();
        let child = record.children.iter().find(|child| child.process.pid == pid);
        let child = child.filter(|child| child.channel >= 0).ok_or(io::ErrorKind::NotFound)?;
        sys::socketpair::connect(child.channel).map(Handle)
    }

    fn reload(&self, asked: Option<Handle>) {
        let mut record = self.record.borrow_mut();
        if self.stopping.get() || record.asked.is_some() {
            asked.into_iter().for_each(|handle| sys::close(handle.0));
            return;
        }
        record.asked = asked.map(|handle| handle.0);
        if self.end.get().is_none() {
            self.end.set(Some(End::Reload));
            self.say("NOTICE", "Reloading HAProxy");
            self.orders.manager.iter().for_each(ServiceManager::reloading);
        }
        self.thread.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_end_in_haproxys_words() {
        let mut record = Record::default();
        record.enter(5, ProcessKind::Worker, "", -1);
        record.enter(6, ProcessKind::Program, "foo", -1);
        record.children[0].process.leaving = true;
        let line = |place: usize, status| obituary(&record.children[place].process, status);
        assert_eq!(line(0, 0), "Former worker (5) exited with code 0 (Exit)");
        assert_eq!(line(1, 137), "Current program 'foo' (6) exited with code 137 (Killed)");
        assert_eq!(line(1, 3), "Current program 'foo' (6) exited with code 3 (Exit)");
        assert!(is_wanted(0) && is_wanted(143) && !is_wanted(139) && !is_wanted(1));
    }
}
