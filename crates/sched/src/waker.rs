//! The std `Waker` of a task, for futures that are not ours. Never used by our own primitives.
//!
//! A waker is borrowed from the stack for the length of one poll and costs nothing; only a clone of
//! it allocates, and from then on wakes through the mailbox, from any thread.

use crate::{Mailbox, TaskId, Wake};
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::task::{RawWaker, RawWakerVTable, Waker};

/// What a borrowed waker points to. Lives on the stack of the poll.
pub(crate) struct Borrowed<'a> {
    pub(crate) mailbox: &'a Arc<Mailbox>,
    pub(crate) id: TaskId,
}

struct Owned {
    mailbox: Arc<Mailbox>,
    id: TaskId,
}

impl std::task::Wake for Owned {
    fn wake(self: Arc<Self>) {
        self.mailbox.wake(self.id, Wake::OTHER);
    }
}

static TABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake, |_| {});

/// Runs `poll` with a waker for the task.
pub(crate) fn with_waker<R>(borrowed: &Borrowed<'_>, poll: impl FnOnce(&Waker) -> R) -> R {
    let data = std::ptr::from_ref(borrowed).cast();
    // SAFETY: the table's functions read `data` as a `Borrowed` that is alive: the waker does not
    // leave this function except as a clone, and a clone owns its state. Dropping the borrowed
    // waker is free.
    let waker = ManuallyDrop::new(unsafe { Waker::new(data, &TABLE) });
    poll(&waker)
}

fn clone(data: *const ()) -> RawWaker {
    // SAFETY: `data` comes from `with_waker`, whose borrow outlives every use of the borrowed
    // waker.
    let borrowed = unsafe { &*data.cast::<Borrowed<'_>>() };
    let owned = Owned { mailbox: borrowed.mailbox.clone(), id: borrowed.id };
    let waker = ManuallyDrop::new(Waker::from(Arc::new(owned)));
    RawWaker::new(waker.data(), waker.vtable())
}

fn wake(data: *const ()) {
    // SAFETY: as in `clone`.
    let borrowed = unsafe { &*data.cast::<Borrowed<'_>>() };
    borrowed.mailbox.wake(borrowed.id, Wake::OTHER);
}
