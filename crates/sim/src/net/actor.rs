//! Scripted peers: state machines inside the virtual network.

use super::datagram::DatagramId;
use super::{EndId, Net};
use stdx::Key;

/// Identifies an actor while it lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct ActorId(pub(crate) Key);

/// Reason for calling an actor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// The actor was spawned.
    Start,
    /// A client has connected to an address of the actor, which owns this end now.
    Accepted(EndId),
    /// Something changed on an end of the actor: bytes, room, end of stream, failure.
    Ready(EndId),
    /// A datagram has arrived at a socket of the actor.
    Datagram(DatagramId),
    /// A timer of the actor, with the number that it gave.
    Timer(u64),
}

/// A party in the network that reacts at once, in no virtual time.
///
/// Its calls [`Net::dial`], [`Net::recv`], [`Net::send`] and so on fail with
/// [`std::io::ErrorKind::WouldBlock`] where they would wait; a [`Signal::Ready`] follows later.
pub trait Actor {
    /// Reacts to one signal.
    fn act(&mut self, net: &mut Net, me: ActorId, signal: Signal);
}
