//! Steps of regular expressions that a message has used, per thread.
//!
//! Expressions are evaluated far below the caller that knows the message, so the account of the
//! message is a thread-local: the caller opens it before it evaluates ([`open`]). Only searches
//! that may take long are counted, so most messages have none.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// Steps that one message may use over all its searches: 4 to 12 ms of processor time.
pub const STEPS: u64 = 2_000_000;
/// Steps after which the rules of a message let others run.
const TURN: u64 = 100_000;

/// The steps that one message has used.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    owner: usize,
    used: u64,
    /// Of these, since others could run.
    since_turn: u64,
    /// A search was given up, or not begun, because of it.
    exhausted: bool,
}

thread_local! {
    static CURRENT: Cell<Account> = const {
        Cell::new(Account { owner: 0, used: 0, since_turn: 0, exhausted: false })
    };
    /// The accounts of other messages that have used something; few at any time.
    static OTHERS: RefCell<BTreeMap<usize, Account>> = const { RefCell::new(BTreeMap::new()) };
}

/// Opens the account of a message: later searches count for it. 0 belongs to no message, and its
/// account begins again with each call.
#[inline]
pub fn open(owner: usize) {
    let current = CURRENT.get();
    if current.owner != owner || owner == 0 {
        change(current, owner);
    }
}

fn change(current: Account, owner: usize) {
    let fresh = Account { owner, ..Account::default() };
    if current.used == 0 && current.owner != 0 && owner == 0 {
        return CURRENT.set(fresh);
    }
    OTHERS.with_borrow_mut(|others| {
        if current.used > 0 && current.owner != 0 {
            others.insert(current.owner, current);
        }
        CURRENT.set(others.remove(&owner).unwrap_or(fresh));
    });
}

/// The message is over: its effort is reset.
#[inline]
pub fn close(owner: usize) {
    let current = CURRENT.get();
    if current.owner == owner {
        CURRENT.set(Account::default());
    } else {
        OTHERS.with_borrow_mut(|others| others.remove(&owner));
    }
}

/// Whether a search for the current message was given up.
#[inline]
pub fn is_exhausted() -> bool {
    CURRENT.get().exhausted
}

/// Whether the current message has used so much since this was last true that others should run.
#[inline]
pub fn is_turn_over() -> bool {
    let current = CURRENT.get();
    if current.since_turn < TURN {
        return false;
    }
    CURRENT.set(Account { since_turn: 0, ..current });
    true
}

/// Steps that the current message has left.
pub fn left() -> u64 {
    STEPS.saturating_sub(CURRENT.get().used)
}

/// Takes steps off; `gives_up`: they were not enough.
pub fn charge(steps: u64, gives_up: bool) {
    let mut current = CURRENT.get();
    current.used += steps;
    current.since_turn += steps;
    current.exhausted |= gives_up;
    CURRENT.set(current);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_accounts_of_their_own() {
        open(1);
        charge(TURN, false);
        open(2);
        assert_eq!(left(), STEPS);
        assert!(!is_turn_over());
        charge(5, true);
        open(1);
        assert_eq!(left(), STEPS - TURN);
        assert!(is_turn_over() && !is_turn_over() && !is_exhausted());
        open(2);
        assert!(is_exhausted());
        close(2);
        open(2);
        assert!(!is_exhausted(), "it was closed");
        open(0);
        charge(7, true);
        open(0);
        assert!(!is_exhausted() && left() == STEPS, "nobody's begins anew");
        close(1);
        open(1);
        assert_eq!(left(), STEPS);
        assert!(OTHERS.with_borrow(BTreeMap::is_empty));
    }
}
