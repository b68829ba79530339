//! Log lines to their targets, rings, and alert mails.

pub mod log;
pub(crate) mod mail;
pub(crate) mod ring_forward;
