//! Tests with both sides of TLS joined in memory, and generated certificates.

mod asides;
mod changes;
mod choice;
mod exchange;
mod hand;
pub(crate) mod pair;
mod staples;
mod transfer;
mod trust;
