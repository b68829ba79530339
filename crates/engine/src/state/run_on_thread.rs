//! Questions that only a worker's own thread can answer, such as what its streams do.

use crate::state::runtime::Shared;
use crate::state::worker::Worker;
use std::sync::PoisonError;

/// Something to be run on a worker's thread.
pub type Question = Box<dyn FnOnce(&Worker) + Send>;

impl Shared {
    /// Has `question` run on a worker's thread, soon. It is dropped if that thread has ended.
    pub fn ask(&self, thread: usize, question: Question) {
        if let Some(queue) = self.questions.get(thread) {
            queue.lock().unwrap_or_else(PoisonError::into_inner).push(question);
            self.rouse_one(thread);
        }
    }

    /// Takes what a thread has to run.
    pub fn take_questions(&self, thread: usize) -> Vec<Question> {
        std::mem::take(&mut *self.questions[thread].lock().unwrap_or_else(PoisonError::into_inner))
    }
}
