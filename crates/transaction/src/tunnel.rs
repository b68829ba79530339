//! Opaque bytes both ways between a client and a server, and which transactions need nothing else.

pub(crate) mod pipe;
pub(crate) mod relay;

use engine::state::session::transaction::Transaction;

/// The silence after which a client is probed by the next bytes sent to it, in milliseconds.
pub(crate) const LONG_MS: u32 = 100;

/// Whether a transaction that carries opaque bytes can do without its memory: its bytes pass no
/// filter, and nothing counts or reports them on their way.
pub(crate) fn can_rest(tx: &Transaction) -> bool {
    let served = tx.server.as_ref().is_some_and(|server| server.server().is_some());
    served
        && !tx.client.socket.begins_inside()
        && !tx.client.proxy.front.settings.continuous_stats
        && !tx.worker.shared.traces.any()
}

/// As [`can_rest`], for an exchange of HTTP whose two directions wait for bytes.
pub(crate) fn can_exchange_rest(tx: &Transaction) -> bool {
    let (space, Some(server)) = (&tx.space, &tx.server) else { return false };
    let flows = [&space.up, &space.down];
    tx.client.mux.is_open_tunnel()
        && server.mux.is_open_tunnel()
        && can_rest(tx)
        && tx.client.input.is_empty()
        && server.received().is_empty()
        && flows.iter().all(|flow| flow.is_flushed() && flow.filters.is_none())
        && space.up.keep.is_none()
        && !space.down.discards
}
