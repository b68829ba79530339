//! The pool of transaction futures: pinned places that are refilled without allocating.

use pin_project_lite::pin_project;
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use stdx::prefetch;

/// A place for one future, refilled from its arguments.
trait Refill<A, O> {
    fn refill(self: Pin<&mut Self>, arguments: A);
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<O>;
    fn clear(self: Pin<&mut Self>);
}

pin_project! {
    struct FutureSlot<F, M> {
        #[pin]
        future: Option<F>,
        make: M,
    }
}

impl<A, O, F: Future<Output = O>, M: Fn(A) -> F> Refill<A, O> for FutureSlot<F, M> {
    fn refill(self: Pin<&mut Self>, arguments: A) {
        let mut place = self.project();
        let future = (place.make)(arguments);
        place.future.set(Some(future));
    }

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<O> {
        match self.project().future.as_pin_mut() {
            Some(future) => future.poll(context),
            // Only reached if polled after the end, which `Seated` never does.
            None => Poll::Pending,
        }
    }

    fn clear(self: Pin<&mut Self>) {
        self.project().future.set(None);
    }
}

type Seat<A, O> = Pin<Box<dyn Refill<A, O>>>;

/// A thread's free places. `A` are the arguments of the future, `O` is its output.
pub struct SeatPool<A, O>(RefCell<Vec<Seat<A, O>>>);

impl<A, O> Default for SeatPool<A, O> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

/// Free places kept: some thousand requests may be under way at once, and as many begin and end
/// within a few turns.
const KEEP: usize = 1_024;

impl<A: 'static, O: 'static> SeatPool<A, O> {
    /// Frees the places that are kept.
    pub fn trim(&self) {
        self.0.take();
    }

    /// Runs `make(arguments)` in a free place, or in a new one.
    pub fn run<F, M>(&self, make: M, arguments: A) -> Seated<'_, A, O>
    where
        F: Future<Output = O> + 'static,
        M: Fn(A) -> F + 'static,
    {
        let free = self.0.borrow_mut().pop();
        let mut seat = free.unwrap_or_else(|| Box::pin(FutureSlot { future: None, make }));
        seat.as_mut().refill(arguments);
        Seated { seat: Some(seat), pool: self }
    }
}

/// A future in its place; gives the place back when it ends or is dropped.
pub struct Seated<'a, A, O> {
    seat: Option<Seat<A, O>>,
    pool: &'a SeatPool<A, O>,
}

impl<A, O> Future for Seated<'_, A, O> {
    type Output = O;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<O> {
        match &mut self.seat {
            Some(seat) => {
                prefetch::prefetch(&**seat);
                seat.as_mut().poll(context)
            }
            None => Poll::Pending,
        }
    }
}

impl<A, O> Drop for Seated<'_, A, O> {
    fn drop(&mut self) {
        let Some(mut seat) = self.seat.take() else { return };
        seat.as_mut().clear();
        let mut free = self.pool.0.borrow_mut();
        if free.len() < KEEP {
            free.push(seat);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    async fn double(number: u32) -> u32 {
        std::future::ready(()).await;
        number * 2
    }

    #[test]
    fn places_are_refilled() {
        let pool: SeatPool<u32, u32> = SeatPool::default();
        let mut context = Context::from_waker(Waker::noop());
        for number in 0..10 {
            let mut running = std::pin::pin!(pool.run(double, number));
            assert_eq!(running.as_mut().poll(&mut context), Poll::Ready(number * 2));
        }
        assert!(pool.0.borrow().len() <= 10);
        drop(pool.run(double, 1));
        assert!(!pool.0.borrow().is_empty(), "a cancelled future gives its place back");
    }
}
