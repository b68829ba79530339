//! Balancing algorithms, weights and health state machines. Receives weights and hashes, never requests.
//!
//! [`Balancer`] owns the servers of one backend and picks among them by one of the algorithms in
//! [`algo`]; a pick is a [`Ticket`], whose drop brings every count down again. [`Health`] is the
//! pure rise/fall machine; [`notice`] holds the words in which state changes are announced.
#![forbid(unsafe_code)]

mod agent;
pub mod algo;
mod balancer;
mod check;
mod error;
pub mod hash;
mod health;
mod history;
mod index;
mod latency;
mod load;
pub mod notice;
mod reindex;
mod restore;
mod server;
mod server_name;
mod state;
mod sync;
#[cfg(test)]
mod tests;
mod ticket;
mod traffic_errors;
mod weight;

pub use agent::AgentRecord;
pub use algo::{Algorithm, HashMethod, PickRequest};
pub use balancer::{Balancer, Change, Checked, ErrorAlarm, Usable};
pub use check::{CheckResult, CheckStatus, Verdict};
pub use error::NoServer;
pub use health::{Health, Intervals, Transition};
pub use history::PastCheck;
pub use index::LoadOrder;
pub use load::Load;
pub use restore::Restored;
pub use server::{CheckRecord, Server, ServerSettings, Tracked};
pub use server_name::ServerName;
pub use state::{Admin, OpState};
pub use ticket::Ticket;
pub use traffic_errors::{Layer, OnError, Sign, Watch};
pub use weight::{MAX_WEIGHT, WEIGHT_SCALE};
