//! Tests of the HTTP/1 codec: one table row per rule, then properties over arbitrary bytes. Never
//! touches a socket.

mod chunks;
mod heads;
mod speed;
