//! One thread's event loop: expire timers, run tasks, poll the kernel; and the trait `Kernel`.
#![forbid(unsafe_code)]

pub mod child;
mod datagrams;
pub mod errand;
pub mod kernel;
pub mod os;
mod outgoing;
mod pace;
pub mod pipe;
pub mod pulse;
#[cfg(test)]
mod script;
pub mod socket;
pub mod thread;
pub mod throughput;
mod timekeeper;
pub mod watchdog;

pub use child::Child;
pub use errand::Errand;
pub use kernel::{Address, Event, ExitStatus, Handle, Kernel, Program, Watch};
pub use pace::Pace;
pub use pipe::Pipe;
pub use pulse::Pulse;
pub use sched::activity::{Activity, Counter};
pub use sched::profile::{Entry as ProfileEntry, Totals as ProfileTotals};
pub use sched::{
    Class, FairSemaphore, Mailbox, Profiling, QueuedTasks, Scheduler,
    Settings as SchedulerSettings, TaskId, Urgency, WaitTicket, Wake,
};
pub use socket::{Listener, Socket};
pub use stdx::Tick;
pub use sys::namespace::Namespace;
pub use sys::option::{Buffers as SystemBuffers, KeepAlive};
pub use sys::socket::{ConnectOptions, TcpInfo};
pub use sys::threads::Threads;
pub use thread::{Settings, Thread, Watched};
pub use throughput::Throughput;
pub use timekeeper::Timekeeper;
pub use watchdog::Watchdog;
