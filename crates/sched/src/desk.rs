//! A value behind a lock that threads only try to take, with a side queue for messages to it.
//!
//! A thread that finds the lock taken does not wait. It pushes its message into the hatch, a second
//! lock held for one push or one swap only, and the lock's holder applies it. Protocol: a sender
//! pushes, then tries the lock; a holder unlocks, then checks the hatch once more. If the sender
//! finds the lock taken, its push precedes the holder's last check, because both go through the
//! hatch's lock. So one of the two applies the message.

use super::sync::{Mutex, lock, try_lock};

/// A value, and messages that wait to be applied to it.
#[derive(Debug)]
pub(crate) struct Desk<Q, M> {
    inside: Mutex<Q>,
    hatch: Mutex<Vec<M>>,
}

impl<Q, M> Desk<Q, M> {
    pub(crate) fn new(value: Q) -> Self {
        Self { inside: Mutex::new(value), hatch: Mutex::new(Vec::new()) }
    }

    /// Sends a message; this thread applies it with `take`, or the thread that holds the lock does.
    pub(crate) fn hand_in(&self, message: M, take: impl Fn(&mut Q, M)) {
        lock(&self.hatch).push(message);
        self.serve_hatch(&take);
    }

    /// Applies all waiting messages, then runs `work`. `None`: another thread holds the lock.
    pub(crate) fn enter<R>(
        &self,
        take: impl Fn(&mut Q, M),
        work: impl FnOnce(&mut Q) -> R,
    ) -> Option<R> {
        let mut inside = try_lock(&self.inside)?;
        self.take_in(&mut inside, &take);
        let result = work(&mut inside);
        drop(inside);
        self.serve_hatch(&take);
        Some(result)
    }

    /// Applies waiting messages unless another thread holds the lock and will do it; checks again
    /// after unlocking.
    fn serve_hatch(&self, take: &impl Fn(&mut Q, M)) {
        while !lock(&self.hatch).is_empty() {
            let Some(mut inside) = try_lock(&self.inside) else { return };
            self.take_in(&mut inside, take);
        }
    }

    fn take_in(&self, inside: &mut Q, take: &impl Fn(&mut Q, M)) {
        let messages = std::mem::take(&mut *lock(&self.hatch));
        messages.into_iter().for_each(|message| take(inside, message));
    }

    /// Messages waiting in the hatch.
    pub(crate) fn backlog(&self) -> usize {
        lock(&self.hatch).len()
    }
}
