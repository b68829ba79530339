//! Both sides of TLS joined in memory, with certificates made on the spot. Never opens a socket.

mod changes;
mod choice;
mod exchange;
pub(crate) mod pair;
mod transfer;
mod trust;
