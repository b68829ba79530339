//! Buffers that the sessions of one thread share while they encrypt.

use std::cell::RefCell;

/// How many spare buffers are kept.
const SPARES: usize = 16;
/// Buffers that have grown beyond this are not kept.
const LARGEST: usize = 1 << 18;

/// Spare buffers of one thread.
#[derive(Debug, Default)]
pub struct Scratch {
    spares: RefCell<Vec<Vec<u8>>>,
}

impl Scratch {
    /// An empty buffer.
    pub(crate) fn take(&self) -> Vec<u8> {
        self.spares.borrow_mut().pop().unwrap_or_default()
    }

    /// Takes a buffer back.
    pub(crate) fn give(&self, mut buffer: Vec<u8>) {
        let mut spares = self.spares.borrow_mut();
        if (1..=LARGEST).contains(&buffer.capacity()) && spares.len() < SPARES {
            buffer.clear();
            spares.push(buffer);
        }
    }
}
