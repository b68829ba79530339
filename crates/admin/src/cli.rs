//! The runtime API: commands over a runtime socket (management.txt 9.3). Never serves traffic.
//!
//! Reading order: [`line`] (what was typed), [`table`] (which command it is), [`call`] (what a
//! command gets and gives), then one file per family of commands; [`session`] is the conversation
//! around them.

mod activity;
mod anon;
mod authorities;
mod call;
mod certificates;
mod collect;
mod configured;
mod cookies;
mod crt_lists;
mod debug;
mod dynamic;
mod ending;
mod errors;
mod events;
mod handover;
pub(crate) mod help;
mod known;
mod limits;
pub(crate) mod line;
mod moving;
mod own;
mod patterns;
mod profiling;
mod resolvers;
mod servers;
mod session;
mod sessions;
mod show;
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
mod why;

pub use line::{Command, Line, Parser as LineParser};
pub use session::serve;
pub(crate) use table::commands;
