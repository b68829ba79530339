//! Memory of buffers: equal parts of large slabs.
//!
//! A slab is large enough for the allocator to map it anew, so its pages cost nothing until they
//! are written: a client that is slow with its first line holds one page, not a whole buffer.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

/// One allocation that many buffers share; it is freed with the last buffer.
#[derive(Debug)]
struct Slab {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: nothing is read or written through the slab's address, only through its parts.
unsafe impl Send for Slab {}
// SAFETY: as above.
unsafe impl Sync for Slab {}

impl Slab {
    /// Zeroed memory for `count` parts of `size` bytes, or for half as many until the allocator has
    /// room for them, and the number of parts. A failed allocation of one part ends the process.
    ///
    /// # Panics
    /// `size * count` is 0, or more than fits into the address space.
    fn new(size: usize, mut count: usize) -> (Self, usize) {
        loop {
            let layout =
                Layout::array::<u8>(size * count).expect("a size within the address space");
            assert!(layout.size() > 0, "a slab has some bytes");
            // SAFETY: the layout has a size that is not 0.
            match NonNull::new(unsafe { alloc_zeroed(layout) }) {
                Some(start) => return (Self { start, layout }, count),
                None if count > 1 => count /= 2,
                None => handle_alloc_error(layout),
            }
        }
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        // SAFETY: allocated by `new` with this layout, and no part is left.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// A part of a slab, or no memory at all.
#[derive(Debug)]
pub(crate) struct Memory {
    start: NonNull<u8>,
    len: usize,
    /// Keeps the part alive.
    _slab: Option<Arc<Slab>>,
}

// SAFETY: the part belongs to this value alone, as a boxed slice would.
unsafe impl Send for Memory {}
// SAFETY: shared access only reads.
unsafe impl Sync for Memory {}

impl Memory {
    /// Its size in bytes.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// No memory.
    pub(crate) const fn none() -> Self {
        Self { start: NonNull::dangling(), len: 0, _slab: None }
    }

    /// `count` parts of `size` bytes each, zeroed, of one slab; fewer, but at least one, where the
    /// allocator has no room for as many in one piece.
    ///
    /// # Panics
    /// They do not fit into the address space.
    pub(crate) fn parts(size: usize, count: usize) -> impl Iterator<Item = Self> {
        let bytes = size.checked_mul(count).expect("a size within the address space");
        let slab = (bytes > 0).then(|| Slab::new(size, count));
        let count = slab.as_ref().map_or(count, |(_, count)| *count);
        let slab = slab.map(|(slab, _)| Arc::new(slab));
        (0..count).map(move |index| match &slab {
            None => Self::none(),
            Some(slab) => Self {
                // SAFETY: `index < count`, so all of the part lies within the slab.
                start: unsafe { slab.start.add(index * size) },
                len: size,
                _slab: Some(slab.clone()),
            },
        })
    }
}

impl Deref for Memory {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` and `len` are those of a part that is initialised, that no other value
        // has, and that lives as long as its slab; or of no bytes.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for Memory {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for reading, and `self` is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_apart_and_outlive_each_other() {
        let mut parts: Vec<_> = Memory::parts(3, 4).collect();
        for (number, part) in parts.iter_mut().enumerate() {
            assert_eq!(**part, [0, 0, 0]);
            part.fill(number as u8 + 1);
        }
        let last = parts.pop().expect("four of them");
        drop(parts.drain(..2));
        assert_eq!((&*parts[0], &*last), (&[3, 3, 3][..], &[4, 4, 4][..]));
        let elsewhere = std::thread::spawn(move || last.len());
        assert_eq!(elsewhere.join().expect("no panic"), 3);
    }

    #[test]
    fn slabs_are_smaller_where_the_allocator_has_no_room() {
        // More than the 47 bits of addresses that a process has.
        let mut parts = Memory::parts(1 << 20, 1 << 28);
        let first = parts.next().expect("at least one");
        assert_eq!((first.len(), first[0]), (1 << 20, 0));
        assert!(parts.size_hint().0 < 1 << 27, "{:?}", parts.size_hint());
    }

    #[test]
    fn nothing_takes_no_memory() {
        assert!(Memory::none().is_empty());
        assert_eq!(Memory::parts(0, 2).filter(|part| part.is_empty()).count(), 2);
        assert_eq!(Memory::parts(5, 0).count(), 0);
    }
}
