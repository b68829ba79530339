//! Builds the state of the process and starts the tasks of each thread.

use crate::frontend::h2_refusal;
use crate::frontend::listener;
use crate::log_forward;
use crate::peers;
use crate::run::maintenance;
use crate::run::ocsp_update;
use crate::run::scripts;
use crate::run::table_expiry;
use crate::spoe;
use engine::state::os_handles::OsHandles;
use engine::state::runtime::Shared;
use engine::state::services::Services;
use engine::state::worker::{Hooks, Worker};
use health::checks;
use health::discovery;
use health::servers::events;
use health::servers::track;
use observability::logging::ring_forward;
use observability::telemetry::history;
use observability::telemetry::trace::points as trace;
use reactor::{Class, Thread};
use std::rc::Rc;
use std::sync::Arc;

/// Builds the running objects without listening. `now` is monotonic, in nanoseconds.
pub fn build(
    settings: settings::Process,
    proxies: Vec<settings::ProxySection>,
    handles: OsHandles,
    now: u64,
) -> Arc<Shared> {
    let shared = Shared::new(settings, proxies, handles, now);
    events::restore_all(&shared);
    track::follow_all(&shared);
    table_expiry::tend_all(&shared);
    history::keep(&shared);
    shared
}

const HOOKS: Hooks = Hooks {
    session_ended: |client| trace::client(client, &trace::SESSION_END),
    h2_refused: h2_refusal::report,
    script_request: transaction::call::script::answer,
};

/// Starts the tasks of a thread: maintenance, listeners, health checks, resolvers, forwarded rings,
/// log forwarders, peers, scripts and updates of OCSP responses.
pub fn start(thread: &Rc<Thread>, shared: &Arc<Shared>, services: Box<dyn Services>) -> Rc<Worker> {
    let worker = Worker::new(thread, shared, services, HOOKS);
    let keeper = thread.scheduler().spawn(Class::Normal, maintenance::run(worker.clone()));
    worker.idle.set_keeper(keeper);
    shared.register_thread(&worker, keeper);
    listener::start_all(&worker);
    maintenance::start_measuring(&worker);
    checks::start(&worker);
    discovery::start(&worker);
    ring_forward::start(&worker);
    log_forward::start(&worker);
    peers::start(&worker);
    scripts::start(&worker);
    spoe::start(&worker);
    ocsp_update::start(&worker);
    worker
}
