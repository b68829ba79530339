//! Running listeners, connections, transactions, server pools, checks and logs. Never parses configuration.
//!
//! Reading order: [`settings`] (what boot hands in), [`runtime`] (what all threads share),
//! [`worker`] (what one thread has), then the life of a request: `listener`, `client`,
//! `transaction` and, called from there, `receive`, `route`, `connect`, `exchange`, `report`.
#![forbid(unsafe_code)]

pub mod anon;
pub mod ask;
pub mod buffers;
mod cacheable;
mod case;
pub mod check;
mod claim;
mod client;
mod connect;
mod cookie;
pub mod counters;
pub mod dynamic;
mod early;
mod encrypted;
mod exchange;
mod expiry;
mod facts;
mod flow;
mod gate;
pub mod h2;
mod handshake;
mod handshake_limit;
mod hashing;
pub mod history;
mod housekeeper;
mod idle;
mod inspect;
pub mod invalid;
pub mod journal;
mod judge;
pub mod latency;
pub mod limit;
mod line;
mod link;
pub mod listener;
mod local;
pub mod location;
pub mod log;
mod log_forward;
mod machine;
mod mail;
mod measure;
mod meter;
pub mod notice;
mod observe;
mod offer;
mod own;
mod payload;
pub mod preamble;
mod queue;
mod rare;
mod rdp;
mod receive;
pub mod recorder;
mod redir;
mod reply;
mod report;
pub mod resolver;
mod retry;
mod rewrite;
pub mod ring;
mod route;
pub mod runtime;
mod seat;
mod server_conn;
mod servers;
pub mod services;
pub mod settings;
pub mod splice;
pub mod spread;
mod sticking;
pub mod stopping;
pub mod streams;
mod tcp;
#[cfg(test)]
mod testing;
pub mod tls_counters;
pub mod trace;
pub mod tracking;
mod transaction;
pub mod transport;
mod upgrade;
pub mod verify;
mod warming;
mod way;
mod worker;
mod workspace;

pub use buffers::PoolUse;
pub use listener::shut_frontend;
pub use runtime::Shared;
pub use worker::Worker;
