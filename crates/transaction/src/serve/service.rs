//! A request that a service inside the process answers in place of a server (`use-service`).
//!
//! The service is at the other end of an exchange ([`transport::streams::local`]), so its response
//! passes the same rules, filters and forwarding loop as that of a server.

use crate::message::body_buffer;
use crate::message::header_case;
use crate::serve::script_service;
use crate::stages::cache_validation;
use crate::{connect, filters, forward};
use engine::state::backend::server_connection::ServerConn;
use engine::state::services::Service;
use engine::state::session::transaction::Transaction;
use observability::telemetry::accounting;
use transport::stats::transaction_log::{Cause, Failure, Phase};
use transport::streams;

/// Passes the request to a service, and its response to the client.
///
/// # Errors
/// A rule or filter refuses the response, a peer takes too long or has gone, or the service fails.
pub(crate) async fn run(tx: &mut Transaction, service: Service) -> Result<(), Failure> {
    filters::request_head(tx)?;
    cache_validation::skip(tx);
    let (stream, exchange) = streams::exchange(&tx.worker.thread);
    accounting::by_applet(tx, service.log_name(), false);
    send_head(tx, Box::new(ServerConn::of_service(stream)));
    match service {
        Service::Script(script) => script_service::start(tx, script, exchange),
        _ => tx.worker.services.start(service, &tx.worker, exchange),
    }
    match forward::run(tx).await? {
        forward::End::Done => Ok(()),
        // A service is not tried again: it has no other server.
        forward::End::Again(_) | forward::End::FromCache => {
            Err(Failure::error(502, Cause::Internal, Phase::Headers))
        }
    }
}

/// Makes a service the other end of a session in TCP mode.
pub(crate) fn attach(tx: &mut Transaction, service: Service) {
    let (stream, exchange) = streams::byte_exchange(&tx.worker.thread);
    accounting::by_applet(tx, service.log_name(), false);
    connect::use_connection(tx, Box::new(ServerConn::of_service(stream)));
    // Others answer requests; rules of TCP do not name them.
    if let Service::Script(script) = service {
        script_service::start_tcp(tx, script, exchange);
    }
}

fn send_head(tx: &mut Transaction, mut server: Box<ServerConn>) {
    body_buffer::pass_on(tx, sample::Side::Request);
    let adjusts = tx.back_settings().is_some_and(|back| back.adjusts_case);
    let (space, body) = (&mut *tx.space, tx.request_body);
    space.up.clear();
    let out = &mut space.up.outbox.bytes;
    header_case::request(&tx.worker, adjusts, &mut server.mux, (&mut space.request, body), out);
    connect::use_connection(tx, server);
}
