//! Passwords of one request and their verification in a thread of its own.

use crate::state::backend::queue::Waiter;
use crate::state::session::pending::{OutsideAnswer, PendingAnswer, RuleScope};
use reactor::Wake;
use rules::Password;
use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::mpsc;
use std::task::{Context, Poll};

/// States of an answer.
const PENDING: u8 = 0;
const WRONG: u8 = 1;
const RIGHT: u8 = 2;

/// A password that a request has sent, and the one to compare with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasswordClaim {
    password: Password,
    given: Vec<u8>,
}

impl PasswordClaim {
    /// The claim that `given` is the password.
    pub fn new(password: &Password, given: &[u8]) -> Self {
        Self { password: password.clone(), given: given.to_vec() }
    }

    /// Whether the password is right; the computation takes milliseconds.
    fn holds(&self) -> bool {
        self.password.verify(&self.given)
    }
}

/// The verified claims of one transaction.
#[derive(Debug, Default)]
pub struct Credentials(Vec<(PasswordClaim, bool)>);

impl Credentials {
    /// Whether `given` is the password; `None` while that has to be verified.
    pub fn verify(&self, password: &Password, given: &[u8]) -> Option<bool> {
        if let Password::Plain(_) = password {
            return Some(password.verify(given));
        }
        let is_same = |claim: &PasswordClaim| claim.password == *password && claim.given == given;
        self.0.iter().find(|(claim, _)| is_same(claim)).map(|(_, right)| *right)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// The verification of a claim, from its first poll on.
#[derive(Debug)]
pub struct PasswordCheck {
    claim: PasswordClaim,
    answer: Option<Arc<AtomicU8>>,
}

impl PasswordCheck {
    /// A verification that has not begun.
    pub fn new(claim: PasswordClaim) -> Self {
        Self { claim, answer: None }
    }

    /// Has the claim verified by the worker for passwords, or on this thread without such a worker.
    fn begin(&self, scope: &RuleScope<'_>) -> Arc<AtomicU8> {
        let (worker, answer) = (scope.worker, Arc::new(AtomicU8::new(PENDING)));
        let waiter = Waiter::current(&worker.thread);
        let job = Job { claim: self.claim.clone(), answer: answer.clone(), waiter };
        if !worker.verifier.submit(job) {
            answer.store(verdict(&self.claim), Release);
        }
        answer
    }
}

impl PendingAnswer for PasswordCheck {
    fn poll(&mut self, _: &mut Context<'_>, scope: &mut RuleScope<'_>) -> Poll<OutsideAnswer> {
        if self.answer.is_none() {
            self.answer = Some(self.begin(scope));
        }
        let state = self.answer.as_ref().map_or(WRONG, |answer| answer.load(Acquire));
        if state == PENDING {
            return Poll::Pending;
        }
        scope.notes.used = true;
        scope.notes.credentials.0.push((self.claim.clone(), state == RIGHT));
        Poll::Ready(OutsideAnswer::Continue)
    }
}

/// A password to verify.
struct Job {
    claim: PasswordClaim,
    /// The result, once it is known.
    answer: Arc<AtomicU8>,
    /// The task that waits for it.
    waiter: Waiter,
}

/// Sender to a thread that verifies passwords for one worker; the thread starts at first use, and
/// ends with the worker.
#[derive(Default)]
pub struct Verifier(OnceCell<Option<mpsc::Sender<Job>>>);

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Verifier").field(&self.0.get().is_some()).finish()
    }
}

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
        answer.store(verdict(&claim), Release);
        waiter.mailbox.wake(waiter.task, Wake::RESOURCE);
    }
}

fn verdict(claim: &PasswordClaim) -> u8 {
    if claim.holds() { RIGHT } else { WRONG }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verified_hash_is_remembered() {
        let mut credentials = Credentials::default();
        let plain = Password::Plain(b"a".as_slice().into());
        assert_eq!(credentials.verify(&plain, b"a"), Some(true));
        let hash = "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5";
        let hashed = Password::Hashed(hash.into());
        assert_eq!(credentials.verify(&hashed, b"Hello world!"), None);
        let claim = PasswordClaim::new(&hashed, b"Hello world!");
        let right = claim.holds();
        credentials.0.push((claim, right));
        assert_eq!(credentials.verify(&hashed, b"Hello world!"), Some(true));
        assert_eq!(credentials.verify(&hashed, b"Hello"), None);
    }
}
