//! Processors that this process may use, and the binding of threads to them.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// Processors that this process may run on, in order.
pub fn available() -> Vec<usize> {
    match sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect(),
        Err(_) => vec![0],
    }
}

/// Binds the calling thread to these processors.
///
/// # Errors
/// No CPU of the list exists and is allowed.
pub fn bind_thread(cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for cpu in cpus.iter().filter(|cpu| **cpu < CpuSet::MAX_CPU) {
        set.set(*cpu);
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// The kernel's id of the calling thread.
pub fn thread_id() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}
