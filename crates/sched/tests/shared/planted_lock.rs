//! The lock without the last check of its messages.

use super::sync::{Mutex, lock, try_lock};

#[derive(Debug)]
pub(crate) struct DelegatingLock<Q, M> {
    value: Mutex<Q>,
    messages: Mutex<Vec<M>>,
}

impl<Q, M> DelegatingLock<Q, M> {
    pub(crate) fn new(value: Q) -> Self {
        Self { value: Mutex::new(value), messages: Mutex::new(Vec::new()) }
    }

    pub(crate) fn delegate(&self, message: M, take: impl Fn(&mut Q, M)) {
        lock(&self.messages).push(message);
        self.try_with(take, |_| ());
    }

    pub(crate) fn try_with<R>(
        &self,
        take: impl Fn(&mut Q, M),
        work: impl FnOnce(&mut Q) -> R,
    ) -> Option<R> {
        let mut inside = try_lock(&self.value)?;
        let messages = std::mem::take(&mut *lock(&self.messages));
        messages.into_iter().for_each(|message| take(&mut inside, message));
        Some(work(&mut inside))
    }

    /// Messages that wait.
    pub(crate) fn backlog(&self) -> usize {
        lock(&self.messages).len()
    }
}
