//! Shared work with a planted bug: a thread that leaves the desk does not check the hatch again.
#![allow(dead_code, unreachable_pub, reason = "the product uses all of it")]

#[path = "planted_desk.rs"]
mod desk;
#[path = "models.rs"]
pub mod models;
#[path = "../../src/shared/mod.rs"]
pub mod shared;
#[path = "shuttle_sync.rs"]
pub(crate) mod sync;

pub(crate) use sched::{Mailbox, TaskId, Wake};
