//! Names that are resolved while the process serves (configuration manual, section 5.3): the tasks
//! of `resolvers` sections.
//!
//! Each section has one task, on one thread. Other tasks leave orders for it: for a request that
//! waits for a name, for a server whose checks cannot connect. Answers reach servers through
//! [`crate::servers::events`], and waiting requests through their mailboxes.

mod nameserver;
mod query_table;
mod resolver_task;
mod server_binding;

use engine::state::resolver::{Resolver, ResolverOrder};
use engine::state::runtime::Shared;
use engine::state::worker::Worker;
use reactor::Class;
use std::rc::Rc;

/// Starts the keepers that belong to a thread.
pub fn start(worker: &Rc<Worker>) {
    let threads = worker.shared.settings.threads;
    for (index, resolver) in worker.shared.resolvers.iter().enumerate() {
        if index % threads == worker.thread.index {
            let run = resolver_task::run(worker.clone(), index);
            let task = worker.thread.scheduler().spawn(Class::Normal, run);
            let _ = resolver.keeper.set((worker.thread.mailbox().clone(), task));
        }
    }
}

/// The section that resolves the server in this slot, if any does.
fn of(shared: &Shared, backend: usize, slot: usize) -> Option<&Resolver> {
    let back = shared.backend_at(backend)?;
    let resolve = back.servers.get(slot)?.settings.resolve.as_ref()?;
    shared.resolvers.get(resolve.resolvers)
}

/// Asks for the name of a server at once, because a check could not connect to its address.
pub(crate) fn hurry(shared: &Shared, backend: usize, slot: usize) {
    if let Some(resolver) = of(shared, backend, slot) {
        resolver.order(ResolverOrder::Hurry(backend, slot));
    }
}

/// Changes the host name of a server (`set server <s> fqdn`); returns whether a section resolves
/// it.
pub fn rename(shared: &Shared, backend: usize, slot: usize, name: &str) -> bool {
    match of(shared, backend, slot) {
        Some(resolver) if dns::message::is_name(name) => {
            resolver.order(ResolverOrder::Rename(backend, slot, name.to_ascii_lowercase().into()));
            true
        }
        _ => false,
    }
}
