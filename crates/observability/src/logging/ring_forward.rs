//! Messages of rings on their way to servers over TCP: one task per server, on one thread.

use engine::io::tls_handshake;
use engine::state::ring::{Framing, Tap};
use engine::state::worker::Worker;
use reactor::{Class, ConnectOptions, Socket};
use settings::{RingServer, ServerName};
use std::io::{self, IoSlice};
use std::rc::Rc;
use transport::socket::Transport;

/// Delay before another attempt to connect to a server, in milliseconds.
const RETRY_MS: u32 = 1_000;
/// Bytes sent in one go, at least one message.
const BATCH: usize = 16 * 1024;

/// Starts the tasks of this thread.
pub fn start(worker: &Rc<Worker>) {
    let threads = worker.shared.settings.threads;
    let servers =
        worker.shared.rings.iter().enumerate().flat_map(|(ring, it)| {
            (0..it.settings.servers.len()).map(move |server| (ring, server))
        });
    for (number, (ring, server)) in servers.enumerate() {
        if number % threads == worker.thread.index {
            let run = serve(worker.clone(), ring, server);
            worker.thread.scheduler().spawn(Class::Bulk, run);
        }
    }
}

async fn serve(worker: Rc<Worker>, ring: usize, server: usize) {
    let ring = worker.shared.rings[ring].clone();
    let server = &ring.settings.servers[server];
    let mut tap = ring.tap(&worker, false, true);
    let (connect, idle) = (ring.settings.connect_ms, ring.settings.server_ms);
    let mut output = Vec::new();
    loop {
        // A server that closed, or took too long, is connected to again.
        let _ = pour(&worker, server, (connect, idle), &mut tap, &mut output).await;
        tap.rewind();
        output.clear();
        let until = worker.thread.tick().plus_ms(RETRY_MS);
        while !until.is_due(worker.thread.tick()) {
            worker.thread.scheduler().wait(Some(until)).await;
        }
    }
}

/// One connection: sends the messages of the ring, old and new, until it breaks.
async fn pour(
    worker: &Rc<Worker>,
    server: &RingServer,
    (connect_ms, idle_ms): (Option<u32>, Option<u32>),
    tap: &mut Tap,
    output: &mut Vec<u8>,
) -> io::Result<()> {
    let socket = Socket::dial(&worker.thread, &server.address, &ConnectOptions::default())?;
    let mut socket = Transport::from(socket);
    socket.own();
    send(worker, &socket, connect_ms, b"").await?;
    if let Some(encryption) = &server.encryption {
        let name = match &encryption.name {
            ServerName::Fixed(name) => Some(name.as_str()),
            ServerName::None | ServerName::Sample(_) => None,
        };
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        tls_handshake::begin(worker, &mut socket, encryption, name).map_err(|_| refused())?;
        let deadline = connect_ms.map(|span| worker.thread.tick().plus_ms(span));
        let result = tls_handshake::run(&socket, deadline, &mut || Ok(())).await;
        if result.is_ok() {
            worker.shared.tls.count_back(worker.millis(), tls_handshake::is_resumed(&socket));
        }
        result.map_err(|_| refused())?;
    }
    let framing = if server.counts { Framing::Counted } else { Framing::Lines };
    loop {
        output.clear();
        // Bytes sent to a server that has closed are lost.
        if has_closed(&socket)? {
            return Ok(());
        }
        if tap.read(framing, BATCH, output) {
            send(worker, &socket, idle_ms, output).await?;
            leave(worker, &socket, idle_ms).await?;
            tap.confirm();
            worker.thread.next_turn(Class::Bulk).await;
            continue;
        }
        socket.want_nothing();
        socket.want_read();
        worker.thread.scheduler().wait(None).await;
    }
}

/// Reads and drops the bytes of the server; returns whether it has closed its side.
fn has_closed(socket: &Transport) -> io::Result<bool> {
    let mut waste = [0; 512];
    loop {
        match socket.recv(&mut waste) {
            Ok(0) => return Ok(true),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Sends all bytes; a successful send of an empty text shows that the connection is established.
async fn send(
    worker: &Worker,
    socket: &Transport,
    span: Option<u32>,
    mut bytes: &[u8],
) -> io::Result<()> {
    let deadline = span.map(|span| worker.thread.tick().plus_ms(span));
    loop {
        match socket.send(&[IoSlice::new(bytes)], false) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            Err(_) => {
                if deadline.is_some_and(|deadline| deadline.is_due(worker.thread.tick())) {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                socket.want_nothing();
                socket.want_write();
                worker.thread.scheduler().wait(deadline).await;
            }
        }
        if bytes.is_empty() && socket.is_writable() {
            return Ok(());
        }
    }
}

/// Waits until the system has taken the sent bytes.
async fn leave(worker: &Worker, socket: &Transport, span: Option<u32>) -> io::Result<()> {
    let deadline = span.map(|span| worker.thread.tick().plus_ms(span));
    while !socket.socket().is_flushed() {
        socket.socket().take_error()?;
        if deadline.is_some_and(|deadline| deadline.is_due(worker.thread.tick())) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        socket.want_nothing();
        socket.want_write();
        worker.thread.scheduler().wait(deadline).await;
    }
    Ok(())
}
