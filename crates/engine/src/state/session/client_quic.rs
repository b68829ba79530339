//! A client's QUIC connection, as the carrier of the connection itself: it has a TLS session and
//! addresses, and no socket of its own.

use std::any::Any;
use std::cell::{Ref, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use stdx::Key;
use transport::channel::Link;
use transport::socket::Transport;
use transport::streams::{Session, Stream, StreamCarrier};

/// The key of the connection itself: no stream has it.
const CONNECTION: u64 = u64::MAX - 1;

/// A client's QUIC connection.
pub struct QuicCarrier {
    session: Rc<Session>,
    tls: RefCell<Option<tls::Conn>>,
    local: Option<SocketAddr>,
}

impl std::fmt::Debug for QuicCarrier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QuicCarrier").finish_non_exhaustive()
    }
}

impl QuicCarrier {
    /// A connection before the end of its handshake.
    pub fn new(session: &Rc<Session>, local: Option<SocketAddr>) -> Rc<Self> {
        Rc::new(Self { session: session.clone(), tls: RefCell::default(), local })
    }

    /// Adds the TLS session, at the end of the handshake.
    pub fn set_tls(&self, session: Option<tls::Conn>) {
        *self.tls.borrow_mut() = session;
    }

    /// The connection as a channel, for what concerns no stream.
    pub fn link(self: &Rc<Self>) -> Link {
        Link::Stream(Stream::new(self.clone(), Key::from_bits(CONNECTION)))
    }
}

impl StreamCarrier for QuicCarrier {
    fn session(&self) -> &Rc<Session> {
        &self.session
    }

    fn transport(&self) -> Option<&Transport> {
        None
    }

    fn local_address(&self) -> Option<SocketAddr> {
        self.local
    }

    fn tls(&self) -> Option<Ref<'_, tls::Conn>> {
        Ref::filter_map(self.tls.borrow(), Option::as_ref).ok()
    }

    fn stream_opened(&self) {}

    fn stream_closed(&self) {}

    fn into_any(self: Rc<Self>) -> Rc<dyn Any> {
        self
    }
}
