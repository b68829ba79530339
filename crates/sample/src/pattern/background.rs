//! A thread that compiles and frees large layers of patterns, so that no look-up and no change
//! waits for it.

use super::dictionary::Dictionary;
use std::any::Any;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

/// Time for which the thread waits until readers of the memory that it frees have finished.
const GRACE: Duration = Duration::from_millis(10);

/// Called on the thread when it begins.
static BEGIN: OnceLock<fn()> = OnceLock::new();
static SENDER: OnceLock<Option<Sender<Job>>> = OnceLock::new();

/// Memory that is freed once its last reader has dropped it.
pub(super) type Waste = Arc<dyn Any + Send + Sync>;

enum Job {
    Tidy(Weak<Dictionary>),
    Free(Vec<Waste>),
}

/// Sets the function that the thread calls first, which lowers its priority.
pub fn set_background_priority(begin: fn()) {
    // A second caller means the same.
    let _ = BEGIN.set(begin);
}

/// Has the layers of a dictionary merged.
pub(super) fn tidy(dictionary: Weak<Dictionary>) {
    if let Err(Job::Tidy(dictionary)) = submit(Job::Tidy(dictionary)) {
        dictionary.upgrade().iter().for_each(|dictionary| dictionary.tidy());
    }
}

/// Frees memory once no reader uses it.
pub(super) fn free(waste: Vec<Waste>) {
    if !waste.is_empty() {
        // Without a thread it is freed here.
        let _ = submit(Job::Free(waste));
    }
}

/// Hands a job over; gives it back when there is no thread.
fn submit(job: Job) -> Result<(), Job> {
    let sender = SENDER.get_or_init(|| {
        let (sender, jobs) = channel();
        let thread = std::thread::Builder::new().name("patterns".into());
        thread.spawn(move || serve(&jobs)).ok().map(|_| sender)
    });
    match sender {
        Some(sender) => sender.send(job).map_err(|unsent| unsent.0),
        None => Err(job),
    }
}

fn serve(jobs: &Receiver<Job>) {
    BEGIN.get().iter().for_each(|begin| begin());
    let mut waste: Vec<Waste> = Vec::new();
    loop {
        let job = match waste.is_empty() {
            true => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
            false => jobs.recv_timeout(GRACE),
        };
        match job {
            Ok(Job::Tidy(dictionary)) => {
                dictionary.upgrade().iter().for_each(|dictionary| dictionary.tidy());
            }
            Ok(Job::Free(more)) => waste.extend(more),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        waste.retain(|waste| Arc::strong_count(waste) > 1);
    }
}
