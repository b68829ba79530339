//! Log lines to their targets, rings, and alert mails.

pub mod log;
pub mod mail;
pub mod ring_forward;
