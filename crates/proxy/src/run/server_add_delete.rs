//! Servers that are added and deleted while the program runs (management.txt 9.3, `add server`,
//! `del server`).

use balance::{Algorithm, HashMethod};
use engine::state::backend::server_register::Refusal;
use engine::state::backend::server_register::is_busy;
use engine::state::runtime::{Backend, Server};
use engine::state::worker::Worker;
use health::checks;
use health::servers::track;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

/// The slot of the server with a name; deleted servers are left out.
pub fn named(back: &Backend, name: &str) -> Option<usize> {
    back.register.lock().named(name)
}

/// Whether an algorithm accepts new servers while it runs.
pub fn takes_servers(algorithm: Algorithm) -> bool {
    let fixed = matches!(
        algorithm,
        Algorithm::StaticRr | Algorithm::Hash { method: HashMethod::MapBased, .. }
    );
    !fixed
}

/// Adds a server, and its checks, which do not run before they are enabled. A number of 0 becomes
/// the lowest that is free. Returns its slot, which it may have of a deleted server with the same
/// settings.
///
/// # Errors
/// Its name or number is in use, or the algorithm accepts no servers.
pub fn add(
    worker: &Worker,
    back: &Backend,
    mut settings: settings::Server,
) -> Result<usize, Refusal> {
    if !takes_servers(back.balancer.algorithm()) {
        return Err(Refusal::Static);
    }
    let mut register = back.register.lock();
    register.admit(&mut settings)?;
    if let Some(server) = register.take_deleted(back, &settings) {
        let slot = server.state.slot();
        back.balancer.renew(slot, &settings.balance.name, settings.balance.id, worker.millis());
        server.renew(&settings);
        register.enter(server);
        track::inherit(&worker.shared, back, server);
        begin(worker, back, slot);
        return Ok(slot);
    }
    let state_slot = back.balancer.add(settings.balance.clone(), worker.millis());
    let state = back.balancer.servers()[state_slot].clone();
    let server = Server::new(state, settings, worker.shared.settings.threads);
    server.checks_off.store(true, Relaxed);
    if server.limit.moves() {
        back.limits_move.store(true, Relaxed);
    }
    let slot = back.servers.push(server);
    register.enter(&back.servers[slot]);
    track::add_follower(&worker.shared, back, &back.servers[slot]);
    begin(worker, back, slot);
    Ok(slot)
}

/// Starts the health check and the agent check of a new server.
fn begin(worker: &Worker, back: &Backend, slot: usize) {
    let server = &back.servers[slot];
    if let Some(agent) = &server.agent {
        agent.off.store(true, Relaxed);
    }
    let (checked, asked) = (server.settings.balance.checked, server.agent.is_some());
    for (wanted, agent) in [(checked, false), (asked, true)] {
        // The check record of a server that was deleted in this slot may still exist.
        if wanted && !server.recorded[usize::from(agent)].swap(true, AcqRel) {
            checks::add(&worker.shared, back.proxy.index, slot, agent);
        }
    }
}

/// Deletes the server in a slot; idle connections to it are dropped.
///
/// # Errors
/// The server comes from the configuration, is not in maintenance, or is busy.
pub fn delete(worker: &Worker, back: &Backend, slot: usize) -> Result<(), Refusal> {
    let Some(server) = back.servers.get(slot) else { return Err(Refusal::Busy) };
    let referenced = server.settings.referenced || server.scripted.load(Relaxed);
    if referenced || track::is_followed(&worker.shared, server) {
        return Err(Refusal::Referenced);
    }
    let mut register = back.register.lock();
    if !server.state.state().1.in_maint() {
        return Err(Refusal::InService);
    }
    if is_busy(server) {
        // Other threads were asked to close their idle connections; the next attempt finds them
        // closed.
        health::servers::events::drop_idle(worker, back, slot);
        return Err(Refusal::Busy);
    }
    server.delete();
    register.leave(server);
    Ok(())
}
