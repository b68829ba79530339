//! Exchanges with services inside the process: the stream of the transaction, and the end that the
//! service's task holds.

use super::{Session, Stream, inside};
use htx::{Fields, Head};
use mux::local::LocalConn;
use mux::{BodyKind, Ready, StreamGone};
use reactor::Thread;
use std::future::poll_fn;
use std::num::NonZero;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

/// An exchange on a thread: what the transaction uses as a stream of a server, and the service's
/// end.
pub fn exchange(thread: &Rc<Thread>) -> (Stream, LocalExchange) {
    let (stream, session) = open(thread);
    (stream, LocalExchange { session })
}

/// As [`exchange`], for bytes in both directions without messages.
pub fn byte_exchange(thread: &Rc<Thread>) -> (Stream, LocalExchange) {
    let (stream, session) = carry(thread, LocalConn::of_bytes());
    (stream, LocalExchange { session })
}

/// The stream of an exchange, without an end for a service.
pub(super) fn open(thread: &Rc<Thread>) -> (Stream, Rc<Session>) {
    carry(thread, LocalConn::default())
}

fn carry(thread: &Rc<Thread>, conn: LocalConn) -> (Stream, Rc<Session>) {
    let key = conn.stream();
    let session = Session::new(thread, conn, b"http");
    (inside::stream(&session, key), session)
}

/// The service's end of an exchange. Its calls wait on the running task. A drop ends the response,
/// truncated unless [`LocalExchange::finish`] was called before.
#[derive(Debug)]
pub struct LocalExchange {
    session: Rc<Session>,
}

impl LocalExchange {
    /// Takes the request, with the way in which its body is delimited.
    ///
    /// # Errors
    /// The transaction has ended before it sent its request.
    pub async fn request(&self) -> Result<(Head, BodyKind), StreamGone> {
        self.wait(Ready::READ, |conn| match conn.take_request() {
            Some(request) => Ok(Some(request)),
            None if conn.is_abandoned() => Err(StreamGone),
            None => Ok(None),
        })
        .await
    }

    /// Reads payload of the request, at least a byte; 0 at its end.
    ///
    /// # Errors
    /// The transaction has ended.
    pub async fn receive(&self, buffer: &mut [u8]) -> Result<usize, StreamGone> {
        self.wait(Ready::READ, |conn| conn.receive(buffer)).await
    }

    /// Sends the head of the response. A `content-length` field announces the length of the body.
    ///
    /// # Errors
    /// The transaction has ended, or a head was sent already.
    pub fn respond(&self, head: Head) -> Result<(), StreamGone> {
        self.act(|conn| conn.respond(head)).unwrap_or(Err(StreamGone))
    }

    /// Sends payload, as fast as the client takes it. Bytes beyond the announced length are
    /// dropped.
    ///
    /// # Errors
    /// The transaction has ended.
    pub async fn send(&self, mut bytes: &[u8]) -> Result<(), StreamGone> {
        while !bytes.is_empty() {
            let write = |conn: &mut LocalConn| conn.write(bytes).map(NonZero::new);
            let count = self.wait(Ready::WRITE, write).await?.get();
            bytes = &bytes[count..];
        }
        Ok(())
    }

    /// Ends the response. A response that is shorter than announced reaches the client truncated.
    pub fn finish(self, trailers: Option<Fields>) {
        self.act(|conn| conn.finish(trailers));
    }

    /// Waits for other work of the service.
    ///
    /// # Errors
    /// The transaction has ended before.
    pub async fn alongside<T>(&self, work: impl Future<Output = T>) -> Result<T, StreamGone> {
        let scheduler = self.session.thread().scheduler();
        let mut work = pin!(work);
        poll_fn(|context| {
            if let Poll::Ready(result) = work.as_mut().poll(context) {
                return Poll::Ready(Ok(result));
            }
            let token = scheduler.current().to_bits();
            match self.act(|conn| conn.service_want_end(token)) {
                Some(false) => Poll::Pending,
                Some(true) | None => Poll::Ready(Err(StreamGone)),
            }
        })
        .await
    }

    /// Whether the transaction has ended, so that nothing reads the response.
    pub fn is_abandoned(&self) -> bool {
        self.act(|conn| conn.is_abandoned()).unwrap_or(true)
    }

    /// `None`: the session carries no exchange, which [`exchange`] excludes.
    fn act<T>(&self, how: impl FnOnce(&mut LocalConn) -> T) -> Option<T> {
        self.session.act_for_stream(|mux| mux.local().map(how))
    }

    /// Calls `attempt` until it has a result; in between the task waits for `ready`.
    async fn wait<T>(
        &self,
        ready: Ready,
        mut attempt: impl FnMut(&mut LocalConn) -> Result<Option<T>, StreamGone>,
    ) -> Result<T, StreamGone> {
        let scheduler = self.session.thread().scheduler();
        loop {
            let token = scheduler.current().to_bits();
            let result = self.act(|conn| {
                let result = attempt(conn);
                if matches!(result, Ok(None)) {
                    conn.service_want(ready, token);
                }
                result
            });
            if let Some(result) = result.unwrap_or(Err(StreamGone))? {
                return Ok(result);
            }
            scheduler.wait(None).await;
        }
    }
}

impl Drop for LocalExchange {
    fn drop(&mut self) {
        self.act(LocalConn::fail);
    }
}
