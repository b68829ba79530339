//! Shared work with a bug: who leaves the desk does not look at the hatch again.
//! Never part of the product.
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
