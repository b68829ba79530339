//! Buffers that the sessions of one thread share while they encrypt.

use std::cell::RefCell;

/// How many spare buffers are kept.
const SPARES: usize = 16;
/// Buffers that have grown beyond this are not kept.
const LARGEST: usize = 1 << 18;

/// Bytes of a buffer for input: two records of the greatest length.
pub(crate) const INPUT: usize = 1 << 15;
/// How many spare buffers for input are kept.
const INPUTS: usize = 4;

/// Spare buffers of one thread.
#[derive(Debug, Default)]
pub struct Scratch {
    spares: RefCell<Vec<Vec<u8>>>,
    /// Buffers of initialized bytes, at least `INPUT`.
    inputs: RefCell<Vec<Vec<u8>>>,
}

impl Scratch {
    /// An empty buffer.
    pub(crate) fn take(&self) -> Vec<u8> {
        self.spares.borrow_mut().pop().unwrap_or_default()
    }

    /// A buffer of `INPUT` bytes to receive into, with any contents.
    pub(crate) fn take_input(&self) -> Vec<u8> {
        self.inputs.borrow_mut().pop().unwrap_or_else(|| vec![0; INPUT])
    }

    /// Takes a buffer for input back.
    pub(crate) fn give_input(&self, buffer: Vec<u8>) {
        let mut inputs = self.inputs.borrow_mut();
        if buffer.len() == INPUT && inputs.len() < INPUTS {
            inputs.push(buffer);
        }
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
