//! Memory of streams that have ended, kept for those that come. Never holds anything of a stream
//! but its memory.

use htx::Head;
use std::cell::RefCell;
use std::rc::Rc;

/// Pieces of each kind that are kept: as many as streams usually begin before the first of them has
/// its request taken.
const KEPT: usize = 512;

/// Bytes that a piece may take to be kept: what is larger is the exception, and the thread keeps
/// what it has for good. With both kinds, 4 MiB for each thread at most.
const USUAL: usize = 4096;

/// What the connections of one thread lend each other: one that has no stream keeps nothing, and
/// the next stream, whoever has it, gets the memory that was used last.
#[derive(Clone, Debug, Default)]
pub struct Spares(Rc<Shelf>);

#[derive(Debug, Default)]
struct Shelf {
    #[expect(clippy::vec_box, reason = "a head moves between here and its stream by pointer")]
    heads: RefCell<Vec<Box<Head>>>,
    inboxes: RefCell<Vec<Vec<u8>>>,
}

impl Spares {
    /// A cleared head; allocates only when none is spare.
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

    /// An empty inbox; it allocates when something comes and none is spare.
    pub(super) fn take_inbox(&self) -> Vec<u8> {
        self.0.inboxes.borrow_mut().pop().unwrap_or_default()
    }

    pub(super) fn give_inbox(&self, mut inbox: Vec<u8>) {
        let mut inboxes = self.0.inboxes.borrow_mut();
        if (1..=USUAL).contains(&inbox.capacity()) && inboxes.len() < KEPT {
            inbox.clear();
            inboxes.push(inbox);
        }
    }

    /// How many heads are kept.
    pub fn heads(&self) -> usize {
        self.0.heads.borrow().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unusually_large_is_not_kept() {
        let spares = Spares::default();
        spares.give_head(Box::new(Head::with_capacity(USUAL + 1, 0)));
        spares.give_inbox(Vec::with_capacity(USUAL + 1));
        assert_eq!((spares.heads(), spares.take_inbox().capacity()), (0, 0));
        spares.give_head(Box::new(Head::with_capacity(256, 8)));
        spares.give_inbox(Vec::with_capacity(USUAL));
        assert_eq!((spares.heads(), spares.take_inbox().capacity()), (1, USUAL));
    }

    #[test]
    fn so_many_are_kept_and_no_more() {
        let spares = Spares::default();
        (0..KEPT + 5).for_each(|_| spares.give_head(Box::default()));
        assert_eq!(spares.heads(), KEPT);
    }
}
