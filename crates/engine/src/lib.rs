//! The running state of the process (threads, proxies, servers, clients, transactions) and the I/O that
//! needs a thread's state.
#![forbid(unsafe_code)]

pub mod io;
pub mod state;
