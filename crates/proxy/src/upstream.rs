//! The way to a server: reservation, connection, pools, early data, retries.

pub(crate) mod balance_key;
pub(crate) mod client_presence;
pub(crate) mod connect_plan;
pub(crate) mod reservation;
pub(crate) mod takeover;
pub(crate) mod tls_connect;
pub(crate) mod traffic_health;
pub(crate) mod trunk_driver;
