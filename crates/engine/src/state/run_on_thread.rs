//! Closures that run on a worker's own thread, for questions that it alone can answer, such as the
//! state of its streams.

use crate::state::runtime::Shared;
use crate::state::worker::Worker;

/// A closure that runs on a worker's thread.
pub type Question = Box<dyn FnOnce(&Worker) + Send>;

impl Shared {
    /// Has `question` run on a worker's thread, soon. It is dropped if that thread has ended.
    pub fn ask(&self, thread: usize, question: Question) {
        if let Some(queue) = self.questions.get(thread) {
            queue.lock().push(question);
            self.rouse_one(thread);
        }
    }

    /// Takes the closures that a thread has to run.
    pub fn take_questions(&self, thread: usize) -> Vec<Question> {
        std::mem::take(&mut *self.questions[thread].lock())
    }
}
