//! The way to a server: its reservation, the plan of a connection to it, and what its clients and
//! connections say about it meanwhile.
#![forbid(unsafe_code)]

pub mod balance_key;
pub mod client_presence;
pub mod connect_plan;
pub mod reservation;
pub mod takeover;
mod tls_connect;
pub mod traffic_health;
pub mod trunk_driver;
