//! The carrier of the only stream of an exchange inside the process: it has no socket.

use super::{Session, Stream, StreamCarrier};
use crate::socket::Transport;
use mux::h2::Key;
use std::any::Any;
use std::net::SocketAddr;
use std::rc::Rc;

/// The stream of an exchange.
pub(super) fn stream(session: &Rc<Session>, key: Key) -> Stream {
    Stream::new(Rc::new(InsideCarrier { session: session.clone() }), key)
}

#[derive(Debug)]
struct InsideCarrier {
    session: Rc<Session>,
}

impl StreamCarrier for InsideCarrier {
    fn session(&self) -> &Rc<Session> {
        &self.session
    }

    fn transport(&self) -> Option<&Transport> {
        None
    }

    fn local_address(&self) -> Option<SocketAddr> {
        None
    }

    fn stream_opened(&self) {}

    fn stream_closed(&self) {}

    fn into_any(self: Rc<Self>) -> Rc<dyn Any> {
        self
    }
}
