//! What signals mean, on the first thread. Never handles one inside a signal handler.
//!
//! As HAProxy does: SIGUSR1 is the soft stop, SIGTERM and SIGINT stop at once, SIGHUP tells the
//! states of all servers, SIGPIPE is ignored (management manual, section 4).

use crate::dump;
use proxy::{Shared, Worker};
use reactor::{Class, Handle, Listener};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use sys::signal;

/// The signal that stopped the process, 0 for none.
pub(crate) static STOPPED_BY: AtomicI32 = AtomicI32::new(0);

/// Prepares signals before any thread runs. In debug mode SIGINT and SIGTERM keep their default
/// action.
pub(crate) fn prepare(debug: bool) -> std::io::Result<Handle> {
    signal::ignore_pipe()?;
    let mut noted = vec![signal::USR1, signal::HUP, signal::QUIT, signal::USR2];
    if !debug {
        noted.extend([signal::TERM, signal::INT]);
    }
    signal::listen(&noted).map(Handle)
}

/// Starts the task that acts on signals.
pub(crate) fn start(worker: &Rc<Worker>, bell: Handle, grace: Option<u32>) {
    let task = run(worker.clone(), bell, grace);
    worker.thread.scheduler().spawn(Class::Normal, task);
}

async fn run(worker: Rc<Worker>, bell: Handle, grace: Option<u32>) {
    let mut bell_watch = Listener::for_signals(&worker.thread, bell);
    let deadline: Cell<Option<reactor::Tick>> = Cell::new(None);
    loop {
        if bell_watch.resume().is_err() {
            return;
        }
        worker.thread.scheduler().pause(deadline.get()).await;
        sys::eventfd_clear(bell.0);
        for number in signal::take() {
            act(&worker, number);
            if number == signal::USR1 {
                deadline.set(grace.map(|ms| worker.thread.tick().plus_ms(ms)));
            }
        }
        if deadline.get().is_some_and(|at| at.is_due(worker.thread.tick())) {
            stop_now(&worker.shared, signal::USR1);
        }
    }
}

fn act(worker: &Rc<Worker>, number: i32) {
    match number {
        signal::USR1 => {
            dump::stopped(worker);
            worker.shared.begin_stop();
        }
        signal::TERM | signal::INT => stop_now(&worker.shared, number),
        signal::HUP => dump::states(worker),
        _ => {}
    }
}

/// Stops every worker at its next turn, whatever runs.
fn stop_now(shared: &Arc<Shared>, number: i32) {
    STOPPED_BY.store(number, Ordering::Relaxed);
    for thread in 0..shared.settings.threads {
        shared.ask(thread, Box::new(|worker| worker.thread.stop()));
    }
}
