//! Something behind a lock that nobody queues for. Never loses what is handed in meanwhile.
//!
//! Who finds it taken goes on with other things. What must not be refused is handed in through a
//! hatch, a second lock that is only ever held for one push or one swap: whoever is inside takes
//! it in. Protocol: who hands in pushes, then tries the door; who leaves opens the door, then looks
//! at the hatch once more. If the door was closed to the one, its push came before the other's last
//! look, since both go through the hatch's lock; so one of the two sees to it.

use super::sync::{Mutex, lock, try_lock};

/// A value and a hatch for messages to it.
#[derive(Debug)]
pub(crate) struct Desk<Q, M> {
    inside: Mutex<Q>,
    hatch: Mutex<Vec<M>>,
}

impl<Q, M> Desk<Q, M> {
    pub(crate) fn new(value: Q) -> Self {
        Self { inside: Mutex::new(value), hatch: Mutex::new(Vec::new()) }
    }

    /// Hands a message in; it is taken in by `take`, here or by whoever is inside.
    pub(crate) fn hand_in(&self, message: M, take: impl Fn(&mut Q, M)) {
        lock(&self.hatch).push(message);
        self.serve_hatch(&take);
    }

    /// Does something inside, after all messages that wait. `None`: somebody else is inside.
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

    /// Takes in what waits, unless somebody is inside, who will; looks again after leaving.
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

    /// Messages that wait in the hatch.
    pub(crate) fn backlog(&self) -> usize {
        lock(&self.hatch).len()
    }
}
