//! The start of an accepted connection, before its first byte of payload: PROXY protocol and
//! NetScaler headers, then the TLS handshake. Listeners of proxies, of `log-forward` sections and
//! of runtime sockets share it.
//!
//! The addresses in a header hold for the rest of the connection. A connection that breaks the
//! protocol is closed without an answer; clients of a proxy are logged, with the address that the
//! system reports.

use crate::frontend::client;
use crate::frontend::handshake_limit::HandshakePlace;
use crate::frontend::session_rules;
use crate::frontend::session_rules::Admission;
use buf::Buf;
use engine::io::tls_handshake;
use engine::state::os_handles::OsHandles;
use engine::state::session::client::Client;
use engine::state::session::client_cold_state::ProxyHeaderData;
use engine::state::worker::Worker;
use header::{Kind, Problem};
use reactor::{Socket, Tick, Urgency};
use settings::{Expected, Preamble, Protocol};
use std::io;
use std::rc::Rc;
use tls::Acceptor;
use transport::channel::Link;
use transport::socket::Transport;
use wire::proxy_protocol::Addresses;

mod header;
mod report;

/// The reason why a connection is closed.
#[derive(Clone, PartialEq, Eq, Debug)]
enum PreambleError {
    /// `silent`: the peer has sent nothing at all.
    Header {
        kind: Kind,
        problem: Problem,
        silent: bool,
    },
    Handshake(tls_handshake::TlsHandshakeFailure),
}

impl PreambleError {
    /// The number and text of the error, as the manual lists them for `fc_err` and `fc_err_str`.
    fn words(&self) -> (u8, &'static str) {
        match self {
            Self::Header { kind, problem, .. } => header::words(*kind, *problem),
            Self::Handshake(trouble) => trouble.words(),
        }
    }

    /// Whether the peer has just not sent anything (`option dontlognull`).
    fn is_silence(&self) -> bool {
        match self {
            Self::Header { silent, .. } => *silent,
            Self::Handshake(trouble) => trouble.is_silence(),
        }
    }
}

/// Facts read from headers.
#[derive(Debug, Default)]
struct PreambleFacts {
    /// The addresses of the last header that has some.
    ends: Option<Addresses>,
    /// The TLVs of a PROXY protocol header.
    told: Option<ProxyHeaderData>,
}

/// A connection before its first byte of payload.
struct Opening<'a> {
    worker: &'a Rc<Worker>,
    transport: &'a mut Transport,
    /// Received bytes that no header or handshake has consumed.
    input: &'a mut Buf,
    deadline: Option<Tick>,
    heard: PreambleFacts,
}

impl Opening<'_> {
    /// Reads the expected headers, then runs the handshake. `streams`: early data is not read
    /// before the end of the handshake.
    async fn pass(
        &mut self,
        expected: Expected,
        acceptor: Option<&Acceptor>,
        streams: bool,
    ) -> Result<(), PreambleError> {
        let kinds =
            [(expected.netscaler, Kind::NetScaler(expected.magic)), (expected.proxy, Kind::Proxy)];
        for (_, kind) in kinds.into_iter().filter(|(expected, _)| *expected) {
            self.receive(kind).await.map_err(|problem| PreambleError::Header {
                kind,
                problem,
                silent: self.input.capacity() == 0,
            })?;
        }
        let Some(acceptor) = acceptor else { return Ok(()) };
        let answered = tls_handshake::answer(
            self.worker,
            self.transport,
            self.input,
            (acceptor, streams),
            self.deadline,
        );
        answered.await.map_err(PreambleError::Handshake)
    }

    /// Reads until a header is complete, and consumes it.
    async fn receive(&mut self, kind: Kind) -> Result<(), Problem> {
        let thread = self.worker.thread.clone();
        loop {
            if !self.input.is_empty() && self.take(kind)? {
                return Ok(());
            }
            if self.transport.is_readable() && self.input.capacity() == 0 {
                let buffer = self.worker.buffers.take(Urgency::Ordinary, self.deadline).await;
                *self.input = buffer.ok_or(Problem::Late)?;
            }
            match self.read() {
                Ok(0) if self.input.is_empty() => return Err(Problem::Closed),
                Ok(0) => return Err(Problem::Truncated),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.deadline.is_some_and(|deadline| deadline.is_due(thread.tick())) {
                        return Err(Problem::Late);
                    }
                    self.transport.want_read();
                    thread.scheduler().wait(self.deadline).await;
                }
                Err(_) if !self.input.is_empty() => return Err(Problem::Truncated),
                Err(_) => return Err(Problem::Broken),
            }
        }
    }

    /// Reads available bytes. An empty buffer is not kept.
    fn read(&mut self) -> io::Result<usize> {
        let result = self.transport.recv(self.input.space());
        if let Ok(count) = &result {
            self.input.filled(*count);
        }
        if self.input.is_empty() {
            self.worker.release(std::mem::replace(self.input, Buf::empty()));
        }
        result
    }

    /// Consumes a header at the front of the input. `false`: it is incomplete.
    fn take(&mut self, kind: Kind) -> Result<bool, Problem> {
        let Some((header, len)) = header::decode(kind, self.input.data())? else {
            return Ok(false);
        };
        self.heard.note(header, &self.worker.shared.handles);
        self.input.consume(len);
        Ok(true)
    }
}

