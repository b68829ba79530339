//! Shared work as it is, over shuttle's locks. Never differs from the product.
#![allow(dead_code, unreachable_pub, reason = "the product uses all of it")]

#[path = "../../src/desk.rs"]
mod desk;
#[path = "models.rs"]
pub mod models;
#[path = "../../src/shared/mod.rs"]
pub mod shared;
#[path = "shuttle_sync.rs"]
pub(crate) mod sync;

pub(crate) use sched::{Mailbox, TaskId, Wake};
