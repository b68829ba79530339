//! Tests of the HTTP/1 codec: one table row per rule, then properties over arbitrary bytes.

mod chunks;
mod heads;
mod speed;
