//! From a model to a running process, in plain order. Never parses and never forwards.

mod console;
mod greeting;
mod lead;
mod limits;
mod listeners;
mod logs;
mod memory;
mod peers;
mod predecessors;
mod proxies;
mod scripts;
mod socket_files;
mod start;
mod takeover;

pub(crate) use lead::{Leading, keep as fail_reload, run as lead};
pub(crate) use listeners::words;
pub(crate) use scripts::ScriptLoader;
pub(crate) use start::run;
