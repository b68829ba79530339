//! The run queues of one thread, one per class.

use crate::TaskId;
use crate::class::{COUNT, Class};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Queued tasks by class. The normal class is ordered by arrival and `nice`, the others by arrival.
///
/// Each arrival in the normal class takes the next number of the thread's counter; its position is
/// that number plus its `nice`. So a task niced by -1024 overtakes at most the last 1024 arrivals,
/// one niced by 1024 lets at most the next 1024 pass, and no task starves.
#[derive(Debug, Default)]
pub struct RunQueue {
    /// Urgent, bulk and heavy.
    fifo: [VecDeque<TaskId>; COUNT],
    /// Normal tasks without `nice`, with their positions in increasing order.
    plain: VecDeque<(i64, TaskId)>,
    /// Niced tasks: position, arrival number, task id.
    niced: BinaryHeap<Reverse<(i64, i64, u64)>>,
    arrivals: i64,
    /// Bit n is set while class n has work.
    ready: u8,
    len: usize,
    peak: usize,
}

impl RunQueue {
    /// Appends a task to a class; `nice` counts in the normal class only.
    #[inline]
    pub fn push(&mut self, id: TaskId, class: Class, nice: i16) {
        if class == Class::Normal {
            self.arrivals += 1;
            match nice {
                0 => self.plain.push_back((self.arrivals, id)),
                _ => self.push_niced(id, nice),
            }
        } else {
            self.fifo[class as usize].push_back(id);
        }
        self.ready |= 1 << class as u8;
        self.len += 1;
        self.peak = self.peak.max(self.len);
    }

    #[cold]
    fn push_niced(&mut self, id: TaskId, nice: i16) {
        let position = self.arrivals + i64::from(nice);
        self.niced.push(Reverse((position, self.arrivals, id.to_bits())));
    }

    /// Takes the next task of a class.
    #[inline]
    pub fn pop(&mut self, class: Class) -> Option<TaskId> {
        let (next, left) = if class == Class::Normal {
            self.pop_normal()
        } else {
            let queue = &mut self.fifo[class as usize];
            (queue.pop_front(), !queue.is_empty())
        };
        if !left {
            self.ready &= !(1 << class as u8);
        }
        self.len -= usize::from(next.is_some());
        next
    }

    /// The task of a class that will probably be popped next.
    #[inline]
    pub fn peek(&self, class: Class) -> Option<TaskId> {
        match class {
            Class::Normal => self.plain.front().map(|(_, id)| *id),
            _ => self.fifo[class as usize].front().copied(),
        }
    }

    fn pop_normal(&mut self) -> (Option<TaskId>, bool) {
        if let Some(Reverse((position, ..))) = self.niced.peek()
            && self.plain.front().is_none_or(|(plain, _)| position < plain)
        {
            let Some(Reverse((_, _, bits))) = self.niced.pop() else { return (None, false) };
            return (
                Some(TaskId::from_bits(bits)),
                !(self.plain.is_empty() && self.niced.is_empty()),
            );
        }
        let next = self.plain.pop_front().map(|(_, id)| id);
        (next, !(self.plain.is_empty() && self.niced.is_empty()))
    }

    /// Bit n is set while class n has work.
    #[inline]
    pub fn ready(&self) -> u8 {
        self.ready
    }

    /// Tasks queued in a class.
    pub fn class_len(&self, class: Class) -> usize {
        match class {
            Class::Normal => self.plain.len() + self.niced.len(),
            _ => self.fifo[class as usize].len(),
        }
    }

    /// All queued tasks with their class, in no particular order within a class.
    pub fn iter(&self) -> impl Iterator<Item = (TaskId, Class)> {
        let niced = self.niced.iter().map(|Reverse((_, _, bits))| TaskId::from_bits(*bits));
        let normal = self.plain.iter().map(|(_, id)| *id).chain(niced);
        let others = Class::ALL
            .into_iter()
            .flat_map(|class| self.fifo[class as usize].iter().map(move |id| (*id, class)));
        others.chain(normal.map(|id| (id, Class::Normal)))
    }

    /// Tasks queued in all classes.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is queued: one test of the bitmap.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ready == 0
    }

    /// The greatest length so far.
    pub fn peak(&self) -> usize {
        self.peak
    }

    /// Whether niced tasks are queued.
    pub fn has_niced(&self) -> bool {
        !self.niced.is_empty()
    }
}

#[cfg(test)]
mod tests;
