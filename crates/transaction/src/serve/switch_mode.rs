//! Sessions that begin in TCP mode and continue in HTTP mode (manual section 4).
//!
//! The first request of a client that speaks HTTP/1 belongs to the session: what rules have left in
//! variables and counters stays. A session whose client speaks HTTP/2 vanishes, because it is none
//! of the streams.

use crate::message::first_bytes;
use crate::message::read_request;
use crate::serve::http;
use crate::stages::stage;
use crate::stages::table::Pass;
use engine::state::runtime::BackendRef;
use engine::state::session::client::Client;
use engine::state::session::transaction::{Arrival, Outcome, Transaction};
use mux::{Side, h1};
use rules::Spoken;
use settings::{Mode, Protocol};
use transport::codec::Machine;
use transport::stats::transaction_log::{Cause, Failure, Phase};

/// The reason for the switch.
pub(crate) enum Upgrade {
    /// A rule of the frontend (`switch-mode`), which may name the protocol.
    ByRule(Option<Spoken>),
    /// The mode of the backend that was chosen.
    ByBackend(BackendRef),
}

/// Continues a session in HTTP mode with the bytes received so far.
pub(crate) async fn run(mut tx: Transaction, upgrade: Upgrade) -> Outcome {
    if tx.client.protocol == Protocol::H1 {
        // `proto none`
        tx.notes.journal.end(Cause::Proxy, Phase::Request);
        return http::finish(tx);
    }
    let speaks_h2 = match upgrade {
        Upgrade::ByRule(Some(spoken)) => spoken == Spoken::H2,
        _ => speaks_h2(&mut tx.client).await,
    };
    tx.client.mode = Mode::Http;
    tx.client.protocol = if speaks_h2 { Protocol::H2 } else { Protocol::H1 };
    if speaks_h2 {
        return http::give_client_back(tx);
    }
    let settings = tx.worker.mux_settings(&tx.client.proxy, Side::Client);
    tx.client.mux = Machine::H1(h1::H1Conn::new(Side::Client, settings));
    tx.notes.journal.request = 0;
    tx.space.request.clear();
    if let Err(failure) = serve(&mut tx, upgrade).await {
        http::fail(&mut tx, failure).await;
    }
    http::conclude(tx)
}

/// Detects the protocol of a client by its first bytes, which may not have been read yet.
async fn speaks_h2(client: &mut Client) -> bool {
    if client.input.is_empty() {
        // If no bytes come, the read of the first request fails.
        first_bytes::first_bytes(client).await;
    }
    first_bytes::recognize(client).await
}

/// Serves the first request. A request that goes to its backend directly skips the rules of the
/// frontend.
async fn serve(tx: &mut Transaction, upgrade: Upgrade) -> Result<(), Failure> {
    if !read_request::at_once(tx, Arrival::Data)? {
        read_request::head(tx, Arrival::Data).await?;
    }
    if let Some(listed) = &tx.stream_entry {
        listed.set_http(tx.http());
    }
    match upgrade {
        Upgrade::ByRule(_) => http::follow(tx, Pass::Switched).await,
        Upgrade::ByBackend(backend) => {
            let front = tx.client.proxy.common.clone();
            stage::request(tx, &front, Pass::Received).await?;
            http::enter(tx, backend).await
        }
    }
}
