//! The listener of a `peers` section, which takes connections of other peers and of the old process.

use super::connection::{self, Connection};
use super::{Section, serve};
use crate::frontend::listener::Part;
use crate::frontend::preamble;
use reactor::{Class, Handle, Listener, Socket};
use std::cell::Cell;
use std::io;
use std::rc::Rc;

/// The time after which a listener that takes no connections looks again, in milliseconds.
const RETRY_MS: u32 = 100;
/// Connections that are accepted before others have their turn.
const BUDGET: usize = 16;
/// Connections beyond one per peer whose preamble (TLS, PROXY protocol) is under way.
const OPENING: usize = 32;

/// Accepts connections until the process stops.
pub(super) async fn run(section: Rc<Section>, handle: Handle) {
    let worker = section.worker.clone();
    let thread = &worker.thread;
    let part = Part::new(&worker, handle);
    let mut listener = Listener::new(thread, handle);
    let opening = Rc::new(Cell::new(0));
    while !worker.shared.is_stopping() {
        let deadline = match accept_some(&section, &listener, &opening) {
            Ok(true) => {
                thread.scheduler().yield_as(Class::Bulk).await;
                continue;
            }
            Ok(false) if listener.resume().is_ok() => None,
            _ => {
                listener.pause();
                Some(thread.tick().plus_ms(RETRY_MS))
            }
        };
        thread.scheduler().wait(deadline).await;
    }
    listener.pause();
    drop(part);
    section.listens.set(false);
    section.wake_driver();
}

/// `Ok(false)`: no connection waits.
fn accept_some(
    section: &Rc<Section>,
    listener: &Listener,
    opening: &Rc<Cell<usize>>,
) -> io::Result<bool> {
    for _ in 0..BUDGET {
        if opening.get() >= section.settings.remotes.len() + OPENING {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        match listener.accept() {
            Ok((socket, _)) => {
                let open = open(section.clone(), socket, PreamblePlace::new(opening));
                section.worker.thread.scheduler().spawn(Class::Normal, open);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// A connection whose preamble is under way.
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
