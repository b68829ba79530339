//! Streams for requests to servers: of an established connection, or of a new one.

use crate::connect::{is_first, take};
use balance::Sign;
use engine::state::backend::application;
use engine::state::backend::server_connection::{ServerConn, Target};
use engine::state::backend::trunk::reuse_policy;
use engine::state::backend::trunk::{Asker, Making, Trunk};
use engine::state::runtime::BackendRef;
use engine::state::session::transaction::Transaction;
use engine::state::thread_handle::ServerRef;
use mux::Side;
use settings::Protocol;
use std::rc::Rc;
use stdx::Tick;
use transport::channel::Link;
use transport::stats::transaction_log::{Cause, Ending, Failure, Phase};
use transport::streams::StreamMux;
use upstream::client_presence::check_client;
use upstream::connect_plan::ConnectPlan;
use upstream::reservation::refused;
use upstream::traffic_health;
use upstream::trunk_driver;
use wire::h2::request;

/// Sends the request's head on a stream of a connection that this client may use; `false` if there
/// is none. A request that is sent again waits for a connection that is being made: it may be one
/// of many that have lost the same connection.
///
/// # Errors
/// As [`upgrades`]; the connection is not made in time.
pub(crate) async fn reuse(
    tx: &mut Transaction,
    backend: &BackendRef,
    to: &ServerRef,
    way: &ConnectPlan,
    deadline: Option<Tick>,
) -> Result<bool, Failure> {
    let (client, first) = (tx.client.id, is_first(tx));
    let (policy, since) = (reuse_policy(backend, to), tx.failed_at.unwrap_or(0));
    let asker = Asker { client, first, policy, key: way.key, since };
    let again = tx.notes.journal.retries > 0;
    let worker = tx.worker.clone();
    let scheduler = worker.thread.scheduler();
    let mut waited = None;
    let trunk = loop {
        if let Some(trunk) = worker.trunks.find(to, asker) {
            break trunk;
        }
        // A request awaits one connection only: if that fails, the next one would hardly succeed,
        // and all requests would wait one after the other.
        waited = match waited {
            None if again => worker.trunks.await_next(to, asker, scheduler.current()),
            before => before.filter(|it| worker.trunks.is_coming(it)),
        };
        if waited.is_none() {
            return Ok(false);
        }
        if deadline.is_some_and(|deadline| deadline.is_due(worker.thread.tick())) {
            return Err(Failure::error(503, Cause::ServerTimeout, Phase::Connect));
        }
        check_client(tx, Phase::Connect)?;
        scheduler.wait(deadline).await;
    };
    upgrades(tx, &trunk, deadline).await?;
    board(tx, backend, &trunk, false)
}

/// The same on a new connection that carries streams; other requests may use it from then on, and
/// none waits for its `making` any more.
///
/// # Errors
/// The connection fails, or as [`upgrades`].
pub(crate) async fn begin(
    tx: &mut Transaction,
    backend: &BackendRef,
    to: &ServerRef,
    (target, link, protocol): (Target, Link, Protocol),
    making: Option<Making>,
    deadline: Option<Tick>,
) -> Result<(), Failure> {
    let Some(machine) = machine(tx, backend, protocol) else { return Err(refused()) };
    let trunk = Trunk::new(&tx.worker, backend, to, target, tx.client.id, machine);
    // The first write shows whether the connection is established: it holds the request, if that
    // can be sent.
    let waits = protocol == Protocol::H2 && asks_to_upgrade(tx);
    if !waits && !board(tx, backend, &trunk, true)? {
        return Err(refused());
    }
    await_connected(tx, &trunk, &link, deadline).await?;
    traffic_health::sign(tx, Sign::Connected);
    trunk_driver::serve(&tx.worker, &trunk, link);
    drop(making);
    if let (Some(listed), Some(server)) = (&tx.stream_entry, &tx.server) {
        // The stream's connection has its descriptor only now.
        listed.set_connection(server.socket());
    }
    if waits {
        let result = upgrades(tx, &trunk, deadline).await;
        if matches!(result, Err(failure) if failure.ending == Ending::WrongProtocol) {
            trunk.session.act_for_stream(StreamMux::abandon);
        }
        result?;
        if !board(tx, backend, &trunk, true)? {
            return Err(refused());
        }
    }
    tx.notes.journal.connected = tx.worker.thread.nanos();
    Ok(())
}

