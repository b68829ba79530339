//! Payload that a task keeps in memory of its own for a script, within the memory budget.

use crate::state::worker::Worker;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use transport::thread::memory::{Admission, PERIOD_MS};

/// The message for a script that asks for more payload than memory allows.
pub const SHORT: &str = "memory is short";

/// Memory is short, and the task holds more than a small request does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryShort;

/// Waits until the budget admits an allocation of `more` bytes beside the `held` ones.
///
/// # Errors
/// The memory is not available.
pub async fn admit(worker: &Worker, held: usize, more: usize) -> Result<(), MemoryShort> {
    loop {
        match worker.shared.memory.admits_payload(&worker.share, held, more) {
            Admission::Now => return Ok(()),
            Admission::Refused => return Err(MemoryShort),
            Admission::Later => {
                let thread = &worker.thread;
                thread.scheduler().wait(Some(thread.tick().plus_ms(PERIOD_MS))).await;
            }
        }
    }
}

/// Makes room for `more` bytes behind the payload. A larger vector is a new allocation beside the
/// old one.
///
/// # Errors
/// The memory is not available.
pub async fn grow(worker: &Worker, kept: &mut Vec<u8>, more: usize) -> Result<(), MemoryShort> {
    let len = kept.len();
    if len + more <= kept.capacity() {
        return Ok(());
    }
    let more = more.max(len / 2);
    admit(worker, len, len + more).await?;
    kept.reserve_exact(more);
    Ok(())
}

/// Waits for the peer of a task that keeps `held` bytes.
///
/// # Errors
/// Memory has become short meanwhile.
pub async fn wait<T>(
    worker: &Worker,
    held: usize,
    peer: impl Future<Output = T>,
) -> Result<T, MemoryShort> {
    let mut peer = pin!(peer);
    // All tasks of a thread are woken when memory becomes short.
    poll_fn(|context| match peer.as_mut().poll(context) {
        Poll::Ready(result) => Poll::Ready(Ok(result)),
        Poll::Pending if worker.shared.memory.ends_payload(held) => Poll::Ready(Err(MemoryShort)),
        Poll::Pending => Poll::Pending,
    })
    .await
}
