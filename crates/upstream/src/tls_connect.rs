//! The TLS handshake with a server.

use crate::client_presence;
use engine::io::tls_handshake::{TlsHandshakeFailure, begin, is_resumed, presence, run};
use engine::state::session::transaction::{EarlyDataResult, Transaction};
use engine::state::worker::Worker;
use reactor::Tick;
use settings::Encryption;
use tls::{HandshakeError, Reason};
use transport::channel::Link;
use transport::socket::Transport;
use transport::stats::transaction_log::{Cause, Failure, Phase};
use transport::tls_facts::Failed;

/// Runs the TLS handshake with a server and sends `early` as early data, if the session allows.
pub(crate) async fn connect(
    tx: &mut Transaction,
    link: &mut Link,
    (encryption, name): (&Encryption, Option<&str>),
    deadline: Option<Tick>,
    early: &[u8],
) -> Result<EarlyDataResult, Failure> {
    let worker = tx.worker.clone();
    let Link::Socket(transport) = link else { return Err(refused()) };
    let begun = match early {
        [] => begin(&worker, transport, encryption, name).map(|()| false),
        early => begin_early(&worker, transport, encryption, name, early),
    };
    let said = begun.map_err(|fault| match fault.reason {
        // A connection to another server of the backend would also fail.
        Reason::TooMany => Failure::error(500, Cause::Internal, Phase::Connect),
        _ => refused(),
    })?;
    let mut stay = || client_presence::check_client(tx, Phase::Connect);
    let result = run(transport, deadline, &mut stay).await;
    let resumed = is_resumed(transport);
    if result.is_ok() {
        worker.shared.tls.count_back(worker.millis(), resumed);
    }
    let server = tx.claim.as_ref().map(|claim| claim.server().block());
    let back = tx.backend.as_ref().map(|backend| backend.block());
    let blocks = [server, back].into_iter().flatten();
    blocks.for_each(|block| block.count_handshake(result.is_ok(), resumed));
    tx.notes.used = true;
    let session = transport.session();
    let failed = |trouble| failed(trouble, name.is_some(), session.as_deref());
    tx.notes.unsecured = result.as_ref().err().map(failed);
    drop(session);
    result.map_err(|trouble| match trouble {
        TlsHandshakeFailure::Given(failure) => failure,
        TlsHandshakeFailure::Late => Failure::error(503, Cause::ServerTimeout, Phase::Connect),
        TlsHandshakeFailure::Failed(_) => refused(),
    })?;
    let taken = || transport.session().is_some_and(|session| session.was_early_taken());
    Ok(match said {
        false => EarlyDataResult::Unsaid,
        true if taken() => EarlyDataResult::Taken,
        true => EarlyDataResult::Refused,
    })
}

/// The facts of a failed handshake, which outlive its connection.
fn failed(trouble: &TlsHandshakeFailure, asked: bool, session: Option<&tls::Conn>) -> Box<Failed> {
    let fault = match trouble {
        TlsHandshakeFailure::Failed(fault) => Some(fault).filter(|fault| fault.code != 0),
        TlsHandshakeFailure::Late | TlsHandshakeFailure::Given(_) => None,
    };
    Box::new(Failed::new(trouble.of_server(asked), fault, session))
}

/// As [`begin`], with `words` as early data if they fit. `true`: they were sent.
fn begin_early(
    worker: &Worker,
    transport: &mut Transport,
    encryption: &Encryption,
    name: Option<&str>,
    words: &[u8],
) -> Result<bool, HandshakeError> {
    let alpn = encryption.alpn.as_deref();
    let presence = presence(worker)?;
    let (thread, now) = (&worker.thread, worker.thread.wall() / 1_000_000_000);
    let begun = encryption.connector.connect_early(thread.index, name, alpn, now);
    let (mut session, room) = begun?;
    session.keep(Box::new(presence));
    transport.secure(session, &worker.tls);
    if words.len() > room {
        return Ok(false);
    }
    transport.say_early(words).map(|()| true)
}

fn refused() -> Failure {
    Failure::error(503, Cause::ServerAbort, Phase::Connect)
}
