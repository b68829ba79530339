//! Shared work of the product over shuttle's locks.
#![allow(dead_code, unreachable_pub, reason = "the product uses all of it")]

#[path = "../../src/delegating_lock.rs"]
mod delegating_lock;
#[path = "models.rs"]
pub mod models;
#[path = "../../src/shared/mod.rs"]
pub mod shared;
#[path = "shuttle_sync.rs"]
pub(crate) mod sync;

pub(crate) use sched::{Mailbox, TaskId, Wake};
