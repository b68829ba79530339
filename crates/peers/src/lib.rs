//! Peers: stick tables shared by machines, by the peers protocol 2.0 and 2.1.
//!
//! Reading order: [`Settings`] (what a `peers` section declares), [`hello`], [`message`],
//! [`definition`], [`update`] (the bytes), [`Group`] (all peers of a section: connections that the
//! caller makes, bytes in, bytes out, deadlines). Manual section 3.5, and `peers.txt`.
//!
//! There is no I/O here. Times are milliseconds on the clock of the tables.
#![forbid(unsafe_code)]

pub mod definition;
pub mod dictionary;
mod group;
pub mod hello;
pub mod message;
mod peer;
mod progress;
mod roles;
mod session;
mod settings;
pub mod update;

pub use group::{Action, Event, Group, GroupView, Loss, PeerView, SessionView, TableView};
pub use peer::{PeerCounters, PeerStatus};
pub use roles::LOCAL;
pub use session::SessionId;
pub use settings::{Settings, Shards, SharedTable};
pub use stdx::varint;
