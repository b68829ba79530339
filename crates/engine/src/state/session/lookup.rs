//! Names that a request waits for.

use crate::state::backend::queue::Waiter;
use dns::RecordType;
use reactor::Wake;
use std::cell::RefCell;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// A look-up that a rule needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// The `resolvers` section.
    pub resolvers: Arc<str>,
    /// The host name.
    pub name: Box<str>,
    /// The type of record.
    pub family: RecordType,
}

/// The look-ups of one transaction.
#[derive(Debug, Default)]
pub struct Lookups {
    /// The name that a rule waits for.
    pub asked: RefCell<Option<Wanted>>,
    /// Names with their addresses; `None` where there is none.
    pub told: RefCell<Vec<(Wanted, Option<IpAddr>)>>,
}

impl Lookups {
    /// The result of a look-up, with or without an address; `None`: the look-up waits to be run.
    pub fn find(&self, wanted: Wanted) -> Option<Option<IpAddr>> {
        let told = self.told.borrow();
        if let Some((_, address)) = told.iter().find(|(known, _)| *known == wanted) {
            return Some(*address);
        }
        *self.asked.borrow_mut() = Some(wanted);
        None
    }

    /// Whether a look-up waits to be run.
    pub fn is_asked(&self) -> bool {
        self.asked.borrow().is_some()
    }

    pub(crate) fn clear(&mut self) {
        self.asked.get_mut().take();
        self.told.get_mut().clear();
    }
}

/// A look-up on its way to the task of a `resolvers` section and back.
#[derive(Debug)]
pub struct Ask {
    /// The host name.
    pub name: Box<str>,
    /// The type of record.
    pub family: RecordType,
    /// The result, once there is one.
    pub answer: Mutex<Option<Option<IpAddr>>>,
    /// The task that waits for it.
    pub waiter: Waiter,
}

impl Ask {
    /// Stores the result, and wakes the task that waits for it.
    pub fn tell(&self, address: Option<IpAddr>) {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(address);
        self.waiter.mailbox.wake(self.waiter.task, Wake::RESOURCE);
    }

    /// The result, once there is one.
    pub fn answer(&self) -> Option<Option<IpAddr>> {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
