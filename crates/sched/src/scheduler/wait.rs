//! The two leaf futures of tasks: waiting for a wake-up, and yielding.

use super::Scheduler;
use crate::{Class, Wake};
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};
use stdx::Tick;

/// Waits until the task is woken, for any reason; see [`Scheduler::wait`].
#[derive(Debug)]
pub struct Wait<'a> {
    scheduler: &'a Scheduler,
    /// The deadline as one word, because a word that is written in halves and read whole stalls the
    /// processor (store forwarding fails), and this one is read at each pause.
    deadline: u64,
    waiting: bool,
}

/// The bit of `deadline` that marks it as set.
const SOME: u64 = 1 << 32;

impl<'a> Wait<'a> {
    #[inline]
    pub(crate) fn new(scheduler: &'a Scheduler, deadline: Option<Tick>) -> Self {
        let deadline = deadline.map_or(0, |tick| SOME | u64::from(tick.0));
        Self { scheduler, deadline, waiting: false }
    }
}

impl Future for Wait<'_> {
    type Output = Wake;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Wake> {
        if self.waiting {
            return Poll::Ready(self.scheduler.reasons());
        }
        self.waiting = true;
        let deadline = (self.deadline & SOME != 0).then_some(Tick(self.deadline as u32));
        self.scheduler.set_deadline(deadline);
        Poll::Pending
    }
}

/// Yields once; see [`Scheduler::yield_as`].
#[derive(Debug)]
pub struct Yield<'a> {
    pub(crate) scheduler: &'a Scheduler,
    pub(crate) class: Class,
    pub(crate) caller: &'static Location<'static>,
    pub(crate) yielded: bool,
}

impl Future for Yield<'_> {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.yielded {
            return Poll::Ready(());
        }
        self.yielded = true;
        self.scheduler.requeue_current(self.class, self.caller);
        Poll::Pending
    }
}
