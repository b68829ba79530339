//! Handshakes of TLS on both sides: one heavy step at a time, so that other traffic goes first.

use crate::state::worker::Worker;
use buf::Buf;
use reactor::{Class, Tick, Urgency, Wake};
use settings::Encryption;
use std::rc::Rc;
use std::sync::Arc;
use tls::{HandshakeError, Reason, Step};
use transport::socket::Transport;
use transport::stats::counters::{Gauge, Presence};
use transport::stats::transaction_log::Failure;

const HANDSHAKE: (u8, &str) = (34, "SSL handshake failure");
const CONFIGURED: &str = "Server presented an SSL certificate different from the configured one";
const EXPECTED: &str = "Server presented an SSL certificate different from the expected one";

/// Bytes of a failed handshake that are read before its connection ends.
const DRAINED: usize = 1 << 16;

/// Why a handshake ended without a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TlsHandshakeFailure {
    /// The handshake failed.
    Failed(HandshakeError),
    /// The handshake did not end in time.
    Late,
    /// The caller gave the handshake up, with this failure.
    Given(Failure),
}

impl TlsHandshakeFailure {
    /// The number of the error and its text, as the manual lists them for `fc_err` and
    /// `fc_err_str`.
    pub fn words(&self) -> (u8, &'static str) {
        match self {
            Self::Late => (26, "Timeout during SSL handshake"),
            Self::Given(_) => (25, "Connection error during SSL handshake"),
            Self::Failed(fault) => match fault.reason {
                Reason::Closed => (24, "Connection closed during SSL handshake"),
                Reason::Authority => (30, "SSL client CA chain cannot be verified"),
                Reason::Certificate => (31, "SSL client certificate not trusted"),
                Reason::TooMany => (27, "Too many SSL connections"),
                Reason::Broken | Reason::Handshake | Reason::Name => HANDSHAKE,
            },
        }
    }

    /// The same for a connection to a server; `asked`: the handshake named the server.
    pub fn of_server(&self, asked: bool) -> (u8, &'static str) {
        match self {
            Self::Failed(fault) if fault.reason == Reason::Name && asked => (33, EXPECTED),
            Self::Failed(fault) if fault.reason == Reason::Name => (32, CONFIGURED),
            Self::Failed(fault) if fault.reason != Reason::Closed => HANDSHAKE,
            _ => self.words(),
        }
    }

    /// The text of a health check, in which a close by the server is a failure like others.
    pub fn of_check(&self, asked: bool) -> &'static str {
        match self {
            Self::Failed(fault) if fault.reason == Reason::Closed => HANDSHAKE.1,
            _ => self.of_server(asked).1,
        }
    }

    /// Whether the peer was silent: it timed out or closed (`option dontlognull`).
    pub fn is_silence(&self) -> bool {
        match self {
            Self::Late => true,
            Self::Failed(fault) => fault.reason == Reason::Closed,
            Self::Given(_) => false,
        }
    }
}

/// Encrypts an accepted connection; the bytes in `input` belong to the TLS session. `streams`: the
/// connection speaks HTTP/2, so early data is read only after the end of the handshake.
pub async fn answer(
    worker: &Rc<Worker>,
    transport: &mut Transport,
    input: &mut Buf,
    (acceptor, streams): (&tls::Acceptor, bool),
    deadline: Option<Tick>,
) -> Result<(), TlsHandshakeFailure> {
    let mut session = acceptor.accept().map_err(TlsHandshakeFailure::Failed)?;
    session.feed(input.data());
    worker.release(std::mem::replace(input, Buf::empty()));
    transport.secure(session, &worker.tls);
    let mut result = run(transport, deadline, &mut || Ok(())).await;
    if result.is_ok() && awaits_end(transport, streams) {
        result = run(transport, deadline, &mut || Ok(())).await;
    }
    if result.is_ok() {
        worker.shared.tls.count_front(worker.millis(), is_resumed(transport));
    }
    if matches!(result, Err(TlsHandshakeFailure::Failed(_))) {
        drain(worker, transport);
    }
    result
}

