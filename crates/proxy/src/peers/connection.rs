//! One connection to a peer: how it is opened, read and written.

use super::{Section, serve};
use engine::io::tls_handshake;
use engine::state::worker::Worker;
use peers::{LOCAL, SessionId};
use reactor::{Class, ConnectOptions, Socket, Tick};
use settings::{Encryption, PeerServer, ServerName};
use std::io::{self, IoSlice};
use std::rc::Rc;
use transport::proxy_v2_tls;
use transport::socket::{Transport, is_transient};

/// Milliseconds for a connection, and again for a TLS handshake.
pub(super) const HANDSHAKE_MS: u32 = 5_000;
/// Milliseconds for a peer to take what is left when its session is over.
const FAREWELL_MS: u32 = 1_000;
/// Bytes of one read; then other tasks run.
const CHUNK: usize = 16 * 1024;

/// Connects to a peer, as the group has asked for, and serves the connection.
pub(super) async fn dial(section: Rc<Section>, peer: usize) {
    let settings = section.settings.clone();
    let to = match peer.checked_sub(LOCAL + 1) {
        None => settings.successor.as_ref(),
        Some(remote) => settings.remotes.get(remote),
    };
    let connected = match to {
        Some(to) => connect(&section.worker, to).await.ok(),
        None => None,
    };
    let Some(transport) = connected else {
        section.group().connect_failed(peer, section.now());
        return section.wake_driver();
    };
    let connected = section.group().connected(peer, section.now());
    section.wake_driver();
    if let Some(id) = connected {
        serve(section, Connection::new(transport, Vec::new()), id).await;
    }
}

async fn connect(worker: &Rc<Worker>, to: &PeerServer) -> io::Result<Transport> {
    let address = to.address.as_ref().ok_or(io::ErrorKind::AddrNotAvailable)?;
    let socket = Socket::dial(&worker.thread, address, &ConnectOptions::default())?;
    let mut transport = Transport::from(socket);
    transport.own();
    let deadline = worker.thread.tick().plus_ms(HANDSHAKE_MS);
    // Sending an empty text succeeds only on an established connection.
    send_all(worker, &transport, b"", deadline).await?;
    if let Some(announce) = to.announce {
        let mut header = Vec::new();
        let ends = transport.socket().local_address().zip(address.inet());
        proxy_v2_tls::introduce_self(announce, ends, &mut header);
        send_all(worker, &transport, &header, deadline).await?;
    }
    if let Some(encryption) = &to.encryption {
        encrypt(worker, &mut transport, encryption).await?;
    }
    Ok(transport)
}

async fn encrypt(
    worker: &Rc<Worker>,
    transport: &mut Transport,
    encryption: &Encryption,
) -> io::Result<()> {
    let name = match &encryption.name {
        ServerName::Fixed(name) => Some(name.as_str()),
        ServerName::None | ServerName::Sample(_) => None,
    };
    let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
    tls_handshake::begin(worker, transport, encryption, name).map_err(|_| refused())?;
    let deadline = worker.thread.tick().plus_ms(HANDSHAKE_MS);
    let result = tls_handshake::run(transport, Some(deadline), &mut || Ok(())).await;
    if result.is_ok() {
        let resumed = tls_handshake::is_resumed(transport);
        worker.shared.tls.count_back(worker.millis(), resumed);
    }
    result.map_err(|_| refused())
}

/// Sends all of it by the deadline.
async fn send_all(
    worker: &Worker,
    transport: &Transport,
    mut bytes: &[u8],
    deadline: Tick,
) -> io::Result<()> {
    loop {
        match transport.send(&[IoSlice::new(bytes)], false) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            Err(_) => {
                if deadline.is_due(worker.thread.tick()) {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                transport.want_nothing();
                transport.want_write();
                worker.thread.scheduler().wait(Some(deadline)).await;
            }
        }
        if bytes.is_empty() && transport.is_writable() {
            return Ok(());
        }
    }
}

/// A connection, and the bytes on their way.
pub(super) struct Connection {
    transport: Transport,
    /// Received and not used by the group: less than one message.
    input: Vec<u8>,
    /// Given by the group and not sent, a buffer at most.
    output: Vec<u8>,
}

/// The result of one step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Advance {
    /// The connection can make progress at once.
    More,
    /// The connection has to wait.
    Wait,
}

impl Connection {
    pub(super) fn new(transport: Transport, input: Vec<u8>) -> Self {
        Self { transport, input, output: Vec::new() }
    }

    /// Runs until the group or the peer ends the session.
    pub(super) async fn run(mut self, section: &Rc<Section>, id: SessionId) {
        let scheduler = section.worker.thread.scheduler();
        self.transport.own();
        if !self.input.is_empty() {
            self.learn(section, id);
        }
        loop {
            let step = self.step(section, id);
            if !section.has(id) {
                let deadline = section.worker.thread.tick().plus_ms(FAREWELL_MS);
                // A peer that does not read the rest has failed.
                let _ = send_all(&section.worker, &self.transport, &self.output, deadline).await;
                return;
            }
            match step {
                Err(_) => return section.group().closed(id, section.now()),
                Ok(Advance::More) => scheduler.yield_as(Class::Bulk).await,
                Ok(Advance::Wait) => {
                    self.transport.want_nothing();
                    self.transport.want_read();
                    if !self.output.is_empty() {
                        self.transport.want_write();
                    }
                    scheduler.wait(None).await;
                }
            }
        }
    }

    /// Reads once and writes once.
    fn step(&mut self, section: &Rc<Section>, id: SessionId) -> io::Result<Advance> {
        let read = self.read(section, id)?;
        let written = self.write(section, id)?;
        Ok(if read == Advance::More { read } else { written })
    }

    fn read(&mut self, section: &Rc<Section>, id: SessionId) -> io::Result<Advance> {
        // Most wake-ups are for something to send: they pay neither for the buffer nor for a call.
        if !self.transport.is_readable() {
            return Ok(Advance::Wait);
        }
        let mut chunk = [0; CHUNK];
        match self.transport.recv(&mut chunk) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                self.input.extend_from_slice(&chunk[..count]);
                self.learn(section, id);
                Ok(Advance::More)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Advance::More),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Advance::Wait),
            Err(error) => Err(error),
        }
    }

    /// Hands received bytes to the group, which may produce output for other peers.
    fn learn(&mut self, section: &Rc<Section>, id: SessionId) {
        let used = section.group().receive(id, &self.input, section.now());
        self.input.drain(..used);
        section.wake_driver();
    }

    fn write(&mut self, section: &Rc<Section>, id: SessionId) -> io::Result<Advance> {
        let room = section.worker.shared.settings.buffer_size;
        let mut group = section.group();
        let more = group.transmit(id, &mut self.output, room, section.now());
        drop(group);
        if section.act() {
            section.wake_driver();
        }
        if !section.has(id) || self.output.is_empty() {
            return Ok(if more { Advance::More } else { Advance::Wait });
        }
        match self.transport.send(&[IoSlice::new(&self.output)], false) {
            Ok(count) => drop(self.output.drain(..count)),
            Err(error) if is_transient(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(if more && self.output.is_empty() { Advance::More } else { Advance::Wait })
    }
}