impl PreambleFacts {
    fn note(&mut self, header: header::Header<'_>, handles: &OsHandles) {
        let ends = match header {
            header::Header::NetScaler(ends) => Some(ends),
            header::Header::Proxy(header) => {
                self.told = Some(ProxyHeaderData {
                    authority: header.authority.map(Box::from),
                    unique_id: header.unique_id.map(Box::from),
                    namespace: header.namespace.and_then(|it| handles.namespace(it)).cloned(),
                });
                header.ends
            }
        };
        self.ends = ends.or(self.ends);
    }
}

/// Waits for the headers and the handshake of a proxy's client; then the session begins.
pub(crate) async fn run(mut client: Box<Client>, place: Option<HandshakePlace>) {
    client.socket.own();
    // The boxed future is freed before the session: the connection may be idle for long.
    if let Err(trouble) = Box::pin(pass(&mut client, place)).await {
        client.rare.edit().trouble = Some(trouble.words());
        report::unborn(&client, trouble.is_silence());
        return;
    }
    client.handshake_over();
    let opened = match session_rules::opens_session(&mut client) {
        Admission::Granted => true,
        Admission::Refused => false,
        Admission::Waits(rules) => Box::pin(session_rules::resume(&mut client, rules)).await,
    };
    if opened {
        client::run(client).await;
    }
}

async fn pass(client: &mut Client, _place: Option<HandshakePlace>) -> Result<(), PreambleError> {
    let (worker, proxy, since) = (client.worker.clone(), client.proxy.clone(), client.since);
    let bind = proxy.front.settings.binds.get(client.bind as usize);
    let acceptor = bind.and_then(|bind| bind.preamble.tls.as_deref());
    // Rules may expect more headers than the bind line does.
    let (expected, streams) = (client.rare.expects, client.protocol == Protocol::H2);
    let span = proxy.settings.timeouts.client;
    let deadline = span.map(|span| Tick::from_nanos(since).plus_ms(span));
    let Link::Socket(transport) = &mut client.socket else { return Ok(()) };
    let (input, heard) = (&mut client.input, PreambleFacts::default());
    let mut opening = Opening { worker: &worker, transport, input, deadline, heard };
    let passed = opening.pass(expected, acceptor, streams).await;
    let PreambleFacts { ends, told } = opening.heard;
    if let Some((from, to)) = ends {
        client.rare.set_ends(Some(from), Some(to));
    }
    if let Some(told) = told {
        client.rare.edit().proxy_header = Some(Rc::new(told));
    }
    // As in HAProxy, a client that has sent nothing in time is no failed handshake.
    let uncounted = matches!(
        passed,
        Err(PreambleError::Header { .. }
            | PreambleError::Handshake(tls_handshake::TlsHandshakeFailure::Late))
    );
    if acceptor.is_some() && !uncounted {
        let resumed = client.session().is_some_and(|session| session.is_resumed());
        client.counted().for_each(|block| block.count_handshake(passed.is_ok(), resumed));
    }
    passed
}

/// Reads the headers and runs the handshake of a connection to a listener outside of any proxy,
/// within `patience` milliseconds. Returns the transport and the bytes received behind the
/// preamble; `None`: the preamble failed, and the connection is closed.
///
/// Early data is not read before the end of the handshake: it could be a replay by an eavesdropper.
pub async fn open(
    worker: &Rc<Worker>,
    socket: Socket,
    preamble: &Preamble,
    patience: Option<u32>,
) -> Option<(Transport, Vec<u8>)> {
    socket.assign_to_current_task();
    let mut transport = Transport::from(socket);
    if !preamble.any() {
        return Some((transport, Vec::new()));
    }
    let presence = preamble.tls.as_ref().and_then(|_| worker.shared.tls.enter(0));
    let deadline = patience.map(|span| worker.thread.tick().plus_ms(span));
    let (mut input, heard) = (Buf::empty(), PreambleFacts::default());
    let mut opening =
        Opening { worker, transport: &mut transport, input: &mut input, deadline, heard };
    let passed = opening.pass(preamble.expects, preamble.tls.as_deref(), true).await;
    let rest = input.data().to_vec();
    worker.release(input);
    passed.ok()?;
    presence.into_iter().for_each(|presence| transport.keep(Box::new(presence)));
    Some((transport, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The size of the future that a function returns.
    fn size<F: Future>(_: fn(Box<Client>, Option<HandshakePlace>) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn the_preamble_keeps_no_future_alive() {
        // The allocator's size class for it has 160 bytes.
        assert!(size(run) <= 152, "{}", size(run));
    }
}
