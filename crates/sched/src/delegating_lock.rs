//! A value behind a lock that threads only try to take, with a side queue for messages to it.
//!
//! A thread that finds the lock taken does not wait. It pushes its message into a list under a
//! second lock held for one push or one swap only, and the lock's holder applies it. Protocol: a
//! sender pushes, then tries the lock; a holder unlocks, then checks the list once more. If the
//! sender finds the lock taken, its push precedes the holder's last check, because both go through
//! the list's lock. So one of the two applies the message.

use super::sync::{Mutex, lock, try_lock};

/// A value, and messages that wait to be applied to it.
#[derive(Debug)]
pub(crate) struct DelegatingLock<Q, M> {
    value: Mutex<Q>,
    messages: Mutex<Vec<M>>,
}

impl<Q, M> DelegatingLock<Q, M> {
    pub(crate) fn new(value: Q) -> Self {
        Self { value: Mutex::new(value), messages: Mutex::new(Vec::new()) }
    }

    /// Sends a message; this thread applies it with `take`, or the thread that holds the lock does.
    pub(crate) fn delegate(&self, message: M, take: impl Fn(&mut Q, M)) {
        lock(&self.messages).push(message);
        self.apply_waiting(&take);
    }

    /// Applies all waiting messages, then runs `work`. `None`: another thread holds the lock.
    pub(crate) fn try_with<R>(
        &self,
        take: impl Fn(&mut Q, M),
        work: impl FnOnce(&mut Q) -> R,
    ) -> Option<R> {
        let mut inside = try_lock(&self.value)?;
        self.apply_all(&mut inside, &take);
        let result = work(&mut inside);
        drop(inside);
        self.apply_waiting(&take);
        Some(result)
    }

    /// Applies waiting messages unless another thread holds the lock and will do it; checks again
    /// after unlocking.
    fn apply_waiting(&self, take: &impl Fn(&mut Q, M)) {
        while !lock(&self.messages).is_empty() {
            let Some(mut inside) = try_lock(&self.value) else { return };
            self.apply_all(&mut inside, take);
        }
    }

    fn apply_all(&self, inside: &mut Q, take: &impl Fn(&mut Q, M)) {
        let messages = std::mem::take(&mut *lock(&self.messages));
        messages.into_iter().for_each(|message| take(inside, message));
    }

    /// Messages that wait.
    pub(crate) fn backlog(&self) -> usize {
        lock(&self.messages).len()
    }
}
