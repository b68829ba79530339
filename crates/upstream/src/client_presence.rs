//! Whether the client of a transaction still waits for its server.

use buf::Buf;
use engine::state::session::transaction::Transaction;
use reactor::Urgency;
use settings::Mode;
use transport::socket::is_transient;
use transport::stats::transaction_log::{Cause, Ending, Failure, Phase};

/// Checks that the client is still connected, and has the task woken when it disconnects.
///
/// # Errors
/// The client has disconnected, so the request needs no server any more.
pub fn check_client(tx: &mut Transaction, phase: Phase) -> Result<(), Failure> {
    let left = match tx.client.mode {
        Mode::Tcp => has_left(tx),
        Mode::Http => {
            let matters = tx.back_settings().is_some_and(|settings| settings.abort_on_close);
            if matters {
                tx.client.socket.want_close();
            }
            tx.client.socket.want_reset();
            tx.client.socket.is_cancelled() || (matters && tx.client.socket.is_closed())
        }
    };
    if left {
        Err(Failure::close(Cause::ClientAbort, phase))
    } else {
        tx.go_on(Ending::Error(503), phase)
    }
}

/// Reads from the client. `true`: the client has left, which aborts its request.
fn has_left(tx: &mut Transaction) -> bool {
    match gather(tx) {
        Gathered::Some | Gathered::Full => false,
        Gathered::All => tx.client.input.is_empty(),
        Gathered::Broken => true,
    }
}

/// The result of reading from a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gathered {
    /// More may come; the task is woken then.
    Some,
    /// The buffer is full.
    Full,
    /// The client has ended its stream.
    All,
    /// The connection is broken.
    Broken,
}

/// Reads from the client while there is no server yet.
pub fn gather(tx: &mut Transaction) -> Gathered {
    let client = &mut tx.client;
    let gathered = loop {
        if !client.socket.is_readable() {
            client.socket.want_read();
            break Gathered::Some;
        }
        if client.input.capacity() == 0 {
            // Without a free buffer nothing is read now; callers that need the bytes wait for a
            // buffer first.
            let Some(fresh) = tx.worker.buffers.try_take(Urgency::Ordinary) else {
                break Gathered::Some;
            };
            client.input = fresh;
        }
        if client.input.room() == 0 {
            break Gathered::Full;
        }
        match client.socket.recv(client.input.space()) {
            Ok(0) => break Gathered::All,
            Ok(count) => client.input.filled(count),
            Err(error) if is_transient(&error) => {}
            Err(_) => break Gathered::Broken,
        }
    };
    if client.input.is_empty() {
        tx.worker.release(std::mem::replace(&mut client.input, Buf::empty()));
    }
    gathered
}
