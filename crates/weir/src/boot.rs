//! From a model to a running process, in plain order. Never parses and never forwards.

mod greeting;
mod limits;
mod listeners;
mod logs;
mod master_start;
mod memory;
mod old_processes;
mod peers;
mod proxies;
mod runtime_sockets;
mod scripts;
mod socket_files;
mod start;
mod takeover;

pub(crate) use listeners::words;
pub(crate) use master_start::{Leading, keep as fail_reload, run as lead};
pub(crate) use scripts::ScriptLoader;
pub(crate) use start::run;
