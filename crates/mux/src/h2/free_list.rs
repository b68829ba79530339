//! A thread's free lists of stream memory: heads and receive buffers.

use htx::Head;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Most spare heads and small inboxes: as many as streams usually begin before the first request is
/// taken.
const KEPT: usize = 512;

/// Largest size of a spare head or small inbox in bytes; larger ones are exceptional and would stay
/// allocated. With both kinds at most 4 MiB per thread, and 2 MiB of large inboxes.
const USUAL: usize = 4096;

/// Largest size of a large inbox in bytes, and most of them kept: uploads fill and empty one in
/// each turn.
const LARGE: usize = 128 * 1024;
const KEPT_LARGE: usize = 16;

/// Free lists shared by the connections of one thread. A connection without streams keeps no
/// memory, and the next stream of any connection gets the memory used last.
#[derive(Clone, Debug, Default)]
pub struct FreeList(Rc<FreeLists>);

#[derive(Debug, Default)]
struct FreeLists {
    #[expect(clippy::vec_box, reason = "a head moves between here and its stream by pointer")]
    heads: RefCell<Vec<Box<Head>>>,
    inboxes: RefCell<Vec<Vec<u8>>>,
    /// Inboxes of up to `LARGE` bytes.
    large: RefCell<Vec<Vec<u8>>>,
    /// Unread payload bytes on all connections of the thread.
    held: Cell<usize>,
    /// Memory is short: receive windows stay at their initial size.
    tight: Cell<bool>,
    /// Memory is so short that new streams are refused.
    short: Cell<bool>,
}

impl FreeList {
    /// Takes a cleared head; allocates only when no spare is left.
    pub(super) fn take_head(&self) -> Box<Head> {
        self.0.heads.borrow_mut().pop().unwrap_or_default()
    }

    pub(super) fn give_head(&self, mut head: Box<Head>) {
        let mut heads = self.0.heads.borrow_mut();
        if heads.len() < KEPT && head.as_fields().capacity() <= USUAL {
            head.clear();
            heads.push(head);
        }
    }

    /// Takes an empty inbox for `count` bytes; allocates when no spare is left.
    pub(super) fn take_inbox(&self, count: usize) -> Vec<u8> {
        let shelf = if count <= USUAL { &self.0.inboxes } else { &self.0.large };
        shelf.borrow_mut().pop().unwrap_or_default()
    }

    pub(super) fn give_inbox(&self, mut inbox: Vec<u8>) {
        let (shelf, kept) = match inbox.capacity() {
            1..=USUAL => (&self.0.inboxes, KEPT),
            0..=LARGE => (&self.0.large, KEPT_LARGE),
            _ => return,
        };
        let mut shelf = shelf.borrow_mut();
        if inbox.capacity() > 0 && shelf.len() < kept {
            inbox.clear();
            shelf.push(inbox);
        }
    }

    /// Counts payload that waits for its reader.
    pub(super) fn hold(&self, count: usize) {
        self.0.held.set(self.0.held.get() + count);
    }

    /// Counts payload that was read or dropped.
    pub(super) fn release(&self, count: usize) {
        self.0.held.set(self.0.held.get().saturating_sub(count));
    }

    /// Unread payload bytes on all connections.
    pub fn held(&self) -> usize {
        self.0.held.get()
    }

    /// Sets whether receive windows stay at their initial size, because memory is short.
    pub fn set_tight(&self, tight: bool) {
        self.0.tight.set(tight);
    }

    /// Sets whether new streams of clients are refused, because memory is short.
    pub fn set_short(&self, short: bool) {
        self.0.short.set(short);
    }

    pub(super) fn is_short(&self) -> bool {
        self.0.short.get()
    }

    /// Releases the spare memory.
    pub fn trim(&self) {
        self.0.heads.take();
        self.0.inboxes.take();
        self.0.large.take();
    }

    pub(super) fn is_tight(&self) -> bool {
        self.0.tight.get()
    }

    /// Number of spare heads.
    pub fn heads(&self) -> usize {
        self.0.heads.borrow().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_memory_is_not_kept_as_spare() {
        let spares = FreeList::default();
        spares.give_head(Box::new(Head::with_capacity(USUAL + 1, 0)));
        spares.give_inbox(Vec::with_capacity(LARGE + 1));
        assert_eq!((spares.heads(), spares.take_inbox(LARGE).capacity()), (0, 0));
        spares.give_head(Box::new(Head::with_capacity(256, 8)));
        spares.give_inbox(Vec::with_capacity(USUAL));
        assert_eq!((spares.heads(), spares.take_inbox(1).capacity()), (1, USUAL));
        spares.give_inbox(Vec::with_capacity(LARGE));
        assert_eq!(spares.take_inbox(USUAL + 1).capacity(), LARGE);
    }

    #[test]
    fn spare_memory_is_limited() {
        let spares = FreeList::default();
        (0..KEPT + 5).for_each(|_| spares.give_head(Box::default()));
        assert_eq!(spares.heads(), KEPT);
    }
}
