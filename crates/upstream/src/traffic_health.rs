//! Observations of servers by traffic: their response times (`balance peak-ewma`), and their health
//! (`observe`).

use balance::{Balancer, Sign};
use engine::state::backend::reservation::Claim;
use engine::state::session::transaction::Transaction;
use health::checks;

/// A failure counts as an answer that took at least so long, in nanoseconds: a server that fails
/// fast must not seem the fastest.
const FAILURE_NS: u64 = 1_000_000_000;

/// Notes a server's answer to bytes sent at `since`, in the thread's nanoseconds.
pub fn answered(tx: &Transaction, since: u64) {
    took(tx, since, 0);
}

/// Notes a server's failure of an attempt that began at `since`.
pub fn failed(tx: &Transaction, since: u64) {
    took(tx, since, FAILURE_NS);
}

fn took(tx: &Transaction, since: u64, at_least: u64) {
    let Some((balancer, claim)) = balancer(tx) else { return };
    if balancer.observes() {
        let now = tx.worker.thread.nanos();
        balancer.observe(claim.slot(), now.saturating_sub(since).max(at_least), now);
    }
}

fn balancer(tx: &Transaction) -> Option<(&Balancer, &Claim)> {
    let claim = tx.claim.as_ref()?;
    Some((&claim.backend.back.balancer, claim))
}

/// Notes a sign of the server's health.
#[inline]
pub fn sign(tx: &Transaction, sign: Sign) {
    if tx.claim.as_ref().is_some_and(|claim| claim.server().state.is_observed()) {
        apply_sign(tx, sign);
    }
}

#[cold]
fn apply_sign(tx: &Transaction, sign: Sign) {
    let Some((balancer, claim)) = balancer(tx) else { return };
    let Some(alarm) = balancer.on_sign(claim.slot(), sign, tx.worker.millis()) else { return };
    let backend = &claim.backend.back;
    if let Some((result, checked)) = alarm.result {
        checks::report_change(&tx.worker, backend, claim.slot(), &result, checked);
    }
    checks::hasten(&tx.worker.shared, backend, claim.slot());
}
