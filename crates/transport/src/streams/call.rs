//! Requests of the process itself: the stream of the transaction, and the caller's end.

use super::{Session, Stream, inside};
use htx::Head;
use mux::call::CallConn;
use mux::{BodyKind, Ready, StreamGone};
use reactor::Thread;
use std::rc::Rc;
use stdx::Tick;

/// A call on a thread: what the transaction uses as the stream of a client, and the caller's end.
pub fn call(thread: &Rc<Thread>, request: Head, body: BodyKind) -> (Stream, CallExchange) {
    let conn = CallConn::new(request, body);
    let key = conn.stream();
    let session = Session::new(thread, conn, b"http");
    (inside::stream(&session, key), CallExchange { session })
}

/// The caller's end of a call. A drop ends the transaction.
#[derive(Debug)]
pub struct CallExchange {
    session: Rc<Session>,
}

impl CallExchange {
    /// Sends the bytes of the request's payload that there is room for now.
    ///
    /// # Errors
    /// The transaction reads nothing more.
    pub fn write(&self, bytes: &[u8]) -> Result<usize, StreamGone> {
        self.act(|conn| conn.write(bytes)).unwrap_or(Err(StreamGone))
    }

    /// Ends the request.
    pub fn finish(&self) {
        self.act(CallConn::finish);
    }

    /// Takes the head of the final response, once it is there.
    ///
    /// # Errors
    /// The transaction has ended without a response.
    pub fn take_response(&self) -> Result<Option<(Head, BodyKind)>, StreamGone> {
        self.act(CallConn::take_response).unwrap_or(Err(StreamGone))
    }

    /// Reads payload of the response; `None` when there is none now, 0 at its end.
    ///
    /// # Errors
    /// The response is truncated.
    pub fn receive(&self, buffer: &mut [u8]) -> Result<Option<usize>, StreamGone> {
        self.act(|conn| conn.receive(buffer)).unwrap_or(Err(StreamGone))
    }

    /// This moment.
    pub fn now(&self) -> Tick {
        self.session.thread().tick()
    }

    /// Waits until there is something to read, room to write if `writes`, or the moment `until`.
    pub async fn wait(&self, writes: bool, until: Option<Tick>) {
        let scheduler = self.session.thread().scheduler();
        let token = scheduler.current().to_bits();
        let ready = self.act(|conn| {
            let readable = conn.caller_want(Ready::READ, token);
            readable || (writes && conn.caller_want(Ready::WRITE, token))
        });
        if ready == Some(false) {
            scheduler.wait(until).await;
        }
    }

    /// `None`: the session carries no call, which [`call`] excludes.
    fn act<T>(&self, how: impl FnOnce(&mut CallConn) -> T) -> Option<T> {
        self.session.act_for_stream(|mux| mux.call().map(how))
    }
}

impl Drop for CallExchange {
    fn drop(&mut self) {
        self.act(CallConn::cancel);
    }
}
