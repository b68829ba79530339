//! A virtual kernel: sockets, clock, latency and faults by seed. Drives the production crates; never touches a real descriptor.
//!
//! Reading order: [`faults`] says what may go wrong, [`net`] is the network and the table of
//! handles,
//! [`kernel`] the reactor's seam over it, [`machine`] steps reactor threads and lets time pass,
//! [`peers`] are scripted clients and origins, [`trace`] is how two runs are compared.
#![forbid(unsafe_code)]

pub mod actor;
pub mod faults;
pub mod kernel;
pub mod machine;
pub mod net;
pub mod peers;
pub mod trace;
pub mod world;

pub use actor::{Actor, ActorId, Signal};
pub use faults::Faults;
pub use machine::{Machine, Stop};
pub use net::{Datagram, EndId, Net};
pub use trace::{Record, Trace, What};
pub use world::World;

#[cfg(test)]
mod tests;
