//! Effects of a change of a server's state: waking queues, dropping idle connections, reports to
//! operators.
//!
//! Checks call [`server_changed`]; commands call [`set_admin`], [`force_health`] and
//! [`set_weight`], which change the server and then call it. Levels and words of log lines are
//! HAProxy's.

use crate::servers::slow_start;
use crate::servers::track;
use balance::notice::{self, Sessions};
use balance::{Admin, Change, OpState};
use engine::state::backend::server_address::AddressSnapshot;
use engine::state::runtime::{Backend, Server, Shared};
use engine::state::session::stream_list;
use engine::state::session::stream_list::StreamSet;
use engine::state::worker::Worker;
use observability::logging::log;
use observability::logging::mail;
use std::sync::atomic::Ordering::Relaxed;
use transport::stats::transaction_log::Cause as End;

pub use balance::notice::Cause;

/// Restores the states that a previous process has saved, before anything runs.
pub fn restore_all(shared: &Shared) {
    let mut told = Vec::new();
    for back in shared.all_backends().filter(|back| !back.proxy.settings.disabled) {
        for server in &back.servers {
            if let Some(from) = &server.settings.restored {
                told.extend(restore(back, server, from, shared.started / 1_000_000));
            }
        }
        back.balancer.refresh();
        let usable = back.balancer.usable();
        back.availability.down.store(usable.active + usable.backup == 0, Relaxed);
    }
    let _ = shared.restored.set(told);
}

fn restore(back: &Backend, server: &Server, from: &balance::Restored, now_ms: u64) -> Vec<String> {
    let (name, state, none) = (back.proxy.name(), &server.state, Sessions::default());
    let before = state.state().1;
    let change = back.balancer.restore(state.slot(), from, now_ms);
    server.paused.store(state.state().1.in_maint(), Relaxed);
    let usable = back.balancer.usable();
    let mut told = match change {
        Change::Down => vec![notice::down(name, state, Cause::Restored, usable, none)],
        Change::Stopping => vec![notice::stopping(name, state, Cause::Restored, usable, none)],
        Change::Up => return notice::leaving_admin(name, state, before),
        Change::None => Vec::new(),
    };
    told.extend(notice::still_draining(name, state));
    told
}

/// Sets and clears administrative bits of the server in `slot`, and tells what changed.
/// Returns the bits before; `None` if there is no such server.
pub fn set_admin(
    worker: &Worker,
    back: &Backend,
    slot: usize,
    set: Admin,
    clear: Admin,
    cause: Cause<'_>,
) -> Option<Admin> {
    let server = &back.servers.get(slot)?.state;
    let was = server.state().0;
    let before = change_bits(worker, back, slot, (set, clear));
    let now = server.state().1;
    let (name, left) = (back.proxy.name(), back.balancer.usable());
    if !before.in_maint() && now.in_maint() {
        let text = if was == OpState::Stopped {
            notice::down_to_maint(name, server, cause)
        } else {
            let sessions = leave(worker, back, slot);
            notice::going_maint(name, server, cause, left, sessions)
        };
        // The loss of a server that took no new requests is not counted, unless its weight was only
        // temporarily zero.
        let served = matches!(was, OpState::Running | OpState::Starting) && !before.in_drain();
        let level = if served { log::level::ALERT } else { log::level::NOTICE };
        announce(worker, back, level, &text);
        if was != OpState::Stopped {
            went_down(worker, back, slot);
        }
    } else if !before.in_drain() && now.in_drain() && !before.in_maint() && !now.in_maint() {
        let sessions = leave(worker, back, slot);
        let text = notice::entering_drain(name, server, cause, left, sessions);
        announce(worker, back, log::level::NOTICE, &text);
        mail::send_alert(worker, &back.proxy, log::level::NOTICE, &text);
    } else {
        for text in notice::leaving_admin(name, server, before) {
            announce(worker, back, log::level::NOTICE, &text);
        }
        come_back(worker, back, slot, before);
    }
    review(worker, back);
    track::administered(worker, &back.servers[slot], before);
    Some(before)
}

/// Sets and clears administrative bits. A server that leaves maintenance takes the state of the
/// server that it tracks, if it tracks one. Returns the bits before.
fn change_bits(
    worker: &Worker,
    back: &Backend,
    slot: usize,
    (set, clear): (Admin, Admin),
) -> Admin {
    let server = &back.servers[slot];
    let before = back.balancer.set_admin(slot, set, clear, worker.millis());
    let now = server.state.state().1;
    if before.in_maint() && !now.in_maint() {
        track::resume(worker, back, server);
    }
    if now.in_maint() != before.in_maint() {
        server.paused.store(now.in_maint(), Relaxed);
    }
    before
}

