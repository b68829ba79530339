//! Answers of all threads for an answer that is made in pieces.

use engine::state::worker::Worker;
use std::sync::Arc;
use stdx::Mutex;

/// How long a busy thread may take to answer, in milliseconds.
const PATIENCE_MS: u64 = 1_000;

/// An answer per thread; `None` for a thread that has given none.
type ThreadAnswers<T> = Arc<Mutex<Vec<Option<T>>>>;

/// A question to all threads.
pub(super) struct Gather<T> {
    answers: ThreadAnswers<T>,
    /// Which threads run.
    asked: Vec<bool>,
    until: u64,
}

impl<T: Send + 'static> Gather<T> {
    /// Asks all threads that run.
    pub(super) fn begin(
        worker: &Worker,
        ask: impl Fn(&Worker) -> T + Clone + Send + 'static,
    ) -> Self {
        let (shared, own) = (&worker.shared, worker.thread.index);
        let threads = 0..shared.settings.threads;
        let answers: ThreadAnswers<T> =
            Arc::new(Mutex::new(threads.clone().map(|_| None).collect()));
        let runs = |thread: usize| thread == own || shared.heartbeat(thread).is_some();
        let asked: Vec<bool> = threads.map(runs).collect();
        for (thread, _) in asked.iter().enumerate().filter(|(_, runs)| **runs) {
            let (answers, ask) = (answers.clone(), ask.clone());
            let question = move |asked: &Worker| {
                let answer = ask(asked);
                if let Some(place) = answers.lock().get_mut(thread) {
                    *place = Some(answer);
                }
            };
            match thread == own {
                true => question(worker),
                false => shared.run_on_thread(thread, Box::new(question)),
            }
        }
        Self { answers, asked, until: worker.millis() + PATIENCE_MS }
    }

    /// All answers, once no thread is missing or none is waited for any longer.
    pub(super) fn answers(&self, worker: &Worker) -> Option<Vec<Option<T>>> {
        let mut answers = self.answers.lock();
        let missing =
            answers.iter().zip(&self.asked).any(|(answer, asked)| answer.is_none() && *asked);
        let waits = missing && worker.millis() < self.until;
        (!waits).then(|| std::mem::take(&mut *answers))
    }
}
