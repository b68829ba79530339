//! Passwords of one request and their verification in a thread of its own.

use crate::state::backend::queue::Waiter;
use reactor::Wake;
use rules::Password;
use std::cell::{OnceCell, RefCell};
use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Release;
use std::sync::mpsc;

/// States of an answer.
pub const PENDING: u8 = 0;

const WRONG: u8 = 1;

/// The password is the user's.
pub const RIGHT: u8 = 2;

/// A password that a request has sent, and the one to compare with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    password: Password,
    given: Vec<u8>,
}

/// The claims of one transaction.
#[derive(Debug, Default)]
pub struct Credentials {
    /// The claim that a rule waits for.
    pub asked: RefCell<Option<Claim>>,
    /// Claims with their results.
    pub told: RefCell<Vec<(Claim, bool)>>,
}

impl Credentials {
    /// Whether `given` is the password; `None` while the result is not known: the claim waits for
    /// its verification then.
    pub fn verify(&self, password: &Password, given: &[u8]) -> Option<bool> {
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

    /// Whether a claim waits for its result.
    pub fn is_asked(&self) -> bool {
        self.asked.borrow().is_some()
    }

    /// Verifies the claim that waits, on this thread.
    pub fn settle(&self) {
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

/// A password to verify.
pub struct Job {
    /// User and password.
    pub claim: Claim,
    /// The result, once there is one.
    pub answer: Arc<AtomicU8>,
    /// The task that waits for it.
    pub waiter: Waiter,
}

/// Sender to a thread that verifies passwords for one worker; the thread starts at first use, and
/// ends with the worker.
#[derive(Debug, Default)]
pub struct Verifier(OnceCell<Option<mpsc::Sender<Job>>>);

impl Verifier {
    /// Hands a job over; `false` when there is no thread.
    pub fn submit(&self, job: Job) -> bool {
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
