//! The life of one request or TCP stream, from its first byte to its log line.
//!
//! A folder is a room, and imports between rooms run in one direction. From the bottom:
//! [`message`] (heads and bodies as they are read and written), `retry` (what may be sent again,
//! and early), `filters` (what sees payload), `local_response` (answers in place of a server's),
//! [`stages`] (the table of stages, and the rules and features in it), `connect` (from a backend to
//! a connection), `tunnel` (opaque bytes both ways), `forward` (both directions at once), [`serve`]
//! (a request or session, top to bottom), [`call`] (connections and requests of the process
//! itself).
#![forbid(unsafe_code)]

pub mod call;
mod connect;
mod filters;
mod forward;
mod local_response;
pub mod message;
mod retry;
pub mod serve;
pub mod stages;
mod tunnel;
