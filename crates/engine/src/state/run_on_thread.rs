//! Closures that run on a worker's own thread, for questions that it alone can answer, such as the
//! state of its streams.

use crate::state::runtime::Shared;
use crate::state::worker::Worker;

/// A closure that runs on a worker's thread.
pub type ThreadClosure = Box<dyn FnOnce(&Worker) + Send>;

impl Shared {
    /// Has `question` run on a worker's thread, soon. The closure is dropped if that thread has
    /// ended.
    pub fn run_on_thread(&self, thread: usize, question: ThreadClosure) {
        if let Some(queue) = self.questions.get(thread) {
            queue.lock().push(question);
            self.wake_thread(thread);
        }
    }

    /// Takes the closures that a thread has to run.
    pub fn take_questions(&self, thread: usize) -> Vec<ThreadClosure> {
        std::mem::take(&mut *self.questions[thread].lock())
    }
}
