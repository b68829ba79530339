//! Datagrams between the processes of a QUIC listener during a reload: a new process passes the
//! datagrams of older connections to the processes that have them.
//!
//! A process and its successor receive from the same sockets until the older process begins its
//! soft stop and knows that the successor serves. Until then each of them may get a datagram of the
//! other. Datagrams that begin a connection go back to the successor from a process that only
//! finishes. A full socket pair loses datagrams, as a network does.
//!
//! A process has a link to each process before it that runs, and all of them to the same end of the
//! older one, so that any of them may read a datagram that it has returned: a process that has
//! ended leaves none unread, and a datagram of a third process is passed on.

use crate::frontend::quic_host::QuicHost;
use engine::state::session::quic_line::QuicLine;
use quic::{Datagram, RelayMessage, relay};
use reactor::{Class, Handle, Socket};
use std::io::{self, IoSlice};
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

/// Messages received in a row before other tasks run.
const MESSAGES: usize = 64;

/// Tells the processes before this one that it serves: each thread before it receives, because they
/// get datagrams of its connections from then on.
pub(crate) fn announce(host: &QuicHost) {
    for handle in host.line.predecessors() {
        // A process that has ended needs no notice.
        let _ = send(host, handle, &RelayMessage::Serves);
    }
}

/// Starts the exchange with the processes before and after this one.
pub(crate) fn start(host: &Rc<QuicHost>) {
    let scheduler = host.worker.thread.scheduler();
    if let Some(handle) = host.line.own_end() {
        scheduler.spawn(Class::Normal, receive_all(host.clone(), handle, LinkPeer::Successor));
    }
    for handle in host.line.predecessors() {
        scheduler.spawn(Class::Normal, receive_all(host.clone(), handle, LinkPeer::Predecessor));
    }
}

/// The process at the other end of a link.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LinkPeer {
    Successor,
    Predecessor,
}

/// Whether there is a successor. Its first message may not have been read, because the thread that
/// reads it is slower than the one that has a datagram or the signal to stop.
pub(crate) fn has_successor(host: &QuicHost) -> bool {
    if host.line.has_successor() {
        return true;
    }
    let Some(handle) = host.line.own_end() else { return false };
    let mut first = [0];
    let peeked = host.worker.thread.kernel().peek(handle, &mut first);
    peeked.is_ok_and(|count| count > 0 && RelayMessage::is_known(first[0]))
}

/// Passes a datagram to the process that its ID names. `false`: the process has ended. A process
/// after this one may be unknown here, while clients have IDs of it already.
pub(crate) fn pass_on(host: &QuicHost, process: u8, datagram: Datagram<'_>) -> bool {
    let line = &host.line;
    let message = RelayMessage::Datagram(datagram);
    let Some(handle) = line.predecessor(process) else {
        let later = host.is_before(process);
        return later && relayed(line, send_to_successor(host, &message));
    };
    let sent = send(host, handle, &message);
    if sent.as_ref().is_err_and(is_end) {
        line.forget_predecessor(process);
        return false;
    }
    relayed(line, sent)
}

/// Gives a datagram that begins a connection to the successor.
pub(crate) fn give_back(host: &QuicHost, datagram: Datagram<'_>) {
    relayed(&host.line, send_to_successor(host, &RelayMessage::Returned(datagram)));
}

/// Whether an error says that the other process has ended.
fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, NotConnected};
    matches!(error.kind(), BrokenPipe | ConnectionRefused | ConnectionReset | NotConnected)
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
async fn receive_all(host: Rc<QuicHost>, handle: Handle, peer: LinkPeer) {
    let thread = host.worker.thread.clone();
    let socket = Socket::adopt(&thread, handle);
    socket.assign_to_current_task();
    let mut buffer = vec![0; relay::MAX_RELAYED];
    loop {
        match receive(&host, (&socket, peer), &mut buffer) {
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
fn receive(
    host: &Rc<QuicHost>,
    (socket, peer): (&Socket, LinkPeer),
    buffer: &mut [u8],
) -> io::Result<()> {
    for _ in 0..MESSAGES {
        let count = socket.recv_datagram(buffer)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let nanos = host.worker.thread.nanos();
        let message = RelayMessage::decode(&buffer[..count]);
        if message.is_some() && peer == LinkPeer::Successor {
            host.line.set_successor();
        }
        match message {
            Some(RelayMessage::Datagram(datagram)) => host.accept_relayed(nanos, datagram),
            Some(RelayMessage::Returned(datagram)) => host.accept_returned(nanos, datagram),
            Some(RelayMessage::Serves) | None => {}
        }
    }
    Ok(())
}
