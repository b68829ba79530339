//! FastCGI connections to applications: requests by id, the streams of each, its result.
//!
//! One request: `open` -> `send_params` -> (`send`)* -> `send_end`, meanwhile `handle_head` ->
//! (`read`)* until done -> `release`. `take_woken` names the requests with news after
//! `handle_input`, `handle_eof` and `advance_output`.
//!
//! Reading order: [`conn`] (the machine), [`stream`] (one request), [`recv`], [`send`],
//! [`channel`] (the interface that streams of all protocols have), [`params`] (parameters from a
//! request head), [`stderr`] (text for logs), [`settings`].

pub mod channel;
pub mod conn;
pub mod params;
pub mod recv;
pub mod send;
pub mod settings;
pub mod stderr;
pub mod stream;

pub use crate::HeadStep;
pub use conn::{FcgiConn, FcgiError};
pub use params::{Application, ParamsError, RequestFacts, ScriptPath};
pub use settings::FcgiSettings;
pub use stdx::Key;
pub use stream::ReadStep;

#[cfg(test)]
mod tests;
