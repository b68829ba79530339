//! The composition of the data plane: listeners, client connections, and the start of a process.
//!
//! A folder is a room, and imports between rooms run in one direction. From the bottom:
//! [`frontend`] (clients), `spoe` (agents), `log_forward`, `peers` (stick tables shared with other
//! processes), [`run`] (start and upkeep). The crates below: `settings` (the configuration as
//! data), `transport` (sockets, codecs, forwarding, counters), `engine` (the running state),
//! `observability` (logs and records), `health` (checks, names, changes of a server's state),
//! `upstream` (the way to a server), `transaction` (the life of a request or TCP stream).
#![forbid(unsafe_code)]

pub mod frontend;
mod log_forward;
mod peers;
pub mod run;
mod spoe;
#[cfg(test)]
mod tests;

pub use engine::state::runtime::Shared;
pub use engine::state::worker::Worker;
pub use frontend::listener::shut_frontend;
pub use run::ocsp_update::update as update_staple;
pub use run::start::{build, start};
pub use transaction::call::http_call::{CallError, HttpCall, HttpRequest};
pub use transport::thread::buffers::PoolUse;
