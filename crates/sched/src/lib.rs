//! Tasks, classes, budgets, timers and wake reasons of one thread.
//! Never names a file descriptor and never reads a clock: time is an argument.
//!
//! Reading order: [`class`] and [`wake`] are the vocabulary, [`scheduler`] the machine, [`queue`]
//! and [`wheel`] its two stores, [`mailbox`] the way in for other threads, [`pause`] how futures
//! wait; [`shared`] is work for more than one thread, [`supply`] what tasks wait for in order;
//! [`activity`] and [`profile`] what operators may see of it.

pub mod activity;
pub mod class;
mod desk;
pub mod mailbox;
pub mod park;
pub mod pause;
pub mod profile;
pub mod queue;
pub mod scheduler;
pub mod shared;
mod slot;
pub mod supply;
mod sync;
pub mod wake;
mod waker;
pub mod wheel;

pub use activity::Activity;
pub use class::Class;
pub use mailbox::{Alarm, Mailbox};
pub use profile::{Clock, Mode as Profiling, Usage};
pub use scheduler::{Queued, Round, Scheduler, Settings, TaskId};
pub use shared::SharedWork;
pub use supply::{Need, Supply, Ticket};
pub use wake::Wake;
