//! The hash table in which an encoder looks for earlier occurrences, shared by all streams of a thread.

use super::codes::WINDOW;

const BITS: u32 = 14;

/// Positions per call below which a table may be used again without being cleared.
const LAST: u32 = u32::MAX - super::LONGEST_INPUT as u32;

/// Memory that an encoder uses during a call and not between two: 64 KiB, one per thread.
///
/// Positions of earlier calls stay in the table and are recognised by their numbers, which
/// continue from call to call, so that no call pays for clearing the table.
pub struct Scratch {
    /// The number of the last position with a hash, or 0.
    table: Box<[u32; 1 << BITS]>,
    /// The number of the next call's first position.
    next: u32,
}

impl Default for Scratch {
    fn default() -> Self {
        Self { table: Box::new([0; 1 << BITS]), next: FIRST }
    }
}

/// The first number; a table full of zeros has no position within the window before it.
const FIRST: u32 = WINDOW as u32 + 1;

impl Scratch {
    /// Numbers for the positions of an input of at most `LONGEST_INPUT` bytes.
    pub(super) fn begin(&mut self, length: usize) -> Positions<'_> {
        if self.next > LAST {
            self.table.fill(0);
            self.next = FIRST;
        }
        let base = self.next;
        self.next += length as u32;
        Positions { table: &mut self.table, base }
    }

    /// Sets the position to the last number, for the test of its overflow.
    #[cfg(test)]
    pub(super) fn exhaust(&mut self) {
        self.next = LAST;
    }

    /// Bytes of memory.
    #[must_use]
    pub fn memory(&self) -> usize {
        size_of_val(&*self.table) + size_of::<Self>()
    }
}

/// The table with the positions of the present call.
pub(super) struct Positions<'a> {
    table: &'a mut [u32; 1 << BITS],
    base: u32,
}

impl Positions<'_> {
    /// Records a position with its four bytes, and returns the distance of the last one that had
    /// the same hash. The distance exceeds `position` if that one belongs to an earlier call.
    #[inline]
    pub(super) fn replace(&mut self, position: usize, bytes: u32) -> usize {
        let number = self.base + position as u32;
        let entry = &mut self.table[hash(bytes)];
        let distance = number.wrapping_sub(*entry);
        *entry = number;
        distance as usize
    }

    /// Records a position.
    #[inline]
    pub(super) fn insert(&mut self, position: usize, bytes: u32) {
        self.table[hash(bytes)] = self.base + position as u32;
    }
}

#[inline]
fn hash(bytes: u32) -> usize {
    (bytes.wrapping_mul(0x9e37_79b1) >> (32 - BITS)) as usize
}
