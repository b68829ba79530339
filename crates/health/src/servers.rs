//! Changes of a server's state: up and down, maintenance, slow start, tracking, servers that come and go.

pub mod events;
pub(crate) mod slow_start;
pub mod track;
