//! Servers of a backend as running objects: addresses, connections, pools, queues, checks to come.

pub mod application;
pub mod availability;
pub mod check_inbox;
pub mod check_record;
pub mod dynamic_cookie;
pub mod dynamic_maxconn;
pub mod pool;
pub mod private_pool;
pub mod queue;
pub(crate) mod queue_wakeup;
pub mod reservation;
pub mod server_address;
pub mod server_connection;
pub mod server_cookie;
pub(crate) mod server_list;
pub mod server_register;
pub mod source_port;
pub mod tls_switch;
pub mod tracking;
pub mod trunk;
