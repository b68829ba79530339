//! What a connection that somebody has opened to us begins with before its first byte: PROXY
//! protocol and NetScaler headers, then the handshake of TLS. One way for the listeners of proxies,
//! of `log-forward` sections and of runtime sockets.
//!
//! The addresses that a header names hold for everything that comes after it. Who breaks the
//! protocol is closed without a word; clients of a proxy are logged, with the address that the
//! system knows.

use crate::frontend::client;
use crate::frontend::handshake_limit::HandshakePlace;
use crate::frontend::session_rules;
use buf::Buf;
use engine::io::tls_handshake;
use engine::state::session::client::Client;
use engine::state::session::client_cold_state::Told;
use engine::state::worker::Worker;
use header::{Kind, Problem};
use reactor::{Namespace, Socket, Tick, Urgency};
use settings::{Expected, Preamble};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use tls::Acceptor;
use transport::channel::Link;
use transport::socket::Transport;
use wire::proxy_protocol::Addresses;

mod header;
mod report;

/// Why a connection is given up.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Trouble {
    /// `silent`: nothing has come at all.
    Header {
        kind: Kind,
        problem: Problem,
        silent: bool,
    },
    Handshake(tls_handshake::Trouble),
}

impl Trouble {
    /// Its number and the words for it, as the manual lists them for `fc_err` and `fc_err_str`.
    fn words(&self) -> (u8, &'static str) {
        match self {
            Self::Header { kind, problem, .. } => header::words(*kind, *problem),
            Self::Handshake(trouble) => trouble.words(),
        }
    }

    /// Whether the peer has just not said anything (`option dontlognull`).
    fn is_silence(&self) -> bool {
        match self {
            Self::Header { silent, .. } => *silent,
            Self::Handshake(trouble) => trouble.is_silence(),
        }
    }
}

/// What headers have told.
#[derive(Debug, Default)]
struct Heard {
    /// The ends of the connection that they speak for: of the last one that names them.
    ends: Option<Addresses>,
    /// Of a PROXY protocol header.
    told: Option<Told>,
}

/// A connection that has not come to its first byte.
struct Opening<'a> {
    worker: &'a Rc<Worker>,
    transport: &'a mut Transport,
    /// Received, and not taken by what goes before.
    input: &'a mut Buf,
    deadline: Option<Tick>,
    heard: Heard,
}

impl Opening<'_> {
    /// Waits for the headers that are expected, then for the end of a handshake. `streams`: nothing
    /// that is said before that end may be heard.
    async fn pass(
        &mut self,
        expected: Expected,
        acceptor: Option<&Acceptor>,
        streams: bool,
    ) -> Result<(), Trouble> {
        let kinds =
            [(expected.netscaler, Kind::NetScaler(expected.magic)), (expected.proxy, Kind::Proxy)];
        for (_, kind) in kinds.into_iter().filter(|(expected, _)| *expected) {
            self.receive(kind).await.map_err(|problem| Trouble::Header {
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
        answered.await.map_err(Trouble::Handshake)
    }

    /// Reads until a header is there, and takes it.
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

    /// Reads what is there. No buffer is held over nothing.
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

    /// Takes a header off what has arrived. `false`: it goes on.
    fn take(&mut self, kind: Kind) -> Result<bool, Problem> {
        let Some((header, len)) = header::decode(kind, self.input.data())? else {
            return Ok(false);
        };
        let known = &self.worker.shared.settings.namespaces;
        self.heard.note(header, known);
        self.input.consume(len);
        Ok(true)
    }
}

impl Heard {
    fn note(&mut self, header: header::Header<'_>, namespaces: &[Arc<Namespace>]) {
        let ends = match header {
            header::Header::NetScaler(ends) => Some(ends),
            header::Header::Proxy(header) => {
                let named = |it: &&Arc<Namespace>| header.namespace == Some(it.name().as_bytes());
                self.told = Some(Told {
                    authority: header.authority.map(Box::from),
                    unique_id: header.unique_id.map(Box::from),
                    namespace: namespaces.iter().find(named).cloned(),
                });
                header.ends
            }
        };
        self.ends = ends.or(self.ends);
    }
}

/// Waits for what is expected of a client of a proxy; then the session begins.
pub(crate) async fn run(mut client: Box<Client>, place: Option<HandshakePlace>) {
    client.socket.own();
    // Its room is given back: the connection may be idle for long.
    if let Err(trouble) = Box::pin(pass(&mut client, place)).await {
        client.rare.edit().trouble = Some(trouble.words());
        report::unborn(&client, trouble.is_silence());
        return;
    }
    client.handshake_over();
    if session_rules::opens_session(&mut client) {
        client::run(client).await;
    }
}

async fn pass(client: &mut Client, _place: Option<HandshakePlace>) -> Result<(), Trouble> {
    let (worker, proxy, since) = (client.worker.clone(), client.proxy.clone(), client.since);
    let front = proxy.settings.front.as_ref();
    let bind = front.and_then(|front| front.binds.get(client.bind as usize));
    let acceptor = bind.and_then(|bind| bind.preamble.tls.as_deref());
    // Rules may expect more than the line does.
    let (expected, streams) = (client.rare.expects, client.speaks_h2 == Some(true));
    let span = proxy.settings.timeouts.client;
    let deadline = span.map(|span| Tick::from_nanos(since).plus_ms(span));
    let Link::Socket(transport) = &mut client.socket else { return Ok(()) };
    let (input, heard) = (&mut client.input, Heard::default());
    let mut opening = Opening { worker: &worker, transport, input, deadline, heard };
    let passed = opening.pass(expected, acceptor, streams).await;
    let Heard { ends, told } = opening.heard;
    if let Some((from, to)) = ends {
        client.rare.set_ends(Some(from), Some(to));
    }
    if let Some(told) = told {
        client.rare.edit().told = Some(Rc::new(told));
    }
    // As HAProxy: who has said nothing in time has not failed.
    let uncounted = matches!(
        passed,
        Err(Trouble::Header { .. } | Trouble::Handshake(tls_handshake::Trouble::Late))
    );
    if acceptor.is_some() && !uncounted {
        let resumed = client.session().is_some_and(|session| session.is_resumed());
        client.counted().for_each(|block| block.count_handshake(passed.is_ok(), resumed));
    }
    passed
}

/// Waits for what is expected of a connection to a listener that belongs to no proxy, for so many
/// milliseconds at most. Then it is what has been received behind that, and the way for all else;
/// `None`: it has failed, and is closed.
///
/// What is said before a handshake is over is not heard until then: nobody who has overheard it can
/// say it again.
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
    let (mut input, heard) = (Buf::empty(), Heard::default());
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

    /// How large the future is that a function makes.
    fn size<F: Future>(_: fn(Box<Client>, Option<HandshakePlace>) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn what_goes_before_outlives_itself_in_no_future() {
        // The allocator has 160 bytes for it.
        assert!(size(run) <= 152, "{}", size(run));
    }
}
