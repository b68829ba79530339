//! The accept loop of listening sockets: frontends, log forwarders, runtime sockets and peers share
//! it.
//!
//! At a limit of its host, or without descriptors, a listener pauses: clients wait in the system's
//! backlog, and the loop looks again after a span. When the host ends, the loop accepts the
//! clients that were in the backlog before: the system has reported them to this process's poller
//! only, so a newer process on the same port would not wake for them.

use reactor::{Class, Handle, Listener, Thread};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

/// Delay after which a paused listener accepts again, in milliseconds.
pub const RETRY_MS: u32 = 100;

/// The most batches that are accepted after the end of the host: more than any backlog holds.
const LAST_BATCHES: u32 = 10_000;

/// The owner of a listening socket: its limits, and what serves its connections.
pub trait Host {
    /// Whether the socket accepts nothing any more.
    fn is_over(&self) -> bool;

    /// Delay in milliseconds until connections are accepted again, when a limit forbids it now.
    fn limit_ms(&self) -> Option<u32>;

    /// Serves an accepted connection: the host owns the handle. `peer` is `None` on unix sockets.
    fn serve(&self, handle: Handle, peer: Option<SocketAddr>);

    /// The most connections of one batch (`tune.maxaccept`); then other tasks run.
    fn batch(&self) -> usize {
        16
    }

    /// Whether the clients that were in the backlog before the end are served.
    fn serves_backlog(&self) -> bool {
        true
    }

    /// Called when the system refuses to accept (no descriptors left), once per series of errors.
    fn on_error(&self, _: &io::Error) {}
}

/// The result of one batch.
enum Batch {
    /// The backlog is empty.
    Empty,
    /// The batch is full: more clients may wait.
    Full,
    /// A limit of the host was reached; milliseconds until the next try.
    Limit(u32),
    /// The system accepts nothing for now.
    Failed(io::Error),
    /// The other end of the pair that passes connections has gone.
    Disconnected,
}

/// Accepts connections for `host` on the running task, until the host is over or, where the socket
/// is one end of a pair, until the other end has gone. The handle stays open.
pub async fn run(thread: &Rc<Thread>, handle: Handle, host: &impl Host) {
    let mut listener = Listener::new(thread, handle);
    let mut failing = false;
    while !host.is_over() {
        let pause = match accept_batch(&listener, host) {
            Batch::Empty | Batch::Full => None,
            Batch::Limit(ms) => Some(ms),
            Batch::Failed(error) => {
                if !std::mem::replace(&mut failing, true) {
                    host.on_error(&error);
                }
                Some(RETRY_MS)
            }
            Batch::Disconnected => return,
        };
        let pause = pause.or_else(|| listener.resume().is_err().then_some(RETRY_MS));
        match pause {
            Some(_) => listener.pause(),
            None => failing = false,
        }
        let deadline = pause.map(|ms| thread.tick().plus_ms(ms));
        thread.scheduler().wait(deadline).await;
    }
    // The poller's watch ends before the handle does: the socket may live on in another process.
    listener.pause();
    if host.serves_backlog() {
        accept_backlog(thread, &listener, host).await;
    }
}

async fn accept_backlog(thread: &Thread, listener: &Listener, host: &impl Host) {
    for _ in 0..LAST_BATCHES {
        let Batch::Full = accept_batch(listener, host) else { return };
        thread.scheduler().yield_as(Class::Bulk).await;
    }
}

fn accept_batch(listener: &Listener, host: &impl Host) -> Batch {
    for _ in 0..host.batch().max(1) {
        if let Some(ms) = host.limit_ms() {
            return Batch::Limit(ms);
        }
        match listener.take() {
            Ok((handle, peer)) => host.serve(handle, peer),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock => return Batch::Empty,
                // The client left before it was accepted: the listener has no fault.
                io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted => {}
                io::ErrorKind::NotConnected => return Batch::Disconnected,
                _ => return Batch::Failed(error),
            },
        }
    }
    Batch::Full
}

#[cfg(test)]
mod tests;
