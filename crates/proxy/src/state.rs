//! The running state of the process, its proxies, servers and threads, without the tasks that change it.

pub(crate) mod client_cold_state;
pub mod dynamic_maxconn;
pub(crate) mod queue;
pub(crate) mod queue_wakeup;
pub(crate) mod request_buffers;
pub mod run_on_thread;
pub mod runtime;
pub mod server_address;
pub(crate) mod server_connection;
pub(crate) mod server_list;
pub mod services;
pub mod soft_stop;
pub(crate) mod thread_handle;
pub mod transaction_log;
pub(crate) mod worker;
