//! A client's connection of HTTP/2 or HTTP/3.

use crate::state::backend::private_pool::PrivatePool;
use crate::state::session::client::{Client, Last};
use mux::h2::Counters;
use mux::h3::H3Counters;
use reactor::Tick;
use std::any::Any;
use std::cell::{Cell, Ref, RefCell, RefMut};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use table::DataType;
use transport::channel::Link;
use transport::socket::Transport;
use transport::streams::{Session, StreamCarrier, StreamMux};

/// State that the streams of a client's connection share beside the machine.
pub struct ClientMux {
    /// The connection.
    pub client: Box<Client>,
    /// The shared machine.
    pub session: Rc<Session>,
    /// Server connections that only this client may use, between two requests.
    pub own: RefCell<PrivatePool>,
    /// The server of the last request.
    pub last: Cell<Option<Last>>,
    /// Streams that are being served.
    pub under_way: Cell<u32>,
    /// When the last stream ended: the time to wait for the client begins there.
    pub idle_since: Cell<Tick>,
    /// The `sess` variables, which all streams see and change.
    pub variables: sample::VarStore,
}

impl std::fmt::Debug for ClientMux {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientMux").finish_non_exhaustive()
    }
}

impl ClientMux {
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// The counters of its frontend.
    pub(crate) fn stats(&self) -> &transport::h2::stats::Stats {
        &self.client.proxy.h2.front
    }

    /// Whether the connection carries HTTP/3.
    pub fn is_h3(&self) -> bool {
        self.session.inspect(StreamMux::is_h3)
    }

    /// Whether the connection has so many streams under way that other connections have precedence.
    pub fn is_crowded(&self) -> bool {
        self.under_way.get() >= URGENT
    }

    /// The number of streams under way.
    pub fn under_way(&self) -> u32 {
        self.under_way.get()
    }

    /// Counts a stream that begins to be served.
    pub(crate) fn open_stream(&self) {
        self.under_way.set(self.under_way.get() + 1);
        self.client.worker.share.add_stream();
        if !self.is_h3() {
            self.stats().open_stream();
        }
    }

    /// Counts a stream that has been served.
    pub(crate) fn close_stream(&self) {
        self.under_way.set(self.under_way.get() - 1);
        self.client.worker.share.remove_stream();
        self.idle_since.set(self.session.thread().tick());
        if !self.is_h3() {
            self.stats().close_stream();
        }
    }

    /// When the soft stop ends the connection, if there is one. `idle`: the client has no stream.
    pub fn last_moment(&self, idle: bool) -> Option<Tick> {
        let client = &self.client;
        // A connection of QUIC has no socket of its own.
        let socket = client.socket.socket();
        let lot = socket.map_or(client.id as u32, |socket| socket.handle().0 as u32);
        client.last_moment_of(lot).filter(|_| !(idle && client.stays_idle()))
    }

    /// Counts the events of the connection.
    pub fn count(&self) {
        let counters = match self.session.act_for_driver(StreamMux::take_h3_counters) {
            Some(counters) => {
                self.client.proxy.quic.count_frames(&counters);
                let H3Counters { glitches, refused, connection_errors, .. } = counters;
                Counters { glitches, refused, connection_errors, ..Counters::default() }
            }
            None => {
                let counters = self.session.act_for_driver(StreamMux::take_counters);
                self.stats().count(&counters);
                counters
            }
        };
        if counters.memory_refused > 0 {
            let refused = &self.client.worker.shared.memory.refused;
            refused.streams.fetch_add(counters.memory_refused.into(), Relaxed);
        }
        if counters.glitches > 0 {
            self.client.count_many(DataType::GLITCH, counters.glitches.into());
        }
        if counters.refused > 0 || counters.connection_errors > 0 {
            (self.client.worker.hooks.h2_refused)(&self.client, &counters);
        }
    }

    /// The server of the last request and the variables, for the next stream.
    pub(crate) fn stream_context(&self) -> (Option<Last>, sample::VarStore) {
        (self.last.get(), sample::VarStore::shared(&self.variables))
    }

    /// The idle server connections of this client alone.
    pub(crate) fn own(&self) -> RefMut<'_, PrivatePool> {
        self.own.borrow_mut()
    }

    /// Takes the server of the last request from a stream that ends.
    pub(crate) fn take_back(&self, stream: &Client) {
        self.last.set(stream.last);
    }
}

/// Streams of a connection that are as urgent as the requests of other connections. A connection
/// with more at a time lets others go first: a client with a hundred requests at once gets no
/// hundred turns before a client with one.
const URGENT: u32 = 8;

impl StreamCarrier for ClientMux {
    fn session(&self) -> &Rc<Session> {
        &self.session
    }

    fn transport(&self) -> Option<&Transport> {
        self.client.socket.transport()
    }

    fn local_address(&self) -> Option<SocketAddr> {
        self.client.local()
    }

    fn tls(&self) -> Option<Ref<'_, tls::Conn>> {
        self.client.session()
    }

    fn stream_opened(&self) {
        self.open_stream();
    }

    fn stream_closed(&self) {
        self.close_stream();
    }

    fn into_any(self: Rc<Self>) -> Rc<dyn Any> {
        self
    }
}

/// The client's HTTP/2 connection that this is a stream of, if it is one.
pub fn front_of(link: &Link) -> Option<Rc<ClientMux>> {
    link.carrier_of_stream()?.clone().into_any().downcast().ok()
}
