//! The running state of the process, its proxies, servers and threads, without the tasks that change it.

pub mod backend;
pub mod bandwidth;
pub mod compression_load;
pub mod figures;
pub mod log_samples;
pub mod mail_queue;
pub mod os_handles;
pub mod peer_group;
pub mod records;
pub mod resolver;
pub mod ring;
pub mod run_on_thread;
pub mod runtime;
pub mod script_sockets;
pub mod services;
pub mod session;
pub mod soft_stop;
pub mod spoe;
pub mod thread_handle;
pub mod worker;
