//! Tasks, classes, budgets, timers and wake reasons of one thread.
//!
//! Invariant: this crate names no file descriptor and reads no clock; time is an argument.
//!
//! Reading order: [`class`] and [`wake`] define the terms, [`scheduler`] runs tasks and has the
//! futures that they await, [`queue`] and
//! [`wheel`] hold what is queued and timed, [`mailbox`] takes wake-ups from other threads,
//! [`shared`] is work for a set of threads,
//! [`fair_semaphore`] a fair semaphore, [`activity`] and [`profile`] are the counters and times
//! that operators see.

pub mod activity;
pub mod class;
mod delegating_lock;
pub mod fair_semaphore;
pub mod mailbox;
pub mod park;
pub mod profile;
pub mod queue;
pub mod scheduler;
pub mod shared;
mod slot;
mod sync;
pub mod task_id;
pub mod wake;
pub mod wheel;

pub use activity::Activity;
pub use class::Class;
pub use fair_semaphore::{FairSemaphore, Urgency, WaitTicket};
pub use mailbox::{Alarm, Mailbox, NoAlarm};
pub use profile::{Clock, Mode as Profiling, Usage};
pub use scheduler::{QueuedTasks, Round, Scheduler, Settings};
pub use shared::SharedWork;
pub use task_id::TaskId;
pub use wake::Wake;
