//! From a model to a running process, in plain order. Never parses and never forwards.

mod balancing;
mod console;
mod greeting;
mod limits;
mod link;
mod listeners;
mod logs;
mod proxies;
mod start;

pub(crate) use start::run;
