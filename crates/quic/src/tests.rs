//! Tests with an independent client: `quinn-proto` with rustls, in memory.

mod exchange;
mod handshake;
mod link;
mod material;
mod peer;
