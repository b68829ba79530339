//! Servers of a backend as running objects: addresses, connections, pools, queues, checks to come.

pub mod availability;
pub(crate) mod check_inbox;
pub(crate) mod check_record;
pub mod dynamic_maxconn;
pub(crate) mod pool;
pub(crate) mod private_pool;
pub(crate) mod queue;
pub(crate) mod queue_wakeup;
pub(crate) mod reservation;
pub mod server_address;
pub(crate) mod server_connection;
pub(crate) mod server_h2;
pub(crate) mod server_list;
pub mod server_register;
pub(crate) mod tracking;
