//! One thread's event loop: expire timers, run tasks, poll the kernel; and the trait `Kernel`.
#![forbid(unsafe_code)]

pub mod child;
mod clock_correction;
mod datagrams;
pub mod heartbeat;
pub mod kernel;
pub mod os;
mod pacer;
pub mod pipe;
pub mod probe_connection;
#[cfg(test)]
mod scripted_kernel;
pub mod thread;
pub mod throughput;
pub mod watchdog;

pub use child::ChildProgram;
pub use clock_correction::ClockCorrection;
pub use heartbeat::Heartbeat;
pub use kernel::{
    Address, Arrived, Event, ExitStatus, Handle, Kernel, Program, UdpBatch, UdpTrain, Watch,
};
pub use pacer::Pacer;
pub use pipe::Pipe;
pub use probe_connection::ProbeConnection;
pub use sched::activity::{Activity, Counter};
pub use sched::profile::{Entry as ProfileEntry, Totals as ProfileTotals};
pub use sched::{
    Class, FairSemaphore, Mailbox, Profiling, QueuedTasks, Scheduler,
    Settings as SchedulerSettings, TaskId, Urgency, WaitTicket, Wake,
};
pub use stdx::Tick;
pub use stdx::socket::{KeepAlive, SystemBuffers};
pub use sys::namespace::Namespace;
pub use sys::socket::{ConnectOptions, TcpInfo};
pub use sys::threads::Threads;
pub use thread::socket::{Listener, Socket};
pub use thread::{Settings, Thread, WatchedDescriptor};
pub use throughput::Throughput;
pub use watchdog::Watchdog;
