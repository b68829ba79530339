//! Asks every worker's own thread and waits for the answers.

use engine::state::worker::Worker;
use reactor::{Mailbox, TaskId, Wake};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::AcqRel, Ordering::Acquire};
use stdx::Mutex;

/// How long a busy thread may take to answer, in milliseconds.
const PATIENCE_MS: u32 = 1_000;

/// Answers so far, by thread.
struct Answers<T> {
    given: Mutex<Vec<T>>,
    missing: AtomicUsize,
    mailbox: Arc<Mailbox>,
    task: TaskId,
}

/// One thread's debt: paid when dropped, whether the thread answered or has ended.
struct Debt<T>(Arc<Answers<T>>);

impl<T> Drop for Debt<T> {
    fn drop(&mut self) {
        if self.0.missing.fetch_sub(1, AcqRel) == 1 {
            self.0.mailbox.wake(self.0.task, Wake::MESSAGE);
        }
    }
}

/// The answers of all workers, in the order of their threads. The answer of a worker that does not
/// answer in time is empty.
pub(super) async fn all<T: Default + Send + 'static>(
    worker: &Rc<Worker>,
    ask: impl Fn(&Worker) -> T + Clone + Send + 'static,
) -> Vec<T> {
    some(worker, 0..worker.shared.settings.threads, ask).await
}

/// The answer of one worker, by thread.
pub(super) async fn one<T: Default + Send + 'static>(
    worker: &Rc<Worker>,
    thread: usize,
    ask: impl Fn(&Worker) -> T + Clone + Send + 'static,
) -> T {
    some(worker, thread..thread + 1, ask).await.pop().unwrap_or_default()
}

async fn some<T: Default + Send + 'static>(
    worker: &Rc<Worker>,
    threads: Range<usize>,
    ask: impl Fn(&Worker) -> T + Clone + Send + 'static,
) -> Vec<T> {
    let answers = Arc::new(Answers {
        given: Mutex::new(threads.clone().map(|_| T::default()).collect()),
        missing: AtomicUsize::new(threads.len()),
        mailbox: worker.thread.mailbox().clone(),
        task: worker.thread.scheduler().current(),
    });
    for (place, thread) in threads.enumerate() {
        let (debt, ask) = (Debt(answers.clone()), ask.clone());
        let question = move |asked: &Worker| {
            let answer = ask(asked);
            let mut given = debt.0.given.lock();
            // A late answer is dropped.
            if let Some(place) = given.get_mut(place) {
                *place = answer;
            }
        };
        worker.shared.run_on_thread(thread, Box::new(question));
    }
    let deadline = worker.thread.tick().plus_ms(PATIENCE_MS);
    while answers.missing.load(Acquire) > 0 && !deadline.is_due(worker.thread.tick()) {
        worker.thread.scheduler().wait(Some(deadline)).await;
    }
    std::mem::take(&mut *answers.given.lock())
}
