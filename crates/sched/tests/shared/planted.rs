//! Shared work with a planted bug: a thread that unlocks does not check the messages again.
#![allow(dead_code, unreachable_pub, reason = "the product uses all of it")]

#[path = "planted_lock.rs"]
mod delegating_lock;
#[path = "models.rs"]
pub mod models;
#[path = "../../src/shared/mod.rs"]
pub mod shared;
#[path = "shuttle_sync.rs"]
pub(crate) mod sync;

pub(crate) use sched::{Mailbox, TaskId, Wake};
