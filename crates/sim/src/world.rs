//! The network shared by all who live in it. Never runs a reactor thread; [`crate::Machine`] does.

use crate::kernel::Virtual;
use crate::net::Net;
use reactor::Kernel;
use std::cell::{RefCell, RefMut};
use std::rc::Rc;

/// One world: everything in it happens on one thread of the system and is determined by its seed.
#[derive(Debug)]
pub struct World {
    seed: u64,
    net: RefCell<Net>,
}

impl World {
    /// An empty world.
    pub fn new(seed: u64) -> Rc<Self> {
        Rc::new(Self { seed, net: RefCell::new(Net::new(seed)) })
    }

    /// What all its chance comes from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The network. Give it back before a thread turns.
    pub fn net(&self) -> RefMut<'_, Net> {
        self.net.borrow_mut()
    }

    /// The kernel of one more thread of the machine.
    pub fn kernel(self: &Rc<Self>) -> Box<dyn Kernel> {
        Box::new(Virtual::new(self.clone()))
    }
}
