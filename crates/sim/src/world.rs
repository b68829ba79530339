//! A simulated world: the network that all its threads and actors share.

use crate::net::Net;
use std::cell::{RefCell, RefMut};
use std::rc::Rc;

/// One world. The world runs on one system thread and is determined by its seed.
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

    /// The seed of all its random choices.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The network. The borrow must end before a thread runs.
    pub fn net(&self) -> RefMut<'_, Net> {
        self.net.borrow_mut()
    }
}
