//! The way to a server: its reservation, the plan of a connection, TLS with the server, and the
//! client's presence meanwhile.
#![forbid(unsafe_code)]

pub mod balance_key;
pub mod client_presence;
pub mod connect_plan;
pub mod reservation;
pub mod takeover;
mod tls_connect;
pub mod traffic_health;
pub mod trunk_driver;
