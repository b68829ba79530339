//! Servers that follow the state of another one (`track`).
//!
//! The last followers change first, as in HAProxy. Chains end: the configuration has no loops, and
//! a server that is added follows only one that was there from the start.

use crate::servers::events;
use crate::servers::events::Cause;
use balance::{Admin, Change};
pub(crate) use engine::state::backend::tracking::At;
use engine::state::runtime::{Backend, Server, Shared};
use engine::state::worker::Worker;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Adds all followers to the servers that they track; leaders come before their followers, in any
/// order of the file, so that a state goes down a whole chain.
pub fn follow_all(shared: &Shared) {
    let mut all = Vec::new();
    for back in shared.backends() {
        all.extend(back.servers.iter().map(|server| (leaders(shared, server), back, server)));
    }
    all.sort_by_key(|(leaders, ..)| *leaders);
    all.into_iter().for_each(|(_, back, server)| add_follower(shared, back, server));
}

/// The number of servers above one in its chain.
fn leaders(shared: &Shared, server: &Server) -> usize {
    let next = |server: &&Server| leader(shared, server);
    std::iter::successors(next(&server), next).count()
}

/// Adds a server to the followers of the server that it tracks, and copies that server's state.
pub fn add_follower(shared: &Shared, back: &Backend, server: &Server) {
    let Some(leader) = leader(shared, server) else { return };
    leader.followers.push(At { backend: back.proxy.index, slot: server.state.slot() });
    inherit(shared, back, server);
}

/// Copies the state of the tracked server.
pub fn inherit(shared: &Shared, back: &Backend, server: &Server) {
    let Some(leader) = leader(shared, server) else { return };
    let slot = server.state.slot();
    server.checks_off.store(leader.checks_off.load(Relaxed), Relaxed);
    let admin = leader.state.state().1;
    let now = server.state.changed_ms();
    if admin.in_maint() {
        back.balancer.set_admin(slot, Admin::INHERITED_MAINT, Admin::default(), now);
    }
    back.balancer.follow_state(slot, &leader.state, now);
}

/// The server that one follows.
fn leader<'s>(shared: &'s Shared, server: &Server) -> Option<&'s Server> {
    let track = server.settings.balance.track.as_ref()?;
    let back = shared.backend(&track.backend)?;
    let slot = back.servers.slot_of(|server| server.state.name() == track.server)?;
    Some(&back.servers[slot])
}

/// The checks of a server are suspended, or run again: those that follow it are shown so.
pub fn suspend_checks(shared: &Shared, server: &Server, off: bool) {
    server.checks_off.store(off, Relaxed);
    followers(shared, server).for_each(|(_, follower)| suspend_checks(shared, follower, off));
}

/// Whether others follow a server.
pub fn is_followed(shared: &Shared, server: &Server) -> bool {
    followers(shared, server).next().is_some()
}

fn followers<'s>(
    shared: &'s Shared,
    server: &'s Server,
) -> impl Iterator<Item = (&'s Arc<Backend>, &'s Server)> {
    server.followers.iter().rev().filter_map(|at| {
        let back = shared.backend_at(at.backend)?;
        Some((back, back.servers.get(at.slot)?))
    })
}

/// The operational state of a server has changed: that of its followers does too.
pub(crate) fn changed(worker: &Worker, server: &Server) {
    if server.followers.is_empty() {
        return;
    }
    for (back, follower) in followers(&worker.shared, server) {
        follow(worker, back, follower, server);
    }
}

fn follow(worker: &Worker, back: &Backend, follower: &Server, leader: &Server) {
    let slot = follower.state.slot();
    let change = back.balancer.follow_state(slot, &leader.state, worker.millis());
    if let (Some(track), true) = (&follower.settings.balance.track, change != Change::None) {
        events::server_changed(worker, back, slot, change, Cause::Tracked(track));
    }
}

/// Administrative bits of a server were set or cleared: its followers inherit them.
pub(crate) fn administered(worker: &Worker, server: &Server, before: Admin) {
    if server.followers.is_empty() {
        return;
    }
    let now = server.state.state().1;
    let mut set = Admin::default();
    let mut clear = Admin::default();
    let pairs = [
        (Admin::INHERITED_MAINT, before.in_maint(), now.in_maint()),
        (Admin::INHERITED_DRAIN, before.in_drain(), now.in_drain()),
    ];
    for (bit, was, is) in pairs {
        match (was, is) {
            (false, true) => set = set.with(bit),
            (true, false) => clear = clear.with(bit),
            _ => {}
        }
    }
    if set == clear {
        return;
    }
    for (back, follower) in followers(&worker.shared, server) {
        let slot = follower.state.slot();
        if let Some(track) = &follower.settings.balance.track {
            events::set_admin(worker, back, slot, set, clear, Cause::Tracked(track));
        }
    }
}

/// A follower that leaves maintenance takes the state of the tracked server.
pub(crate) fn resume(worker: &Worker, back: &Backend, follower: &Server) {
    if let Some(leader) = leader(&worker.shared, follower) {
        back.balancer.follow_state(follower.state.slot(), &leader.state, worker.millis());
    }
}
