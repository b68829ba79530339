//! The data plane: listeners, connections, transactions, server pools, health checks and logs.
//!
//! A folder is a room; a room imports from the rooms below it. From the bottom: [`settings`],
//! [`stats`], [`thread`], [`transport`], [`state`], [`logging`], [`telemetry`], [`servers`],
//! [`health`], [`discovery`], `upstream`, [`transaction`], [`frontend`], `log_forward`, `run`.
#![forbid(unsafe_code)]

pub mod discovery;
pub mod frontend;
pub mod health;
mod log_forward;
pub mod logging;
mod run;
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