/// The protocol machine of a new connection; `None` if the backend has none for it.
fn machine(tx: &Transaction, backend: &BackendRef, protocol: Protocol) -> Option<StreamMux> {
    if protocol != Protocol::Fcgi {
        return Some(tx.worker.h2_conn(backend, Side::Server).into());
    }
    application::connection(&tx.worker, &backend.back).map(StreamMux::from)
}

/// Takes a stream for the request; `false` if the connection has none.
fn board(
    tx: &mut Transaction,
    backend: &BackendRef,
    trunk: &Rc<Trunk>,
    fresh: bool,
) -> Result<bool, Failure> {
    let Some(stream) = trunk.open(tx.client.id) else { return Ok(false) };
    take(tx, backend, Box::new(ServerConn::of_stream(trunk, stream)), fresh)?;
    tx.notes.journal.connected = tx.worker.thread.nanos();
    Ok(true)
}

/// Whether the request asks for an upgrade that HTTP/2 expresses by extended CONNECT.
fn asks_to_upgrade(tx: &Transaction) -> bool {
    tx.request_body.is_empty() && request::protocol(&tx.space.request).is_some()
}

/// Waits for the server's SETTINGS, which say whether it supports extended CONNECT, if the request
/// needs it (RFC 8441).
///
/// # Errors
/// The server does not support it (502). The connection ended, or the SETTINGS do not arrive in
/// time.
async fn upgrades(tx: &mut Transaction, trunk: &Trunk, end: Option<Tick>) -> Result<(), Failure> {
    if !asks_to_upgrade(tx) || trunk.session.inspect(StreamMux::is_fcgi) {
        return Ok(());
    }
    let _hold = trunk.hold();
    let thread = tx.worker.thread.clone();
    let token = thread.scheduler().current().to_bits();
    while !trunk.session.update(|mux| mux.has_peer_settings(token)) {
        if end.is_some_and(|end| end.is_due(thread.tick())) {
            return Err(Failure::error(503, Cause::ServerTimeout, Phase::Connect));
        }
        check_client(tx, Phase::Connect)?;
        thread.scheduler().wait(end).await;
    }
    match trunk.session.inspect(|mux| (mux.accepts_extended_connect(), mux.is_broken())) {
        (true, _) => Ok(()),
        (false, true) => Err(refused()),
        (false, false) => Err(Failure::new(Ending::WrongProtocol, Cause::Proxy, Phase::Headers)),
    }
}

/// Writes the first bytes of a connection that streams will share; their success shows that it is
/// established.
async fn await_connected(
    tx: &mut Transaction,
    trunk: &Trunk,
    link: &Link,
    deadline: Option<Tick>,
) -> Result<(), Failure> {
    let thread = tx.worker.thread.clone();
    let Some(socket) = link.transport() else { return Err(refused()) };
    let pending = |mux: &StreamMux| mux.output().len();
    let first = trunk.session.inspect(pending);
    loop {
        match trunk.session.flush(socket) {
            Ok(true) => return Ok(()),
            Ok(false) if trunk.session.inspect(pending) < first => return Ok(()),
            Ok(false) => {}
            Err(_) => return Err(refused()),
        }
        if deadline.is_some_and(|deadline| deadline.is_due(thread.tick())) {
            return Err(Failure::error(503, Cause::ServerTimeout, Phase::Connect));
        }
        check_client(tx, Phase::Connect)?;
        link.want_write();
        thread.scheduler().wait(deadline).await;
    }
}
