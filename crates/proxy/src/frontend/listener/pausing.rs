//! Frontends that release their ports for a while (`disable frontend`, SIGTTOU; management.txt,
//! section 4).
//!
//! The sockets stay, so that they can listen again without the privileges that binding them took;
//! meanwhile another process can listen at their ports. Clients of unix sockets wait.

use engine::state::os_handles::ListenSockets;
use engine::state::runtime::{Front, Proxy};
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

/// Pauses a frontend: releases its ports. Connections go on.
pub fn pause(worker: &Worker, proxy: &Proxy) -> Switched {
    let (Some(front), Some(settings)) = (&proxy.front, &proxy.settings.front) else {
        return Switched::Already;
    };
    if front.disabled.swap(true, Relaxed) {
        return Switched::Already;
    }
    // The flag is set first: a thread that finds its socket not listening then knows the reason.
    lines(front, settings).for_each(|line| suspend(worker, line));
    tell(worker, proxy, &format!("Paused {} {}.", word(proxy), proxy.name()));
    Switched::Done
}

/// Resumes a frontend: it listens again.
pub fn resume(worker: &Worker, proxy: &Proxy) -> Switched {
    let (Some(front), Some(settings)) = (&proxy.front, &proxy.settings.front) else {
        return Switched::Already;
    };
    if !front.disabled.load(Relaxed) {
        return Switched::Already;
    }
    let busy = |line: BindSockets<'_>| listen(worker, line).err().and(inet(line.0));
    if let Some(address) = lines(front, settings).find_map(busy) {
        lines(front, settings).for_each(|line| suspend(worker, line));
        let (port, word, name) = (address.port(), word(proxy), proxy.name());
        tell(worker, proxy, &format!("Port {port} busy while trying to enable {word} {name}."));
        return Switched::Busy(address);
    }
    front.disabled.store(false, Relaxed);
    worker.shared.rouse();
    tell(worker, proxy, &format!("Resumed {} {}.", word(proxy), proxy.name()));
    Switched::Done
}

/// Pauses all frontends (SIGTTOU).
pub fn pause_all(worker: &Worker) {
    if !worker.shared.is_stopping() {
        switchable(worker).for_each(|proxy| {
            pause(worker, proxy);
        });
    }
}

/// Resumes all frontends, also those that a command paused (SIGTTIN).
pub fn resume_all(worker: &Worker) {
    if worker.shared.is_stopping() {
        return;
    }
    let refused =
        switchable(worker).filter(|proxy| matches!(resume(worker, proxy), Switched::Busy(_)));
    if refused.count() > 0 {
        log::complain(worker, "[WARNING]", REFUSED);
    }
}

const REFUSED: &str = "Some proxies refused to resume, probably due to a conflict on a listening \
    port. You may want to try again after the conflicting application is stopped, otherwise a \
    restart might be needed to resume safe operations.";

/// Frontends that are in service.
fn switchable(worker: &Worker) -> impl Iterator<Item = &Proxy> {
    let proxies = worker.shared.proxies.iter().map(|proxy| &**proxy);
    let serves = |front: &Front| !front.is_shut();
    proxies
        .filter(move |proxy| !proxy.settings.disabled && proxy.front.as_ref().is_some_and(serves))
}

pub(super) fn is_paused(proxy: &Proxy) -> bool {
    proxy.front.as_ref().is_some_and(|front| front.disabled.load(Relaxed))
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
fn lines<'a>(
    front: &'a Front,
    settings: &'a settings::Front,
) -> impl Iterator<Item = BindSockets<'a>> {
    let lines = settings.binds.iter().zip(&front.listeners);
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
fn word(proxy: &Proxy) -> &'static str {
    if proxy.back.is_some() { "proxy" } else { "frontend" }
}

fn tell(worker: &Worker, proxy: &Proxy, text: &str) {
    log::complain(worker, "[WARNING]", text);
    log::send(worker, &proxy.settings.logs, level::WARNING, text.as_bytes());
}
