//! One stream as a transaction sees it: a channel for payload, and a protocol machine for its
//! messages.

use super::{Session, StreamMux, local};
use crate::socket::Transport;
use htx::{Fields, Head, Method};
use mux::fcgi::ParamsError;
use mux::h2::Key;
use mux::{BodyKind, BodyStep, Eof, HeadStep, MessageError, Ready, StreamGone};
use reactor::{Thread, Wake};
use std::any::Any;
use std::cell::Ref;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::rc::Rc;

/// A stream as a channel. Its drop resets an incomplete exchange.
#[derive(Debug)]
pub struct Stream {
    half: Half,
    carrier: Rc<dyn StreamCarrier>,
}

/// The connection that carries a stream: a client's or a server's.
pub trait StreamCarrier: std::fmt::Debug {
    /// The connection's protocol machine.
    fn session(&self) -> &Rc<Session>;
    /// The transport of the connection, once it is established.
    fn transport(&self) -> Option<&Transport>;
    /// Our address of the connection.
    fn local_address(&self) -> Option<SocketAddr>;
    /// The TLS session of the connection, if it is encrypted.
    fn tls(&self) -> Option<Ref<'_, tls::Conn>> {
        self.transport()?.session()
    }
    /// A stream of the connection opens.
    fn stream_opened(&self);
    /// A stream of the connection has closed.
    fn stream_closed(&self);
    /// The connection itself, for callers that know its type.
    fn into_any(self: Rc<Self>) -> Rc<dyn Any>;
}

/// A stream as a machine; the owner of the channel owns the stream.
#[derive(Clone, Debug)]
pub struct Half {
    session: Rc<Session>,
    key: Key,
}

impl Stream {
    /// A stream of a connection.
    pub fn new(carrier: Rc<dyn StreamCarrier>, key: Key) -> Self {
        let half = Half { session: carrier.session().clone(), key };
        carrier.stream_opened();
        Self { half, carrier }
    }

    /// A stream without a peer, of a transaction that begins inside the process. It is a stream,
    /// and no variant of its own in [`crate::channel::Link`], because that would add a word to
    /// every client.
    pub(crate) fn internal(thread: &Rc<Thread>) -> Self {
        let mut stream = local::open(thread).0;
        stream.half.key = Key::NONE;
        stream
    }

    /// Whether there is no peer.
    #[inline]
    pub(crate) fn is_internal(&self) -> bool {
        self.half.key == Key::NONE
    }

    /// Whether the process itself sends the request.
    pub(crate) fn is_call(&self) -> bool {
        self.half.session.inspect(StreamMux::is_call)
    }

    /// The connection that carries the stream.
    pub(crate) fn carrier(&self) -> &Rc<dyn StreamCarrier> {
        &self.carrier
    }

    /// The transport of the connection, once it is established.
    pub(crate) fn transport(&self) -> Option<&Transport> {
        self.carrier.transport()
    }

    /// Our address of the connection.
    pub(crate) fn local_address(&self) -> Option<SocketAddr> {
        self.carrier.local_address()
    }

    /// The same stream as a machine.
    pub fn half(&self) -> Half {
        self.half.clone()
    }

    pub(crate) fn session(&self) -> &Rc<Session> {
        &self.half.session
    }

    pub(crate) fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let Half { session, key } = &self.half;
        match session.act_for_stream(|mux| mux.read(*key, buffer)) {
            Ok(Some(count)) => Ok(count),
            Ok(None) => Err(io::ErrorKind::WouldBlock.into()),
            Err(StreamGone) => Err(io::ErrorKind::ConnectionReset.into()),
        }
    }

    pub(crate) fn send(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let Half { session, key } = &self.half;
        match session.act_for_stream(|mux| mux.send(*key, parts)) {
            Ok(0) if parts.iter().any(|part| !part.is_empty()) => {
                Err(io::ErrorKind::WouldBlock.into())
            }
            Ok(count) => Ok(count),
            Err(StreamGone) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    pub(crate) fn want(&self, ready: Ready) {
        let Half { session, key } = &self.half;
        let scheduler = session.thread().scheduler();
        let task = scheduler.current();
        let want = |mux: &mut StreamMux| mux.want(*key, ready, task.to_bits());
        // Where the window is short, waiting may produce a WINDOW_UPDATE.
        let is_ready = match session.inspect(StreamMux::is_short) {
            true => session.act_for_stream(want),
            false => session.update(want),
        };
        if is_ready {
            scheduler.wake(task, Wake::IO);
        }
    }

    pub(crate) fn want_nothing(&self) {
        self.half.session.update(|mux| mux.want_nothing(self.half.key));
    }

    /// Whether the client reads the output of its connection.
    pub(crate) fn has_room(&self) -> bool {
        self.half.session.inspect(StreamMux::has_room)
    }

    pub(crate) fn is_readable(&self) -> bool {
        self.half.session.inspect(|mux| mux.is_readable(self.half.key))
    }

    pub(crate) fn is_reset(&self) -> bool {
        self.half.session.inspect(|mux| mux.is_reset(self.half.key))
    }

    /// Whether the stream was reset, or the input of the connection has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_reset() || self.half.session.inspect(StreamMux::has_input_ended)
    }

    pub(crate) fn shutdown(&self) {
        self.half.session.act_for_stream(|mux| mux.shutdown(self.half.key));
    }

    pub(crate) fn reset(&self) {
        self.half
            .session
            .act_for_stream(|mux| mux.reset(self.half.key, wire::h2::ErrorCode::CANCEL));
    }

    /// Ends the connection, and all its streams with it.
    pub(crate) fn reject_connection(&self) {
        self.half.session.act_for_stream(|mux| mux.reject_connection(self.half.key));
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.half.session.act_for_stream(|mux| mux.release(self.half.key));
        self.carrier.stream_closed();
        if self.half.session.inspect(|mux| mux.streams() == 0) {
            // The connection now has a timeout for the next stream.
            self.half.session.wake_driver();
        }
    }
}

