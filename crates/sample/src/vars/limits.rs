//! How much memory variables may take (manual section 3.2, `tune.vars.*-max-size`).

use super::{Scope, SharedVars, VarName, VarStore, Variables};
use crate::value::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The memory of a variable besides its text, in bytes, as HAProxy counts it.
const PER_VARIABLE: usize = 80;

/// The most that the variables of each scope may take, in bytes; 0 is no limit. Wider scopes
/// include the narrower ones: `proc` all sessions, `sess` its transaction, `txn` its request and
/// response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VarLimits {
    /// `tune.vars.global-max-size`: everything.
    pub global: usize,
    /// `tune.vars.proc-max-size`
    pub process: usize,
    /// `tune.vars.sess-max-size`
    pub session: usize,
    /// `tune.vars.txn-max-size`
    pub transaction: usize,
    /// `tune.vars.reqres-max-size`: the request and the response, each.
    pub message: usize,
    /// `tune.vars.check-max-size`
    pub check: usize,
}

impl VarLimits {
    /// The limit of the whole process, if there is one.
    fn process(&self) -> Option<usize> {
        [self.global, self.process].into_iter().filter(|limit| *limit > 0).min()
    }
}

/// The memory of a variable, in bytes.
pub(super) fn size(value: Option<&Value<'_>>) -> usize {
    match value {
        Some(Value::Str(bytes) | Value::Bin(bytes) | Value::Meth(bytes)) => {
            PER_VARIABLE + bytes.len()
        }
        Some(_) | None => PER_VARIABLE,
    }
}

/// The memory of all variables of the process, counted while there is a limit.
#[derive(Debug, Default)]
pub(super) struct Total(AtomicUsize);

impl Total {
    /// Puts `now` in the place of `before`, unless the sum would exceed `most`.
    fn replace(&self, before: usize, now: usize, most: usize) -> bool {
        let next = |sum: usize| {
            let next = sum.saturating_sub(before).checked_add(now)?;
            (now <= before || next <= most).then_some(next)
        };
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
    }

    /// Subtracts the memory of variables whose scope has ended.
    pub(super) fn release(&self, size: usize) {
        self.replace(size, 0, 0);
    }
}

impl SharedVars {
    /// Whether the process has room for a variable of `now` bytes in place of one of `before`
    /// bytes; if so, it is counted.
    pub(super) fn admits(&self, before: usize, now: usize) -> bool {
        let Some(most) = self.limits.process() else { return true };
        self.total.replace(before, now, most)
    }
}

impl Variables {
    /// Whether there is room for a value in a scope other than `proc`; from then on it counts.
    pub(super) fn admits(&self, store: &VarStore, name: &VarName, value: &Value<'_>) -> bool {
        let limits = &self.process.limits;
        if *limits == VarLimits::default() {
            return true;
        }
        let (before, now) = (store.size_of(name), size(Some(value)));
        let within = |limit: usize, stores: &[&VarStore]| {
            let taken: usize = stores.iter().map(|store| store.size()).sum();
            limit == 0 || now <= before || taken - before + now <= limit
        };
        let transaction = [&self.transaction, &self.request, &self.response];
        let session = [&self.session, &self.check, transaction[0], transaction[1], transaction[2]];
        let in_session = || within(limits.session, &session);
        let in_transaction = || within(limits.transaction, &transaction) && in_session();
        let fits = match name.scope {
            Scope::Proc => true,
            Scope::Sess => in_session(),
            Scope::Check => within(limits.check, &[store]) && in_session(),
            Scope::Txn => in_transaction(),
            Scope::Req | Scope::Res => within(limits.message, &[store]) && in_transaction(),
        };
        let fits = fits && self.process.admits(before, now);
        if fits && limits.process().is_some() {
            store.place().owner.get_or_init(|| Arc::clone(&self.process));
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vars::VarState;

    fn variables(limits: VarLimits) -> Variables {
        let process = Arc::new(SharedVars { limits, ..SharedVars::default() });
        Variables { process, ..Variables::default() }
    }

    fn set(variables: &Variables, name: &str, length: usize) -> bool {
        let name = VarName::parse(name).expect("a name");
        variables.set(&name, Some(Value::str(&vec![b'x'; length]).into_shared()));
        variables.get(&name).is_some()
    }

    #[test]
    fn each_scope_has_its_limit_and_those_of_wider_ones() {
        type Limit = fn(&mut VarLimits) -> &mut usize;
        let cases: [(Limit, &str, &str); 9] = [
            (|l| &mut l.global, "txn.a", "proc.b"),
            (|l| &mut l.process, "proc.a", "sess.b"),
            (|l| &mut l.process, "req.a", "proc.b"),
            (|l| &mut l.session, "sess.a", "txn.b"),
            (|l| &mut l.session, "req.a", "sess.b"),
            (|l| &mut l.transaction, "txn.a", "req.b"),
            (|l| &mut l.transaction, "res.a", "txn.b"),
            (|l| &mut l.message, "res.a", "res.b"),
            (|l| &mut l.check, "check.a", "check.b"),
        ];
        for (limit, first, second) in cases {
            let mut limits = VarLimits::default();
            *limit(&mut limits) = 200;
            let all = variables(limits);
            assert!(!set(&all, first, 121), "{first} is too long");
            assert!(set(&all, first, 20), "{first} fits");
            assert!(!set(&all, second, 21), "{second} has no room");
            assert!(set(&all, second, 20), "{second} fits beside {first}");
        }
        let all = variables(VarLimits { message: 100, ..VarLimits::default() });
        assert!(set(&all, "req.a", 20) && set(&all, "res.a", 20) && set(&all, "txn.a", 200));
    }

    #[test]
    fn values_that_exceed_the_limit_are_not_stored() {
        let all = variables(VarLimits { transaction: 100, ..VarLimits::default() });
        let name = VarName::parse("txn.a").expect("a name");
        assert!(!set(&all, "txn.a", 21));
        assert_eq!(all.state(&name), VarState::Absent);
        assert!(set(&all, "txn.a", 20) && !set(&all, "txn.a", 21), "nothing stale is left");
        assert_eq!(all.state(&name), VarState::Unset);
        assert!(set(&all, "txn.a", 20));
    }

    #[test]
    fn scopes_give_back_what_they_took() {
        let first = variables(VarLimits { process: 100, ..VarLimits::default() });
        let process = Arc::clone(&first.process);
        let second = Variables { process, ..Variables::default() };
        assert!(set(&first, "txn.a", 20) && !set(&second, "sess.a", 0));
        first.transaction.clear();
        assert!(set(&second, "sess.a", 20) && !set(&first, "req.a", 0));
        drop(second);
        assert!(set(&first, "proc.a", 20));
    }
}
