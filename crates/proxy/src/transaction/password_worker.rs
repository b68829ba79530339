//! Passwords whose hashes take milliseconds: verified on a thread beside, while the transaction waits. Never on the
//! thread that serves, unless somebody asks who cannot wait: a response rule, or what chooses a
//! server.

use crate::state::queue::Waiter;
use crate::transaction::run::Transaction;
use reactor::Wake;
use rules::Password;
use std::cell::{OnceCell, RefCell};
use std::sync::atomic::{AtomicU8, Ordering::Acquire, Ordering::Release};
use std::sync::{Arc, mpsc};

/// States of an answer.
const PENDING: u8 = 0;
const WRONG: u8 = 1;
const RIGHT: u8 = 2;

/// What a request claims to know.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Claim {
    password: Password,
    given: Vec<u8>,
}

/// The claims of one transaction.
#[derive(Debug, Default)]
pub(crate) struct Credentials {
    asked: RefCell<Option<Claim>>,
    told: RefCell<Vec<(Claim, bool)>>,
}

impl Credentials {
    /// Whether `given` is the password; nothing while that is not known, and then it is asked for.
    pub(crate) fn verify(&self, password: &Password, given: &[u8]) -> Option<bool> {
        if let Password::Plain(_) = password {
            return Some(password.verify(given));
        }
        let claim = Claim { password: password.clone(), given: given.to_vec() };
        let told = self.told.borrow();
        if let Some((_, right)) = told.iter().find(|(known, _)| *known == claim) {
            return Some(*right);
        }
        *self.asked.borrow_mut() = Some(claim);
        None
    }

    /// Whether somebody waits for an answer.
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.borrow().is_some()
    }

    /// Answers at once.
    pub(crate) fn settle(&self) {
        if let Some(claim) = self.asked.take() {
            let right = claim.password.verify(&claim.given);
            self.told.borrow_mut().push((claim, right));
        }
    }

    pub(crate) fn clear(&mut self) {
        self.asked.get_mut().take();
        self.told.get_mut().clear();
    }
}

struct Job {
    claim: Claim,
    answer: Arc<AtomicU8>,
    waiter: Waiter,
}

/// The way to a thread that verifies for one worker; it starts when it is first needed, and ends
/// with the worker.
#[derive(Debug, Default)]
pub(crate) struct Verifier(OnceCell<Option<mpsc::Sender<Job>>>);

impl Verifier {
    /// Hands a job over; `false` when there is no thread.
    fn submit(&self, job: Job) -> bool {
        let sender = self.0.get_or_init(|| {
            let (sender, jobs) = mpsc::channel();
            let thread = std::thread::Builder::new().name("passwords".into());
            thread.spawn(move || serve(&jobs)).ok().map(|_| sender)
        });
        sender.as_ref().is_some_and(|sender| sender.send(job).is_ok())
    }
}

fn serve(jobs: &mpsc::Receiver<Job>) {
    for Job { claim, answer, waiter } in jobs {
        let right = claim.password.verify(&claim.given);
        answer.store(if right { RIGHT } else { WRONG }, Release);
        waiter.mailbox.wake(waiter.task, Wake::RESOURCE);
    }
}

/// Waits until what was asked for is known.
pub(crate) async fn run(tx: &mut Transaction) {
    let Some(claim) = tx.notes.credentials.asked.take() else { return };
    let thread = tx.worker.thread.clone();
    let answer = Arc::new(AtomicU8::new(PENDING));
    let waiter = Waiter { mailbox: thread.mailbox().clone(), task: thread.scheduler().current() };
    let job = Job { claim: claim.clone(), answer: answer.clone(), waiter };
    if !tx.worker.verifier.submit(job) {
        tx.notes.credentials.asked.replace(Some(claim));
        return tx.notes.credentials.settle();
    }
    while answer.load(Acquire) == PENDING {
        thread.scheduler().wait(None).await;
    }
    let right = answer.load(Acquire) == RIGHT;
    tx.notes.credentials.told.borrow_mut().push((claim, right));
}

/// What a look at the transaction finds when all passwords that it asks for are known: for those
/// who cannot wait.
pub(crate) fn settled<T>(tx: &mut Transaction, mut look: impl FnMut(&mut Transaction) -> T) -> T {
    loop {
        let found = look(tx);
        if !tx.notes.credentials.is_asked() {
            return found;
        }
        tx.notes.credentials.settle();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_asked_for_and_remembered() {
        let credentials = Credentials::default();
        let plain = Password::Plain(b"a".as_slice().into());
        assert_eq!(credentials.verify(&plain, b"a"), Some(true));
        let hash = "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5";
        let hashed = Password::Hashed(hash.into());
        assert_eq!(credentials.verify(&hashed, b"Hello world!"), None);
        assert!(credentials.is_asked());
        credentials.settle();
        assert_eq!(credentials.verify(&hashed, b"Hello world!"), Some(true));
        assert_eq!(credentials.verify(&hashed, b"Hello"), None);
    }
}
