//! The listener of a `peers` section, which takes connections of other peers and of the old process.

use super::connection::{self, Connection};
use super::{Section, serve};
use crate::frontend::listener::ListenerRef;
use crate::frontend::preamble;
use reactor::{Class, Handle, Socket};
use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use transport::acceptor;

/// Connections with an unfinished preamble (TLS, PROXY protocol) that are allowed beyond one per
/// peer.
const OPENING: usize = 32;

/// Accepts connections until the process stops.
pub(super) async fn run(section: Rc<Section>, handle: Handle) {
    let worker = section.worker.clone();
    let part = ListenerRef::new(&worker, handle);
    let host = PeerHost { section: section.clone(), opening: Rc::default() };
    acceptor::run(&worker.thread, handle, &host).await;
    drop(part);
    section.listens.set(false);
    section.wake_driver();
}

/// The listener of a section, and its connections whose preamble is under way.
struct PeerHost {
    section: Rc<Section>,
    opening: Rc<Cell<usize>>,
}

impl acceptor::Host for PeerHost {
    fn is_over(&self) -> bool {
        self.section.worker.shared.is_stopping()
    }

    fn limit_ms(&self) -> Option<u32> {
        let most = self.section.settings.remotes.len() + OPENING;
        (self.opening.get() >= most).then_some(acceptor::RETRY_MS)
    }

    fn serve(&self, handle: Handle, _: Option<SocketAddr>) {
        let thread = &self.section.worker.thread;
        let socket = Socket::adopt(thread, handle);
        let open = open(self.section.clone(), socket, PreamblePlace::new(&self.opening));
        thread.scheduler().spawn(Class::Normal, open);
    }

    /// The successor of this process takes the peers that come now.
    fn serves_backlog(&self) -> bool {
        false
    }
}

/// A slot in the count of connections with an unfinished preamble.
struct PreamblePlace(Rc<Cell<usize>>);

impl PreamblePlace {
    fn new(count: &Rc<Cell<usize>>) -> Self {
        count.set(count.get() + 1);
        Self(count.clone())
    }
}

impl Drop for PreamblePlace {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

async fn open(section: Rc<Section>, socket: Socket, opening: PreamblePlace) {
    let (settings, patience) = (section.settings.clone(), Some(connection::HANDSHAKE_MS));
    let opened = preamble::open(&section.worker, socket, &settings.preamble, patience).await;
    drop(opening);
    let Some((transport, input)) = opened else { return };
    let accepted = section.group().accept(section.now());
    let Some(id) = accepted else { return };
    section.wake_driver();
    serve(section, Connection::new(transport, input), id).await;
}
