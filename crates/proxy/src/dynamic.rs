//! Servers that come and go while the program runs (management.txt 9.3, `add server`, `del server`).
//! Never parses what an operator typed.

use crate::check;
use crate::runtime::{Proxy, Server};
use crate::settings;
use crate::tracking;
use crate::worker::Worker;
use balance::{Algorithm, HashMethod};
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

/// Why a server cannot come or go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Another one has its name.
    NameTaken,
    /// Another one, in this slot, has its number.
    NumberTaken(usize),
    /// The algorithm has a fixed table of servers.
    Static,
    /// Rules or other servers name it.
    Referenced,
    /// It is not in maintenance.
    InService,
    /// It still has connections or requests.
    Busy,
}

/// Whether an algorithm takes servers in while it runs.
pub fn takes_servers(algorithm: Algorithm) -> bool {
    let fixed = matches!(
        algorithm,
        Algorithm::StaticRr | Algorithm::Hash { method: HashMethod::MapBased, .. }
    );
    !fixed
}

/// Adds a server, and its checks, which do not run before they are enabled. A number of 0 becomes
/// the lowest that is free.
///
/// # Errors
/// Its name or number is taken, or the algorithm takes none.
pub fn add(worker: &Worker, proxy: &Proxy, mut settings: settings::Server) -> Result<(), Refusal> {
    let Some(back) = &proxy.back else { return Err(Refusal::Static) };
    if !takes_servers(back.balancer.algorithm()) {
        return Err(Refusal::Static);
    }
    let _alone = back.changing.lock().unwrap_or_else(PoisonError::into_inner);
    if back.servers.slot_of(|server| server.state.name() == settings.balance.name).is_some() {
        return Err(Refusal::NameTaken);
    }
    let taken = |id: u32| back.servers.slot_of(|server| server.settings.balance.id == id);
    match settings.balance.id {
        0 => settings.balance.id = (1..).find(|id| taken(*id).is_none()).unwrap_or(u32::MAX),
        id => {
            if let Some(slot) = taken(id) {
                return Err(Refusal::NumberTaken(slot));
            }
        }
    }
    let state_slot = back.balancer.add(settings.balance.clone(), worker.millis());
    let state = back.balancer.servers()[state_slot].clone();
    let (checked, asked) = (settings.balance.checked, settings.agent.is_some());
    let server = Server::new(state, settings, worker.shared.settings.threads);
    server.checks_off.store(true, Relaxed);
    if let Some(agent) = &server.agent {
        agent.off.store(true, Relaxed);
    }
    if server.limit.moves() {
        back.limits_move.store(true, Relaxed);
    }
    let slot = back.servers.push(server);
    tracking::introduce(&worker.shared, proxy, &back.servers[slot]);
    for (wanted, agent) in [(checked, false), (asked, true)] {
        if wanted {
            check::add(&worker.shared, proxy.index, slot, agent);
        }
    }
    Ok(())
}

/// Deletes the server in a slot; idle connections to it are dropped.
///
/// # Errors
/// It is named by the configuration, not in maintenance, or busy.
pub fn delete(worker: &Worker, proxy: &Proxy, slot: usize) -> Result<(), Refusal> {
    let Some(back) = &proxy.back else { return Err(Refusal::Referenced) };
    let Some(server) = back.servers.get(slot) else { return Err(Refusal::Busy) };
    if server.settings.referenced || tracking::is_followed(&worker.shared, server) {
        return Err(Refusal::Referenced);
    }
    let _alone = back.changing.lock().unwrap_or_else(PoisonError::into_inner);
    if !server.state.state().1.in_maint() {
        return Err(Refusal::InService);
    }
    if is_busy(server) {
        // Those that lie idle in other threads were told to go; they are gone the next time.
        crate::notice::drop_idle(worker, proxy, slot);
        return Err(Refusal::Busy);
    }
    server.delete();
    Ok(())
}

fn is_busy(server: &Server) -> bool {
    let load = server.state.load().total();
    load > 0 || server.sessions.current() > 0 || !server.queue.is_empty() || server.idle() > 0
}
