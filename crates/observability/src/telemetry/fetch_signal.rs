//! The signal that a fetch has ended, from the thread that ends it to a request that waits.

use cache::fetches::Waiter;
use reactor::Thread;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};
use stdx::{Mutex, Tick};

/// A fetch that runs on behalf of one waiting request.
#[derive(Clone, Debug)]
pub(crate) struct FetchSignal(Arc<Signal>);

#[derive(Debug)]
struct Signal {
    has_ended: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl FetchSignal {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Signal { has_ended: AtomicBool::new(false), waker: Mutex::new(None) }))
    }

    /// Called at the end of the fetch, on any thread.
    pub(crate) fn waiter(&self) -> Waiter {
        let signal = self.0.clone();
        Box::new(move || {
            signal.has_ended.store(true, Ordering::Release);
            let waker = signal.waker.lock().take();
            if let Some(waker) = waker {
                waker.wake();
            }
        })
    }

    /// Waits for the end of the fetch, until `deadline` at the latest.
    pub(crate) async fn wait(&self, thread: &Thread, deadline: Tick) {
        poll_fn(|context| {
            *self.0.waker.lock() = Some(context.waker().clone());
            Poll::Ready(())
        })
        .await;
        while !self.0.has_ended.load(Ordering::Acquire) && !deadline.is_due(thread.tick()) {
            thread.scheduler().wait(Some(deadline)).await;
        }
    }
}