/// Whether a connection with early data has to wait for the end of its handshake: its streams share
/// the connection, so none of them could wait alone.
pub fn awaits_end(transport: &Transport, speaks_h2: bool) -> bool {
    let session = transport.session();
    let streams = |session: &tls::Conn| speaks_h2 || session.alpn() == Some(b"h2");
    session.is_some_and(|session| session.is_early() && streams(&session))
}

/// Reads the rest of the input of a client whose handshake failed: unread bytes would turn the
/// close into a reset, and the client might lose the alert.
fn drain(worker: &Worker, transport: &Transport) {
    let Some(mut waste) = worker.buffers.try_take(Urgency::Urgent) else { return };
    // A client in a handshake sends less than this.
    let mut left = DRAINED;
    while left > 0
        && let Ok(count @ 1..) = transport.socket().recv(waste.space())
    {
        left = left.saturating_sub(count);
    }
    worker.release(waste);
}

/// Begins a TLS session with a server; no byte is sent yet.
pub fn begin(
    worker: &Worker,
    transport: &mut Transport,
    encryption: &Encryption,
    name: Option<&str>,
) -> Result<(), HandshakeError> {
    let alpn = encryption.alpn.as_deref();
    let presence = presence(worker)?;
    let mut session = encryption.connector.connect(worker.thread.index, name, alpn)?;
    session.keep(Box::new(presence));
    transport.secure(session, &worker.tls);
    Ok(())
}

/// Counts one more TLS connection to a server, until dropped.
///
/// # Errors
/// The number of handshakes has reached `maxsslconn`.
pub fn presence(worker: &Worker) -> Result<Presence<Arc<Gauge>>, HandshakeError> {
    let presence = worker.shared.tls.enter(worker.shared.settings.max_tls);
    presence.ok_or(HandshakeError::new(Reason::TooMany))
}

/// Whether the session is a resumed one.
pub fn is_resumed(transport: &Transport) -> bool {
    transport.session().is_some_and(|session| session.is_resumed())
}

/// Runs the steps of the handshake until the session is established.
pub async fn run(
    transport: &Transport,
    deadline: Option<Tick>,
    stay: &mut dyn FnMut() -> Result<(), Failure>,
) -> Result<(), TlsHandshakeFailure> {
    let thread = transport.thread().clone();
    let accepts = transport.session().is_some_and(|session| session.accepts());
    let mut awaited = if accepts { Step::Receive } else { Step::Send };
    if accepts {
        // Mostly the client has just connected, and its hello is still on its way. The task waits
        // for it anyway, so the poller has to know the socket sooner or later.
        transport.socket().await_input_event();
    }
    let mut heavy = false;
    loop {
        let fruitless = awaited == Step::Receive && !transport.is_readable();
        if !fruitless {
            if !heavy {
                thread.scheduler().yield_as(Class::Heavy).await;
            }
            transport.find_client().map_err(TlsHandshakeFailure::Failed)?;
            awaited = transport.handshake().map_err(TlsHandshakeFailure::Failed)?;
            if awaited == Step::Done {
                return Ok(());
            }
        }
        if deadline.is_some_and(|deadline| deadline.is_due(thread.tick())) {
            return Err(TlsHandshakeFailure::Late);
        }
        stay().map_err(TlsHandshakeFailure::Given)?;
        thread.scheduler().next_wake_as_heavy();
        match awaited {
            Step::Send => transport.want_write(),
            Step::Receive | Step::Done => transport.want_read(),
        }
        heavy = thread.scheduler().wait(deadline).await == Wake::IO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_tell_of_names_and_of_failures() {
        let failed = |reason| TlsHandshakeFailure::Failed(HandshakeError::new(reason));
        for reason in [Reason::Closed, Reason::Certificate, Reason::Broken] {
            assert_eq!(failed(reason).of_check(true), HANDSHAKE.1);
        }
        assert_eq!(failed(Reason::Name).of_check(true), EXPECTED);
        assert_eq!(failed(Reason::Name).of_check(false), CONFIGURED);
    }
}
