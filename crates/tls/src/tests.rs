//! Both sides of TLS joined in memory, with certificates made on the spot. Never opens a socket.

mod asides;
mod changes;
mod choice;
mod exchange;
mod hand;
pub(crate) mod pair;
mod staples;
mod transfer;
mod trust;
