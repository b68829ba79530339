//! A virtual kernel with sockets, clock, latency and faults determined by a seed, which drives the
//! production crates.
//!
//! Reading order: [`faults`] are the fault plans, [`net`] is the network with its table of handles,
//! [`kernel`] the reactor's `Kernel` over it, [`machine`] runs reactor threads and lets time pass,
//! [`peers`] are scripted clients and origins, [`trace`] compares two runs.
#![forbid(unsafe_code)]

pub mod faults;
pub mod kernel;
pub mod machine;
pub mod net;
pub mod peers;
pub mod trace;
pub mod world;

pub use faults::Faults;
pub use machine::{Machine, Stop};
pub use net::actor::{Actor, ActorId, Signal};
pub use net::datagram::{DatagramId, UdpDatagram};
pub use net::{Datagram, EndId, Net};
pub use trace::{Record, RecordKind, Trace};
pub use world::World;

#[cfg(test)]
mod tests;
