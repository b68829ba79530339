//! Frontends that release their ports for a while (`disable frontend`, SIGTTOU; management.txt,
//! section 4).
//!
//! The sockets stay, so that they can listen again without the privileges that binding them took;
//! meanwhile another process can listen at their ports. Clients of unix sockets wait.

use engine::state::os_handles::ListenSockets;
use engine::state::runtime::Frontend;
use engine::state::worker::Worker;
use observability::logging::log;
use observability::logging::log::level;
use reactor::{Address, Handle};
use settings::Bind;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::Ordering::Relaxed;

/// The result of pausing or resuming a frontend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Switched {
    /// The state has changed as requested.
    Done,
    /// The frontend was in this state before.
    Already,
    /// Another process listens at this address: the frontend stays paused.
    Busy(SocketAddr),
}

/// Pauses a frontend: releases its ports. Connections continue.
pub fn pause(worker: &Worker, front: &Frontend) -> Switched {
    if front.disabled.swap(true, Relaxed) {
        return Switched::Already;
    }
    // The flag is set first: a thread that finds its socket not listening then knows the reason.
    lines(front).for_each(|line| suspend(worker, line));
    notify(worker, front, &format!("Paused {} {}.", word(worker, front), front.proxy.name()));
    Switched::Done
}

/// Resumes a frontend: it listens again.
pub fn resume(worker: &Worker, front: &Frontend) -> Switched {
    if !front.disabled.load(Relaxed) {
        return Switched::Already;
    }
    let busy = |line: BindSockets<'_>| listen(worker, line).err().and(inet(line.0));
    if let Some(address) = lines(front).find_map(busy) {
        lines(front).for_each(|line| suspend(worker, line));
        let (port, word, name) = (address.port(), word(worker, front), front.proxy.name());
        notify(worker, front, &format!("Port {port} busy while trying to enable {word} {name}."));
        return Switched::Busy(address);
    }
    front.disabled.store(false, Relaxed);
    worker.shared.wake_threads();
    notify(worker, front, &format!("Resumed {} {}.", word(worker, front), front.proxy.name()));
    Switched::Done
}

/// Pauses all frontends (SIGTTOU).
pub fn pause_all(worker: &Worker) {
    if !worker.shared.is_stopping() {
        switchable(worker).for_each(|front| {
            pause(worker, front);
        });
    }
}

/// Resumes all frontends, including those that a command paused (SIGTTIN).
pub fn resume_all(worker: &Worker) {
    if worker.shared.is_stopping() {
        return;
    }
    let refused =
        switchable(worker).filter(|front| matches!(resume(worker, front), Switched::Busy(_)));
    if refused.count() > 0 {
        log::complain(worker, "[WARNING]", REFUSED);
    }
}

const REFUSED: &str = "Some proxies refused to resume, probably due to a conflict on a listening \
    port. You may want to try again after the conflicting application is stopped, otherwise a \
    restart might be needed to resume safe operations.";

/// Frontends that are in service.
fn switchable(worker: &Worker) -> impl Iterator<Item = &Frontend> {
    let frontends = worker.shared.frontends().map(|front| &**front);
    frontends.filter(|front| !front.proxy.settings.disabled && !front.is_shut())
}

pub(super) fn is_paused(front: &Frontend) -> bool {
    front.disabled.load(Relaxed)
}

fn inet(bind: &Bind) -> Option<SocketAddr> {
    match &bind.address {
        Address::Inet(address) => Some(*address),
        Address::Unix(_) | Address::Pair(_) => None,
    }
}

/// A bind line and its sockets.
type BindSockets<'a> = (&'a Bind, &'a ListenSockets);

/// The bind lines of a frontend.
fn lines(front: &Frontend) -> impl Iterator<Item = BindSockets<'_>> {
    let lines = front.settings.binds.iter().zip(&front.listeners);
    lines.filter_map(|(bind, listener)| Some((bind, listener.sockets.as_ref()?)))
}

/// The sockets of a bind line that can stop listening for a while.
fn sockets((bind, sockets): BindSockets<'_>) -> impl Iterator<Item = Handle> {
    sockets.all().filter(|_| inet(bind).is_some() && bind.quic.is_none())
}

fn suspend(worker: &Worker, line: BindSockets<'_>) {
    // Suspending a socket that does not listen fails, and changes nothing.
    sockets(line).for_each(|handle| drop(worker.thread.kernel().suspend(handle)));
}

fn listen(worker: &Worker, line: BindSockets<'_>) -> io::Result<()> {
    let kernel = worker.thread.kernel();
    let bind = line.0;
    let Some(at) = inet(bind) else { return Ok(()) };
    sockets(line).try_for_each(|handle| kernel.resume_listening(handle, at, bind.backlog))
}

/// HAProxy's word for the section: one with both sides is a proxy.
fn word(worker: &Worker, front: &Frontend) -> &'static str {
    let section = worker.shared.proxies.get(front.proxy.index);
    if section.is_some_and(|section| section.back.is_some()) { "proxy" } else { "frontend" }
}

fn notify(worker: &Worker, front: &Frontend, text: &str) {
    log::complain(worker, "[WARNING]", text);
    log::send(worker, &front.proxy.settings.logs, level::WARNING, text.as_bytes());
}
