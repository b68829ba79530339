//! Asks every worker's own thread and waits for the answers. Never blocks a thread.

use crate::settings::Settings;
use proxy::Worker;
use reactor::{Mailbox, TaskId, Wake};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::AcqRel, Ordering::Acquire};
use std::sync::{Arc, Mutex, PoisonError};

/// How long a busy thread may take to answer, in milliseconds.
const PATIENCE_MS: u32 = 1_000;

/// Answers so far, by thread.
struct Answers {
    texts: Mutex<Vec<String>>,
    missing: AtomicUsize,
    mailbox: Arc<Mailbox>,
    task: TaskId,
}

/// One thread's debt: paid when dropped, whether the thread answered or has ended.
struct Debt(Arc<Answers>);

impl Drop for Debt {
    fn drop(&mut self) {
        if self.0.missing.fetch_sub(1, AcqRel) == 1 {
            self.0.mailbox.wake(self.0.task, Wake::MESSAGE);
        }
    }
}

/// What all workers say, in the order of their threads. One that does not answer in time is left
/// out.
pub(super) async fn all(
    worker: &Rc<Worker>,
    settings: &Arc<Settings>,
    say: fn(&Worker, &Settings, &mut String),
) -> String {
    let threads = worker.shared.settings.threads;
    let answers = Arc::new(Answers {
        texts: Mutex::new(vec![String::new(); threads]),
        missing: AtomicUsize::new(threads),
        mailbox: worker.thread.mailbox().clone(),
        task: worker.thread.scheduler().current(),
    });
    for thread in 0..threads {
        let (debt, settings) = (Debt(answers.clone()), settings.clone());
        let question = move |asked: &Worker| {
            let mut text = String::new();
            say(asked, &settings, &mut text);
            let mut texts = debt.0.texts.lock().unwrap_or_else(PoisonError::into_inner);
            texts[thread] = text;
        };
        worker.shared.ask(thread, Box::new(question));
    }
    let deadline = worker.thread.tick().plus_ms(PATIENCE_MS);
    while answers.missing.load(Acquire) > 0 && !deadline.is_due(worker.thread.tick()) {
        worker.thread.scheduler().pause(Some(deadline)).await;
    }
    answers.texts.lock().unwrap_or_else(PoisonError::into_inner).concat()
}
