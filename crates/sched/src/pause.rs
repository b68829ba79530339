//! The leaf futures: how a task waits and how it gives way. Never owns what it waits for.

use crate::{Class, Scheduler, Wake};
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};
use stdx::Tick;

/// Waits until the task is woken, for any reason; see [`Scheduler::pause`].
#[derive(Debug)]
pub struct Pause<'a> {
    pub(crate) scheduler: &'a Scheduler,
    pub(crate) deadline: Option<Tick>,
    pub(crate) waiting: bool,
}

impl Future for Pause<'_> {
    type Output = Wake;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Wake> {
        if self.waiting {
            return Poll::Ready(self.scheduler.reasons());
        }
        self.waiting = true;
        self.scheduler.set_deadline(self.deadline);
        Poll::Pending
    }
}

/// Gives way once; see [`Scheduler::yield_as`].
#[derive(Debug)]
pub struct Yield<'a> {
    pub(crate) scheduler: &'a Scheduler,
    pub(crate) class: Class,
    pub(crate) caller: &'static Location<'static>,
    pub(crate) yielded: bool,
}

impl Future for Yield<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.yielded {
            return Poll::Ready(());
        }
        self.yielded = true;
        self.scheduler.requeue_current(self.class, self.caller);
        Poll::Pending
    }
}