/// Ends an administrative state: if the server was out of service `before` and is in service now,
/// reports the change and starts what depends on it; does nothing else.
fn come_back(worker: &Worker, back: &Backend, slot: usize, before: Admin) {
    let server = &back.servers[slot].state;
    if server.is_usable() {
        join(back, slot);
    }
    if before.in_maint() && server.state().0 != OpState::Stopped {
        slow_start::begin(worker, back, slot);
        came_up(worker, back, slot);
    }
}

/// `set server <s> health`: forces the result that checks would have reported, and reports the
/// change.
pub fn force_health(worker: &Worker, back: &Backend, slot: usize, change: Change) {
    let Some(server) = back.servers.get(slot) else { return };
    let before = server.state.state().0;
    back.balancer.force_health(slot, change, worker.millis());
    if server.state.state().0 != before {
        server_changed(worker, back, slot, change, Cause::Cli);
    }
}

/// `set server <s> agent`: has the effect of an answer of the agent, and reports the change.
pub fn force_agent(worker: &Worker, back: &Backend, slot: usize, up: bool) {
    let change = back.balancer.force_agent(slot, up, worker.millis());
    server_changed(worker, back, slot, change, Cause::Cli);
}

/// Sets a server's weight, 0 to 256, unless the algorithm does not allow it; 0 lets nothing new in.
pub fn set_weight(worker: &Worker, back: &Backend, slot: usize, weight: u32) {
    if !back.balancer.allows_weight(slot, weight) {
        return;
    }
    back.balancer.set_weight(slot, weight, worker.millis());
    let server = back.servers.get(slot);
    // An operator that sets a weight may expect requests to arrive.
    if let Some(text) = server.and_then(|it| notice::still_draining(back.proxy.name(), &it.state)) {
        announce(worker, back, log::level::NOTICE, &text);
    }
    if server.is_some_and(|server| server.state.is_usable()) {
        join(back, slot);
    }
    review(worker, back);
}

/// Carries out the consequences of a change of a server's operational state, and reports it, once
/// per change.
pub fn server_changed(
    worker: &Worker,
    back: &Backend,
    slot: usize,
    change: Change,
    cause: Cause<'_>,
) {
    let Some(server) = back.servers.get(slot) else { return };
    let (name, state, usable) = (back.proxy.name(), &server.state, back.balancer.usable());
    let (level, text) = match change {
        Change::None => return,
        Change::Down => {
            let sessions = leave(worker, back, slot);
            (log::level::ALERT, notice::down(name, state, cause, usable, sessions))
        }
        Change::Up => {
            (log::level::NOTICE, notice::up(name, state, cause, usable, join(back, slot)))
        }
        Change::Stopping => {
            let sessions = leave(worker, back, slot);
            (log::level::NOTICE, notice::stopping(name, state, cause, usable, sessions))
        }
    };
    announce(worker, back, level, &text);
    // As in HAProxy, a server that stops accepting new sessions causes no mail.
    if change != Change::Stopping {
        mail::send_alert(worker, &back.proxy, level, &text);
    }
    match change {
        Change::Down => went_down(worker, back, slot),
        Change::Up => {
            slow_start::begin(worker, back, slot);
            came_up(worker, back, slot);
        }
        Change::None | Change::Stopping => {}
    }
    review(worker, back);
    track::changed(worker, server);
}

/// `on-marked-down shutdown-sessions`
fn went_down(worker: &Worker, back: &Backend, slot: usize) {
    let server = back.servers.get(slot);
    if server.is_some_and(|server| server.settings.ends_streams) {
        stream_list::end_all(&worker.shared, StreamSet::Server(back.proxy.index, slot), End::Down);
    }
}

/// `on-marked-up shutdown-backup-sessions`: an active server that takes requests relieves the
/// backup servers.
fn came_up(worker: &Worker, back: &Backend, slot: usize) {
    let Some(server) = back.servers.get(slot) else { return };
    let active = !server.settings.balance.backup && server.state.load().weight() > 0;
    if !server.settings.relieves_backups || !active {
        return;
    }
    for other in back.servers.iter().filter(|other| other.settings.balance.backup) {
        let which = StreamSet::Server(back.proxy.index, other.state.slot());
        stream_list::end_all(&worker.shared, which, End::Up);
    }
}

/// The name of a server has an address: the server takes requests if nothing else forbids it.
/// `told`: a name server has answered for this name, rather than sent its address with another
/// answer.
pub fn resolves(worker: &Worker, back: &Backend, slot: usize, told: bool) {
    let Some(server) = back.servers.get(slot) else { return };
    if !server.state.state().1.any(Admin::RESOLUTION_MAINT) {
        return;
    }
    let bits = (Admin::default(), Admin::RESOLUTION_MAINT);
    let before = change_bits(worker, back, slot, bits);
    let place = server.location.now();
    let host = place.host.as_deref().unwrap_or_default();
    let text = notice::resolves_again(back.proxy.name(), &server.state, host);
    announce(worker, back, log::level::NOTICE, &text);
    if told {
        let text = notice::ready_by_dns(back.proxy.name(), &server.state);
        announce(worker, back, log::level::NOTICE, &text);
    }
    come_back(worker, back, slot, before);
    review(worker, back);
    track::administered(worker, server, before);
}

