//! The run queues of one thread: one per class. Never touched by another thread.

use crate::TaskId;
use crate::class::{COUNT, Class};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What is ready to run, by class. The normal class is ordered by arrival and `nice`, the others by
/// arrival.
#[derive(Debug, Default)]
pub struct RunQueue {
    /// Urgent, bulk and heavy; the entry of the normal class serves while nobody is niced.
    fifo: [VecDeque<TaskId>; COUNT],
    /// Niced tasks and those that arrived while any stood here.
    ordered: BinaryHeap<Reverse<(i64, u64, u64)>>,
    /// Counts insertions into the normal class; the base of the positions.
    arrivals: u64,
    /// Bit n is set while class n has work.
    ready: u8,
    len: usize,
    peak: usize,
}

impl RunQueue {
    /// Appends a task to a class; `nice` counts in the normal class only.
    pub fn push(&mut self, id: TaskId, class: Class, nice: i16) {
        if class == Class::Normal && (nice != 0 || !self.ordered.is_empty()) {
            self.arrivals += 1;
            let position = self.arrivals as i64 + i64::from(nice);
            self.ordered.push(Reverse((position, self.arrivals, id.to_bits())));
        } else {
            self.fifo[class as usize].push_back(id);
        }
        self.ready |= 1 << class as u8;
        self.len += 1;
        self.peak = self.peak.max(self.len);
    }

    /// Takes the next task of a class.
    pub fn pop(&mut self, class: Class) -> Option<TaskId> {
        let queue = &mut self.fifo[class as usize];
        let mut next = queue.pop_front();
        let mut left = !queue.is_empty();
        if class == Class::Normal {
            if next.is_none() {
                next = self.ordered.pop().map(|Reverse((_, _, bits))| TaskId::from_bits(bits));
            }
            left |= !self.ordered.is_empty();
        }
        if !left {
            self.ready &= !(1 << class as u8);
        }
        self.len -= usize::from(next.is_some());
        next
    }

    /// Bit n is set while class n has work.
    pub fn ready(&self) -> u8 {
        self.ready
    }

    /// Tasks queued in a class.
    pub fn class_len(&self, class: Class) -> usize {
        let ordered = if class == Class::Normal { self.ordered.len() } else { 0 };
        self.fifo[class as usize].len() + ordered
    }

    /// All that is queued, with its class, in no particular order within a class.
    pub fn iter(&self) -> impl Iterator<Item = (TaskId, Class)> {
        let ordered = self.ordered.iter().map(|Reverse((_, _, bits))| TaskId::from_bits(*bits));
        let plain = Class::ALL
            .into_iter()
            .flat_map(|class| self.fifo[class as usize].iter().map(move |id| (*id, class)));
        plain.chain(ordered.map(|id| (id, Class::Normal)))
    }

    /// Tasks queued in all classes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is queued: one test of the bitmap.
    pub fn is_empty(&self) -> bool {
        self.ready == 0
    }

    /// The greatest length so far.
    pub fn peak(&self) -> usize {
        self.peak
    }

    /// Whether niced tasks are queued.
    pub fn has_niced(&self) -> bool {
        !self.ordered.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stdx::Key;

    fn id(index: u32) -> TaskId {
        TaskId(Key { index, generation: 0 })
    }

    #[test]
    fn classes_are_separate_and_the_bitmap_follows() {
        let mut queue = RunQueue::default();
        assert!(queue.is_empty());
        queue.push(id(1), Class::Bulk, 0);
        queue.push(id(2), Class::Urgent, 0);
        queue.push(id(3), Class::Bulk, 0);
        assert_eq!((queue.ready(), queue.len(), queue.peak()), (0b0101, 3, 3));
        assert_eq!(queue.pop(Class::Bulk), Some(id(1)));
        assert_eq!(queue.pop(Class::Heavy), None);
        assert_eq!(queue.pop(Class::Bulk), Some(id(3)));
        assert_eq!((queue.ready(), queue.len(), queue.peak()), (0b0001, 1, 3));
    }

    #[test]
    fn nice_orders_without_starving() {
        let mut queue = RunQueue::default();
        queue.push(id(1), Class::Normal, 10);
        for other in 2..20 {
            queue.push(id(other), Class::Normal, 0);
        }
        let order: Vec<_> = std::iter::from_fn(|| queue.pop(Class::Normal)).collect();
        let place = order.iter().position(|found| *found == id(1));
        assert_eq!(place, Some(9), "behind those of the next ten arrivals that came before it");
        assert!(queue.is_empty());
    }
}
