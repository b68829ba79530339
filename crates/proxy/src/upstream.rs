//! The way to a server: reservation, connection, pools, early data, retries.

pub(crate) mod connect;
pub(crate) mod connect_plan;
pub(crate) mod early_data;
pub(crate) mod h2_acquire;
pub(crate) mod h2_connection;
pub(crate) mod proxy_v2_tls;
pub(crate) mod reservation;
pub(crate) mod retry;
pub(crate) mod takeover;
