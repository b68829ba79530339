//! Names that a request waits for.

use crate::state::backend::queue::Waiter;
use dns::RecordType;
use reactor::Wake;
use std::cell::RefCell;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// What a rule wants to know.
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
    /// The address, if it has been told; until then it is asked for. The inner option: there is
    /// one.
    pub fn find(&self, wanted: Wanted) -> Option<Option<IpAddr>> {
        let told = self.told.borrow();
        if let Some((_, address)) = told.iter().find(|(known, _)| *known == wanted) {
            return Some(*address);
        }
        *self.asked.borrow_mut() = Some(wanted);
        None
    }

    /// Whether somebody waits for an address.
    pub fn is_asked(&self) -> bool {
        self.asked.borrow().is_some()
    }

    pub(crate) fn clear(&mut self) {
        self.asked.get_mut().take();
        self.told.get_mut().clear();
    }
}

/// A question on its way to a keeper and back.
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
    /// Tells the answer, and wakes who waits.
    pub fn tell(&self, address: Option<IpAddr>) {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(address);
        self.waiter.mailbox.wake(self.waiter.task, Wake::RESOURCE);
    }

    /// The result, once there is one.
    pub fn answer(&self) -> Option<Option<IpAddr>> {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
