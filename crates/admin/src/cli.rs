//! The runtime API: commands over a runtime socket (management.txt 9.3).
//!
//! Reading order: [`line`] (what was typed), [`table`] (which command it is), [`call`] (what a
//! command gets and gives), then one file per family of commands; [`session`] is the conversation
//! around them.

mod activity;
mod anon;
mod ask_workers;
mod authorities;
mod caches;
mod call;
mod certificates;
mod configuration_lists;
mod cookies;
mod crt_lists;
mod debug;
mod dynamic;
mod errors;
mod events;
mod handover;
pub(crate) mod help;
mod http_client;
mod limits;
pub(crate) mod line;
mod not_implemented;
mod patterns;
mod peers;
mod profiling;
mod quic;
pub(crate) mod resolvers;
pub(crate) mod script_changes;
mod script_command;
mod server_address;
mod servers;
mod session;
mod session_commands;
mod sessions;
mod show;
mod shutdown_sessions;
mod staples;
mod system;
mod table;
mod tables;
mod tasks;
#[cfg(test)]
mod tests;
mod ticket_keys;
mod trace;
mod variables;
pub(crate) mod why;

pub(crate) use certificates::why_refused;
pub use line::{Command, Line, Parser as LineParser};
pub use session::serve;
pub(crate) use table::commands;
pub(crate) use tables::compare_by;
