//! The data plane: listeners, connections, transactions, server pools, health checks and logs.
//!
//! A folder is a room, and imports between rooms run in one direction. From the bottom:
//! [`settings`] (the configuration as data), [`stats`] (counters, records of transactions),
//! [`thread`] (memory that a thread reuses), [`transport`] (sockets, codecs, forwarding), [`state`]
//! (the running process, proxies, servers, clients, transactions), `io` (handshakes and I/O that
//! need a thread's state), [`logging`], [`telemetry`], [`servers`] (changes of a server's state),
//! [`discovery`], [`health`], `upstream` (the way to a server), [`transaction`] (the life of a
//! request), [`frontend`] (clients), `log_forward`, [`run`] (start and upkeep).
#![forbid(unsafe_code)]

pub mod discovery;
pub mod frontend;
pub mod health;
pub mod io;
mod log_forward;
pub mod logging;
pub mod run;
pub mod servers;
pub mod settings;
pub mod state;
pub mod stats;
pub mod telemetry;
#[cfg(test)]
mod testing;
pub mod thread;
pub mod transaction;
pub mod transport;
mod upstream;

pub use frontend::listener::shut_frontend;
pub use run::start::{build, start};
pub use state::runtime::Shared;
pub use state::worker::Worker;
pub use thread::buffers::PoolUse;
