//! The table of handles: the lowest free number is used first, as for descriptors.

use super::EndId;
use super::link::LinkEnd;
use reactor::Watch;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use stdx::Key;

/// The first number: 0 to 2 are inherited.
const FIRST: usize = 3;

/// The object of a handle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Object {
    Free,
    Listener(Key),
    Stream(EndId),
    Datagrams(Key),
    Link(LinkEnd),
}

/// Registration of a handle with one poller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watching {
    pub(super) poller: usize,
    pub(super) token: u64,
    pub(super) watch: Watch,
    /// Whether it is in the poller's list of handles that may be ready.
    pub(super) queued: bool,
}

impl Watching {
    /// Whether it is edge-triggered.
    pub(super) fn is_edge(&self) -> bool {
        matches!(self.watch, Watch::Stream | Watch::Incoming)
    }
}

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) object: Object,
    pub(super) watches: Vec<Watching>,
}

/// All handles of the machine; its threads share them.
#[derive(Debug)]
pub(super) struct Handles {
    slots: Vec<Slot>,
    free: BinaryHeap<Reverse<usize>>,
    pub(super) limit: usize,
}

impl Default for Handles {
    fn default() -> Self {
        Self { slots: Vec::new(), free: BinaryHeap::new(), limit: usize::MAX }
    }
}

impl Handles {
    pub(super) fn open(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.open() >= self.limit
    }

    /// Numbers used so far, open or not.
    pub(super) fn span(&self) -> std::ops::Range<i32> {
        FIRST as i32..(FIRST + self.slots.len()) as i32
    }

    pub(super) fn insert(&mut self, object: Object) -> i32 {
        let place = match self.free.pop() {
            Some(Reverse(place)) => {
                self.slots[place].object = object;
                place
            }
            None => {
                self.slots.push(Slot { object, watches: Vec::new() });
                self.slots.len() - 1
            }
        };
        (place + FIRST) as i32
    }

    fn place(handle: i32) -> usize {
        usize::try_from(handle).unwrap_or(0).wrapping_sub(FIRST)
    }

    pub(super) fn get(&self, handle: i32) -> Option<&Slot> {
        self.slots.get(Self::place(handle)).filter(|slot| slot.object != Object::Free)
    }

    pub(super) fn get_mut(&mut self, handle: i32) -> Option<&mut Slot> {
        self.slots.get_mut(Self::place(handle)).filter(|slot| slot.object != Object::Free)
    }

    /// Frees a number. The list of its registrations keeps its memory.
    pub(super) fn remove(&mut self, handle: i32) {
        if let Some(slot) = self.get_mut(handle) {
            slot.object = Object::Free;
            slot.watches.clear();
            self.free.push(Reverse(Self::place(handle)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_number_is_given_out() {
        let mut handles = Handles::default();
        let object = Object::Listener(Key::NONE);
        let all: Vec<_> = (0..4).map(|_| handles.insert(object)).collect();
        assert_eq!(all, [3, 4, 5, 6]);
        handles.remove(5);
        handles.remove(3);
        assert!(handles.get(5).is_none() && handles.get(-1).is_none() && handles.get(0).is_none());
        assert_eq!((handles.insert(object), handles.insert(object)), (3, 5));
        assert_eq!(handles.open(), 4);
    }
}
