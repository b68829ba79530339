//! Scripted peers: state machines inside the network. Never reactor tasks.

use crate::net::{EndId, Net};
use stdx::Key;

/// Names an actor for as long as it lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct ActorId(pub(crate) Key);

/// Why an actor is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// It has just been spawned.
    Start,
    /// A client has come to an address that it listens on; the end is its own now.
    Accepted(EndId),
    /// Something changed on an end of its own: bytes, room, the end, a failure.
    Ready(EndId),
    /// A timer that it has set, with the number it gave.
    Timer(u64),
}

/// A party to the network that reacts at once and takes no virtual time.
///
/// It uses [`Net::dial`], [`Net::recv`], [`Net::send`] and their siblings on ends, which fail with
/// [`std::io::ErrorKind::WouldBlock`] where they would wait; a [`Signal::Ready`] follows then.
pub trait Actor {
    /// Reacts to one signal.
    fn act(&mut self, net: &mut Net, me: ActorId, signal: Signal);
}
