//! Passwords whose hashes take milliseconds: verified on a separate thread, while the transaction
//! waits.

use engine::state::backend::queue::Waiter;
use engine::state::session::credentials::{Job, PENDING, RIGHT};
use engine::state::session::transaction::Transaction;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Acquire};

/// Waits until the password is verified.
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

/// The result of `look` once all passwords that it asks for are verified: for callers that cannot
/// wait.
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
    use engine::state::session::credentials::Credentials;
    use rules::Password;

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
