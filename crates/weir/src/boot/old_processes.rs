//! Processes that this one replaces (`-sf`, `-st`; management.txt, section 4): they pause while it
//! takes their ports, and are told to end when it serves. Never waits for their end.

use crate::cli::{Farewell, Options};
use std::io;
use std::time::Duration;
use sys::signal;

/// Attempts to bind a port after its owners were sent the pause signal, and the delay after each.
const TRIES: u32 = 100;
const REST: Duration = Duration::from_millis(10);

/// Old processes whose sockets this process takes over.
#[derive(Default)]
pub(super) struct Predecessors {
    pids: Vec<i32>,
    paused: bool,
}

impl Predecessors {
    pub(super) fn of(options: &Options) -> Self {
        Self { pids: options.old_pids.clone(), paused: false }
    }

    /// Binds a port. If it is in use, its possible owners are sent the pause signal (SIGTTOU).
    ///
    /// # Errors
    /// The error of the system; another process has the port.
    pub(super) fn free<T>(&mut self, bind: impl Fn() -> io::Result<T>) -> io::Result<T> {
        let mut bound = bind();
        for _ in 0..TRIES {
            match &bound {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                _ => break,
            }
            if self.pids.is_empty() {
                break;
            }
            if !std::mem::replace(&mut self.paused, true) {
                signal(&self.pids, signal::TTOU);
            }
            sys::clock::sleep(REST);
            bound = bind();
        }
        bound
    }

    /// Resumes the processes (SIGTTIN), as this process does not start.
    pub(super) fn resume(&mut self) {
        if std::mem::take(&mut self.paused) {
            signal(&self.pids, signal::TTIN);
        }
    }
}

/// Signals the replaced processes to end.
pub(super) fn dismiss(options: &Options) {
    match options.farewell {
        Some(Farewell::Finish) => signal(&options.old_pids, signal::USR1),
        Some(Farewell::Terminate) => signal(&options.old_pids, signal::TERM),
        None => {}
    }
}

fn signal(pids: &[i32], number: i32) {
    for pid in pids {
        let sent = signal::send(*pid, number);
        // A process that is gone already needs no signal.
        if let Err(error) = sent
            && error.kind() == io::ErrorKind::PermissionDenied
        {
            let name = sys::fork::signal_name(number);
            let text = format!("Cannot send signal {number} ({name}) to process {pid}: {error}");
            crate::master::watch::print("ALERT", &text);
        }
    }
}
