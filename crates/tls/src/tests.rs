//! Tests with both sides of TLS joined in memory, and generated certificates.

mod asides;
mod changes;
mod choice;
mod exchange;
mod hand;
mod own_records;
pub(crate) mod pair;
mod rustls_client;
mod staples;
mod transfer;
mod trust;
