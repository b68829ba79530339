//! The handling of signals, on the first thread.
//!
//! As HAProxy does: SIGUSR1 is the soft stop, SIGTERM and SIGINT stop at once, SIGHUP tells the
//! states of all servers, SIGTTOU pauses the listeners, SIGTTIN resumes them, SIGPIPE is ignored
//! (management manual, section 4).

use crate::dump;
use proxy::frontend::listener::pausing;
use proxy::{Shared, Worker};
use reactor::{Class, Handle, Listener, Tick};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use sys::sd_notify::ServiceManager;
use sys::signal;

/// The signal that stopped the process, 0 for none.
pub(crate) static STOPPED_BY: AtomicI32 = AtomicI32::new(0);

/// Prepares signals before any thread runs. In debug mode SIGINT and SIGTERM keep their default
/// action.
pub(crate) fn prepare(debug: bool) -> std::io::Result<Handle> {
    signal::ignore_pipe()?;
    let mut noted = vec![signal::USR1, signal::HUP, signal::QUIT, signal::USR2];
    noted.extend([signal::TTOU, signal::TTIN]);
    if !debug {
        noted.extend([signal::TERM, signal::INT]);
    }
    signal::listen(&noted).map(Handle)
}

/// Times of a soft stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    /// Delay from the signal to its start, in milliseconds (`grace`).
    pub(crate) grace: u32,
    /// Time from its start until remaining connections are cut off, in milliseconds
    /// (`hard-stop-after`).
    pub(crate) hard_after: Option<u32>,
}

/// The signals that end the process, sooner or later.
const ENDS: [i32; 3] = [signal::USR1, signal::TERM, signal::INT];

/// The signals that a master may have this process raise.
const RAISED: [i32; 7] = [
    signal::NONE,
    signal::USR1,
    signal::TERM,
    signal::INT,
    signal::KILL,
    signal::TTOU,
    signal::TTIN,
];

/// Sends this process a signal on behalf of its master.
///
/// # Errors
/// The number is no signal that a master sends.
pub(crate) fn raise(number: i32) -> std::io::Result<()> {
    match RAISED.contains(&number) {
        true => signal::send(std::process::id() as i32, number),
        false => Err(std::io::ErrorKind::InvalidInput.into()),
    }
}

/// The next event that needs no signal.
#[derive(Clone, Copy)]
enum Next {
    Nothing,
    Begin(Tick),
    CutOff(Tick),
}

impl Next {
    fn tick(self) -> Option<Tick> {
        match self {
            Self::Nothing => None,
            Self::Begin(at) | Self::CutOff(at) => Some(at),
        }
    }
}

/// Starts the task that acts on signals.
pub(crate) fn start(
    worker: &Rc<Worker>,
    bell: Handle,
    stop: Stop,
    manager: Option<Arc<ServiceManager>>,
) {
    worker.thread.scheduler().spawn(Class::Normal, run(worker.clone(), bell, stop, manager));
}

async fn run(worker: Rc<Worker>, bell: Handle, stop: Stop, manager: Option<Arc<ServiceManager>>) {
    let mut bell_watch = Listener::for_signals(&worker.thread, bell);
    let mut next = Next::Nothing;
    loop {
        if bell_watch.resume().is_err() {
            return;
        }
        worker.thread.scheduler().wait(next.tick()).await;
        sys::eventfd_clear(bell.0);
        for number in signal::take() {
            if let Some(manager) = manager.as_ref().filter(|_| ENDS.contains(&number)) {
                manager.stopping();
            }
            match number {
                signal::USR1 => next = soft_stop(&worker, stop, next),
                signal::TERM | signal::INT => stop_now(&worker.shared, number),
                signal::HUP => dump::states(&worker),
                signal::TTOU => pausing::pause_all(&worker),
                signal::TTIN => pausing::resume_all(&worker),
                _ => {}
            }
        }
        let now = worker.thread.tick();
        match next {
            Next::Begin(at) if at.is_due(now) => next = begin(&worker, stop),
            Next::CutOff(at) if at.is_due(now) => stop_now(&worker.shared, signal::USR1),
            _ => {}
        }
    }
}

/// SIGUSR1: announces the soft stop, or begins it.
fn soft_stop(worker: &Rc<Worker>, stop: Stop, next: Next) -> Next {
    if worker.shared.is_stopping() || matches!(next, Next::Begin(_)) {
        return next;
    }
    worker.shared.announce_stop();
    match stop.grace {
        0 => begin(worker, stop),
        grace => Next::Begin(worker.thread.tick().plus_ms(grace)),
    }
}

fn begin(worker: &Rc<Worker>, stop: Stop) -> Next {
    dump::stopped(worker);
    worker.shared.begin_stop(worker.thread.nanos());
    stop.hard_after.map_or(Next::Nothing, |span| Next::CutOff(worker.thread.tick().plus_ms(span)))
}

/// Stops every worker at its next turn, with connections open.
fn stop_now(shared: &Arc<Shared>, number: i32) {
    STOPPED_BY.store(number, Ordering::Relaxed);
    for thread in 0..shared.settings.threads {
        shared.run_on_thread(thread, Box::new(|worker| worker.thread.stop()));
    }
}
