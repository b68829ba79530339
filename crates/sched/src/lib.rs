//! Tasks, classes, budgets, timers and wake reasons of one thread.
//! Never names a file descriptor and never reads a clock: time is an argument.
//!
//! Reading order: [`class`] and [`wake`] are the vocabulary, [`scheduler`] the machine, [`queue`]
//! and [`wheel`] its two stores, [`mailbox`] the way in for other threads, [`pause`] how futures
//! wait; [`activity`] and [`profile`] what operators may see of it.

pub mod activity;
pub mod class;
pub mod mailbox;
pub mod park;
pub mod pause;
pub mod profile;
pub mod queue;
pub mod scheduler;
mod slot;
/// The atomics of [`park`]; a model compiles that file with others.
mod sync {
    pub(crate) use std::sync::atomic::{AtomicBool, Ordering, fence};
}
pub mod wake;
mod waker;
pub mod wheel;

pub use activity::Activity;
pub use class::Class;
pub use mailbox::{Alarm, Mailbox};
pub use profile::{Clock, Mode as Profiling};
pub use scheduler::{Queued, Round, Scheduler, Settings, TaskId};
pub use wake::Wake;