/// The name of a server does not resolve any more, for the reason given: it rests until it does.
pub(crate) fn resolves_not(worker: &Worker, back: &Backend, slot: usize, why: &str) {
    set_admin(
        worker,
        back,
        slot,
        Admin::RESOLUTION_MAINT,
        Admin::default(),
        Cause::Resolution(why),
    );
}

/// Changes the address of a server or of its checks: idle connections to the old address are
/// dropped now, those in use after their requests. Returns whether the address changed.
pub fn relocate(
    worker: &Worker,
    back: &Backend,
    slot: usize,
    change: impl Fn(&mut AddressSnapshot),
) -> bool {
    let Some(server) = back.servers.get(slot) else { return false };
    let before = server.location.now().address.clone();
    let changed = server.location.change(change);
    if before != server.location.now().address {
        drop_idle(worker, back, slot);
    }
    changed
}

/// Tells operators what a command has done, at the level of a notice.
pub fn notify_operators(worker: &Worker, back: &Backend, text: &str) {
    announce(worker, back, log::level::NOTICE, text);
}

/// Tells operators: the backend's log targets at `level`, and the standard error output.
pub fn announce(worker: &Worker, back: &Backend, level: u8, text: &str) {
    log::send(worker, &back.proxy.settings.logs, level, text.as_bytes());
    log::complain(worker, "[WARNING]", text);
}

/// Reports to operators that connections to a server cannot use their source address: no other log
/// shows why the server is not reached.
#[cold]
pub fn has_no_source(worker: &Worker, back: &Backend) {
    let name = back.proxy.name();
    let text = format!("Cannot bind to source address before connect() for backend {name}.");
    log::send(worker, &back.proxy.settings.logs, log::level::EMERG, text.as_bytes());
    log::complain(worker, "[ALERT]", &format!("{text} Aborting."));
}

/// A server takes no new requests: queued requests look for another server, and idle connections
/// are closed if the server is down.
fn leave(worker: &Worker, back: &Backend, slot: usize) -> Sessions {
    let server = &back.servers[slot];
    if !server.state.accepts_persistent() {
        drop_idle(worker, back, slot);
    }
    let mut requeued = 0;
    while server.queue.call(slot) {
        requeued += 1;
    }
    let queued = server.queue.len().saturating_sub(requeued);
    Sessions { active: server.sessions.current(), requeued, queued }
}

/// A server takes requests again: as many as it has room for are called.
fn join(back: &Backend, slot: usize) -> Sessions {
    let server = &back.servers[slot];
    let requeued = back.let_in(slot);
    Sessions { active: server.sessions.current(), requeued, queued: server.queue.len() }
}

/// Closes the idle connections to a server on this thread.
pub fn drop_idle(worker: &Worker, back: &Backend, slot: usize) {
    let index = back.proxy.index;
    if let Some(server) = back.servers.get(slot) {
        server.parked.clear(worker);
    }
    worker.idle.clear(index, slot);
    worker.trunks.clear(index, slot);
    for thread in (0..worker.shared.settings.threads).filter(|it| *it != worker.thread.index) {
        worker.shared.run_on_thread(
            thread,
            Box::new(move |worker| {
                worker.idle.clear(index, slot);
                worker.trunks.clear(index, slot);
            }),
        );
    }
}

/// Reports that a backend has lost its last usable server, or has one again. Other servers may take
/// part now, such as backup servers: they have room for requests that wait for any server.
fn review(worker: &Worker, back: &Backend) {
    back.let_all_in();
    let usable = back.balancer.usable();
    let down = usable.active == 0 && usable.backup == 0;
    // The swap lets one of several threads report it.
    if back.availability.down.swap(down, Relaxed) == down {
        return;
    }
    let now = worker.millis();
    let since = back.changed_ms.swap(now, Relaxed);
    if !down {
        back.availability.downtime_ms.fetch_add(now.saturating_sub(since), Relaxed);
        return;
    }
    back.availability.went_down.fetch_add(1, Relaxed);
    let section = worker.shared.proxies.get(back.proxy.index);
    let listens = section.is_some_and(|section| section.front.is_some());
    let (name, kind) = (back.proxy.name(), if listens { "proxy" } else { "backend" });
    let text = format!("{kind} {name} has no server available!");
    log::send(worker, &back.proxy.settings.logs, log::level::EMERG, text.as_bytes());
    log::complain(worker, "[ALERT]", &format!("{kind} '{name}' has no server available!"));
}
