//! The std `Waker` of a task, for futures of other libraries.
//!
//! A waker is borrowed from the stack for the duration of one poll and costs nothing; only a clone
//! of it allocates. A clone works from any thread: through the mailbox, or directly if its own
//! scheduler is running a round on the calling thread.

use super::Scheduler;
use crate::{Mailbox, TaskId, Wake};
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::Arc;
use std::task::{RawWaker, RawWakerVTable, Waker};

/// Data of a borrowed waker. The waker lives on the stack of the poll.
pub(crate) struct BorrowedWaker<'a> {
    pub(crate) mailbox: &'a Arc<Mailbox>,
    pub(crate) id: TaskId,
}

struct OwnedWaker {
    mailbox: Arc<Mailbox>,
    id: TaskId,
}

impl std::task::Wake for OwnedWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !CurrentScheduler::wake(&self.mailbox, self.id) {
            self.mailbox.wake(self.id, Wake::OTHER);
        }
    }
}

thread_local! {
    /// The scheduler that runs a round on this thread.
    static PRESENT: Cell<*const Scheduler> = const { Cell::new(ptr::null()) };
}

/// An address that identifies the calling thread while it lives; cheaper than a `ThreadId`.
pub(crate) fn thread_address() -> usize {
    PRESENT.with(|cell| ptr::from_ref(cell).addr())
}

/// Registers the scheduler that runs on this thread, for the duration of a round.
pub(crate) struct CurrentScheduler<'a> {
    before: *const Scheduler,
    _scheduler: &'a Scheduler,
}

impl<'a> CurrentScheduler<'a> {
    pub(crate) fn of(scheduler: &'a Scheduler) -> Self {
        let before = PRESENT.replace(scheduler);
        Self { before, _scheduler: scheduler }
    }

    /// Wakes a task directly if its scheduler runs on this thread. `false`: it runs on another
    /// thread.
    fn wake(mailbox: &Arc<Mailbox>, id: TaskId) -> bool {
        let present = PRESENT.get();
        // SAFETY: the pointer was taken from a reference that outlives its `CurrentScheduler`,
        // whose drop takes the pointer back, and both stay on this thread.
        let Some(scheduler) = (unsafe { present.as_ref() }) else { return false };
        let own = Arc::ptr_eq(scheduler.mailbox(), mailbox);
        if own {
            scheduler.wake(id, Wake::OTHER);
        }
        own
    }
}

impl Drop for CurrentScheduler<'_> {
    fn drop(&mut self) {
        PRESENT.set(self.before);
    }
}

static TABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake, |_| {});

/// Runs `poll` with a waker for the task.
#[inline]
pub(crate) fn with_waker<R>(borrowed: &BorrowedWaker<'_>, poll: impl FnOnce(&Waker) -> R) -> R {
    let data = ptr::from_ref(borrowed).cast();
    // SAFETY: the table's functions read `data` as a `BorrowedWaker` that is alive: the waker does
    // not leave this function except as a clone, and a clone owns its state. Dropping the borrowed
    // waker is free.
    let waker = ManuallyDrop::new(unsafe { Waker::new(data, &TABLE) });
    poll(&waker)
}

fn clone(data: *const ()) -> RawWaker {
    // SAFETY: `data` comes from `with_waker`, whose borrow outlives every use of the borrowed
    // waker.
    let borrowed = unsafe { &*data.cast::<BorrowedWaker<'_>>() };
    let owned = OwnedWaker { mailbox: borrowed.mailbox.clone(), id: borrowed.id };
    let waker = ManuallyDrop::new(Waker::from(Arc::new(owned)));
    RawWaker::new(waker.data(), waker.vtable())
}

fn wake(data: *const ()) {
    // SAFETY: as in `clone`.
    let borrowed = unsafe { &*data.cast::<BorrowedWaker<'_>>() };
    if !CurrentScheduler::wake(borrowed.mailbox, borrowed.id) {
        borrowed.mailbox.wake(borrowed.id, Wake::OTHER);
    }
}
