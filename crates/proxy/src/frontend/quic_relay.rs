//! Datagrams between the processes of a QUIC listener during a reload: a new process passes the
//! datagrams of older connections to the processes that have them.
//!
//! A process and its successor receive from the same sockets until the older process begins its
//! soft stop and knows that the successor serves. Until then each of them may get a datagram of the
//! other. Datagrams that begin a connection go back to the successor from a process that only
//! finishes. A full socket pair loses datagrams, as a network does.

use crate::frontend::quic_host::QuicHost;
use engine::state::session::quic_line::QuicLine;
use quic::{Datagram, RelayMessage, relay};
use reactor::{Class, Handle, Socket};
use std::io::{self, IoSlice};
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

/// Messages received in a row before other tasks run.
const MESSAGES: usize = 64;

/// Starts the exchange with the processes before and after this one.
pub(crate) fn start(host: &Rc<QuicHost>) {
    let scheduler = host.worker.thread.scheduler();
    if let Some(handle) = host.line.own_end() {
        scheduler.spawn(Class::Normal, receive_all(host.clone(), handle));
    }
    if let Some(handle) = host.line.direct_predecessor() {
        // A process that has ended needs no notice.
        let _ = send(host, handle, &RelayMessage::Serves);
        scheduler.spawn(Class::Normal, receive_all(host.clone(), handle));
    }
}

/// Passes a datagram to the process that its ID names. `false`: no process has this number.
pub(crate) fn pass_on(host: &QuicHost, process: u8, datagram: Datagram<'_>) -> bool {
    let line = &host.line;
    let message = RelayMessage::Datagram(datagram);
    let Some(handle) = line.predecessor(process) else {
        return line.has_successor() && relayed(line, send_to_successor(host, &message));
    };
    let sent = send(host, handle, &message);
    let ended = sent.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::WouldBlock);
    if ended {
        line.forget_predecessor(process);
        return false;
    }
    relayed(line, sent)
}

/// Gives a datagram that begins a connection to the successor.
pub(crate) fn give_back(host: &QuicHost, datagram: Datagram<'_>) {
    relayed(&host.line, send_to_successor(host, &RelayMessage::Returned(datagram)));
}

fn send_to_successor(host: &QuicHost, message: &RelayMessage<'_>) -> io::Result<usize> {
    let handle = host.line.own_end().ok_or(io::ErrorKind::NotConnected)?;
    send(host, handle, message)
}

/// Counts a datagram for another process.
fn relayed(line: &QuicLine, sent: io::Result<usize>) -> bool {
    let counter = if sent.is_ok() { &line.strays.relayed } else { &line.strays.lost };
    counter.fetch_add(1, Relaxed);
    true
}

fn send(host: &QuicHost, to: Handle, message: &RelayMessage<'_>) -> io::Result<usize> {
    let (header, len) = message.header();
    let parts = [IoSlice::new(&header[..len]), IoSlice::new(message.payload())];
    host.worker.thread.kernel().send(to, &parts, false)
}

/// Receives the messages of another process until it ends.
async fn receive_all(host: Rc<QuicHost>, handle: Handle) {
    let thread = host.worker.thread.clone();
    let socket = Socket::adopt(&thread, handle);
    socket.assign_to_current_task();
    let mut buffer = vec![0; relay::MAX_RELAYED];
    loop {
        match receive(&host, &socket, &mut buffer) {
            Ok(()) => thread.scheduler().yield_as(Class::Normal).await,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                socket.want_read();
                thread.scheduler().wait(None).await;
            }
            Err(_) => {
                // Other threads may be about to send over it.
                socket.release();
                return;
            }
        }
    }
}

/// Receives messages, up to a bound.
fn receive(host: &Rc<QuicHost>, socket: &Socket, buffer: &mut [u8]) -> io::Result<()> {
    for _ in 0..MESSAGES {
        let count = socket.recv_datagram(buffer)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let nanos = host.worker.thread.nanos();
        match RelayMessage::decode(&buffer[..count]) {
            Some(RelayMessage::Serves) => host.line.set_successor(),
            Some(RelayMessage::Datagram(datagram) | RelayMessage::Returned(datagram)) => {
                host.accept_relayed(nanos, datagram);
            }
            None => {}
        }
    }
    Ok(())
}
