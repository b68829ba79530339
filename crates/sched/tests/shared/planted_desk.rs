//! The desk without the last check of the hatch.

use super::sync::{Mutex, lock, try_lock};

#[derive(Debug)]
pub(crate) struct Desk<Q, M> {
    inside: Mutex<Q>,
    hatch: Mutex<Vec<M>>,
}

impl<Q, M> Desk<Q, M> {
    pub(crate) fn new(value: Q) -> Self {
        Self { inside: Mutex::new(value), hatch: Mutex::new(Vec::new()) }
    }

    pub(crate) fn hand_in(&self, message: M, take: impl Fn(&mut Q, M)) {
        lock(&self.hatch).push(message);
        self.enter(take, |_| ());
    }

    pub(crate) fn enter<R>(
        &self,
        take: impl Fn(&mut Q, M),
        work: impl FnOnce(&mut Q) -> R,
    ) -> Option<R> {
        let mut inside = try_lock(&self.inside)?;
        let messages = std::mem::take(&mut *lock(&self.hatch));
        messages.into_iter().for_each(|message| take(&mut inside, message));
        Some(work(&mut inside))
    }

    /// Messages waiting in the hatch.
    pub(crate) fn backlog(&self) -> usize {
        lock(&self.hatch).len()
    }
}
