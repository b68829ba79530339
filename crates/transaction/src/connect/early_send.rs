//! Requests that leave with the first bytes of a handshake; [`crate::retry::early_data`]
//! says which.

use crate::connect;
use crate::retry;
use crate::retry::early_data::came_early;
use balance::Sign;
use engine::state::backend::server_connection::ServerConn;
use engine::state::runtime::BackendRef;
use engine::state::session::transaction::{EarlyDataResult, Transaction};
use settings::RetryOn;
use stdx::Tick;
use transport::stats::counters::Metric;
use transport::stats::transaction_log::{Cause, Ending, Failure, Phase};
use transport::tls_facts::Failed;
use upstream::connect_plan::ConnectPlan;
use upstream::traffic_health;

/// Makes a new connection an encrypted one and sends the request on it, as early as the server
/// allows.
///
/// # Errors
/// As [`ConnectPlan::encrypt`]; 425 if the server rejected the early data, and no retry is allowed.
pub(crate) async fn send(
    tx: &mut Transaction,
    backend: &BackendRef,
    (way, mut connection): (&ConnectPlan, Box<ServerConn>),
    deadline: Option<Tick>,
) -> Result<(), Failure> {
    let asked = came_early(tx);
    connect::encode_request(tx, backend, &mut connection, true)?;
    let words = std::mem::take(&mut tx.space.up.outbox.bytes);
    let result = way.encrypt(tx, connection.socket_mut(), deadline, &words).await;
    tx.space.up.outbox.bytes = words;
    let outcome = result?;
    connect::count(tx, backend);
    match outcome {
        EarlyDataResult::Unsaid => {}
        EarlyDataResult::Taken => {
            tx.early_data.sent_by_proxy = !asked;
            tx.space.up.note_sent();
        }
        EarlyDataResult::Refused if retry::wants(tx, RetryOn::EARLY) => {
            // The server has read nothing of the early data: the established connection can be
            // used.
            tx.notes.journal.retries += 1;
            connect::count_both(tx.claim.as_ref(), backend, Metric::Retries);
        }
        EarlyDataResult::Refused => return Err(refused(tx)),
    }
    connect::use_connection(tx, connection);
    connect::await_connected(tx, deadline).await?;
    traffic_health::sign(tx, Sign::Connected);
    tx.notes.journal.connected = tx.worker.thread.nanos();
    Ok(())
}

/// Rejects the request with 425: the client sent it early, and can repeat it.
fn refused(tx: &mut Transaction) -> Failure {
    tx.notes.used = true;
    let words = (38, "Server refused early data");
    tx.notes.unsecured = Some(Box::new(Failed::new(words, None, None)));
    Failure::new(Ending::TooEarly, Cause::ServerAbort, Phase::Connect)
}