impl Half {
    /// A machine for the connection as a whole, for records about no particular stream.
    pub fn of_connection(session: &Rc<Session>) -> Self {
        Self { session: session.clone(), key: Key::NONE }
    }

    pub(crate) fn has_received_all(&self) -> bool {
        self.session.inspect(|mux| mux.has_received_all(self.key))
    }

    pub(crate) fn has_sent_all(&self) -> bool {
        self.session.inspect(|mux| mux.has_sent_all(self.key))
    }

    pub(crate) fn has_sent_head(&self) -> bool {
        self.session.inspect(|mux| mux.has_sent_head(self.key))
    }

    pub(crate) fn is_tunnel(&self) -> bool {
        self.session.inspect(|mux| mux.is_tunnel(self.key))
    }

    pub(crate) fn payload_received(&self) -> u64 {
        self.session.inspect(|mux| mux.payload_received(self.key))
    }

    pub(crate) fn payload_left(&self) -> u64 {
        self.session.inspect(|mux| mux.payload_left(self.key))
    }

    pub(crate) fn handle_eof(&self) -> Eof {
        self.session.inspect(|mux| mux.end_of(self.key))
    }

    pub(crate) fn handle_head(&self, head: &mut Head) -> Result<HeadStep, MessageError> {
        self.session.act_for_stream(|mux| mux.handle_head(self.key, head))
    }

    pub(crate) fn handle_body(&self, input: &[u8], trailers: &mut Fields) -> BodyStep {
        self.session.act_for_stream(|mux| mux.handle_body(self.key, input, trailers))
    }

    pub(crate) fn encode_head(&self, head: &mut Head, body: BodyKind) -> BodyKind {
        self.session
            .act_for_stream(|mux| mux.encode_head(self.key, head, body, self.session.scheme()))
    }

    /// The major version of HTTP.
    pub(crate) fn major(&self) -> u8 {
        self.session.inspect(|mux| match mux {
            StreamMux::H3(_) => 3,
            StreamMux::Fcgi(_) | StreamMux::Call(_) => 1,
            StreamMux::H2(_) | StreamMux::Local(_) => 2,
        })
    }

    /// Whether the stream is a request of FastCGI.
    pub(crate) fn is_fcgi(&self) -> bool {
        self.session.inspect(StreamMux::is_fcgi)
    }

    pub(crate) fn send_params(
        &self,
        (method, ends): (Method, bool),
        params: &[u8],
        transport: Option<&Transport>,
    ) -> Result<(), ParamsError> {
        let send = |mux: &mut StreamMux| {
            mux.send_params(self.key, method, params)?;
            if ends {
                mux.encode_end(self.key, None);
            }
            Ok(())
        };
        match transport {
            Some(transport) => self.session.act_at_once(transport, send),
            None => self.session.act_for_stream(send),
        }
    }

    pub(crate) fn encode_data(&self, len: u64) {
        self.session.act_for_stream(|mux| mux.encode_data(self.key, len));
    }

    pub(crate) fn encode_end(&self, trailers: Option<&Fields>) {
        self.session.act_for_stream(|mux| mux.encode_end(self.key, trailers));
    }

    pub(crate) fn abort(&self) {
        self.session.act_for_stream(|mux| mux.reset(self.key, wire::h2::ErrorCode::CANCEL));
    }

    /// Resets the stream with REFUSED_STREAM: its request was not processed.
    pub(crate) fn refuse(&self) {
        self.session.act_for_stream(|mux| mux.reset(self.key, wire::h2::ErrorCode::REFUSED_STREAM));
    }

    /// Whether a response accepts the upgrade that the request asks for.
    pub(crate) fn is_accepted_by(&self, head: &Head) -> bool {
        self.session.inspect(|mux| mux.is_accepted_by(self.key, head))
    }

    /// Whether the stream ended because its connection was closed.
    pub(crate) fn is_lost(&self) -> bool {
        self.session.inspect(|mux| mux.is_lost(self.key))
    }

    /// Protocol breaches of the peer on any stream of the connection.
    pub(crate) fn glitches(&self) -> u32 {
        self.session.inspect(StreamMux::glitches)
    }

    /// Whether the connection has carried a response on any of its streams.
    pub fn has_answered(&self) -> bool {
        self.session.inspect(StreamMux::has_answered)
    }

    /// Whether the stream ended here because the peer broke the protocol on it.
    pub(crate) fn is_malformed(&self) -> bool {
        self.session.inspect(|mux| mux.is_malformed(self.key))
    }

    /// Whether the request was not processed, so that it may be sent again.
    pub(crate) fn is_refused(&self) -> bool {
        self.session.inspect(|mux| mux.is_refused(self.key))
    }
}
