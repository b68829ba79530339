//! Fixed-size blocks of one reserved allocation: chains that one owner writes, and chains that many
//! readers share without a lock.
//!
//! A [`BlockChain`] has its blocks alone: only its owner reads and writes them.
//! [`BlockChain::share`] ends writing; from then on the blocks are immutable until the last
//! [`SharedBlocks`] of the chain is dropped, which returns them to the area. Links between blocks
//! and the count of a chain's holders are beside the blocks, [`OVERHEAD`] bytes per block; nothing
//! else is allocated per chain.
//!
//! Memory is reserved at once and untouched: the system gives pages when blocks are first written.

use crate::Mutex;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io::IoSlice;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{
    AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release, fence,
};

/// Bytes beside each block: the link to the next one, and the count of holders.
pub const OVERHEAD: usize = size_of::<BlockLink>();

/// No block.
const NONE: u32 = u32::MAX;

/// Holders of one chain at which the process aborts, as `Arc` does: a count must not wrap.
const MAX_HOLDERS: u32 = 1 << 31;

#[derive(Default)]
struct BlockLink {
    /// The next block of the chain or of the free list; meaningless in the last one.
    next: AtomicU32,
    /// Holders of the chain that begins with this block.
    holders: AtomicU32,
}

/// Blocks that no chain has: a list of returned ones, and those that were never taken.
#[derive(Debug)]
struct FreeBlocks {
    head: u32,
    returned: u32,
    untouched: u32,
}

struct Area {
    memory: NonNull<u8>,
    layout: Layout,
    block: usize,
    links: Box<[BlockLink]>,
    free: Mutex<FreeBlocks>,
}

// SAFETY: the memory belongs to the area; which part of it a thread may use is decided by chains,
// each of which is either one exclusive value or shared for reading only.
unsafe impl Send for Area {}
// SAFETY: as above.
unsafe impl Sync for Area {}

impl Drop for Area {
    fn drop(&mut self) {
        // SAFETY: allocated by `BlockArea::new` with this layout; chains hold the area, so none is
        // left.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) };
    }
}

impl Area {
    fn count(&self) -> u32 {
        self.links.len() as u32
    }

    fn link(&self, block: u32) -> &BlockLink {
        &self.links[block as usize]
    }

    fn next(&self, block: u32) -> u32 {
        self.link(block).next.load(Relaxed)
    }

    /// The address of a block; `block` is below the count, so that it is within the memory.
    fn address(&self, block: u32) -> NonNull<u8> {
        assert!(block < self.count(), "chains have blocks of their area");
        // SAFETY: the memory has `count` blocks of this size.
        unsafe { self.memory.add(block as usize * self.block) }
    }

    /// Takes up to `wanted` blocks, linked to each other; returns the first, the last, and their
    /// number.
    fn take(&self, wanted: u32) -> Option<(u32, u32, u32)> {
        let mut free = self.free.lock();
        let untouched = self.count() - free.untouched;
        let taken = wanted.min(free.returned + free.untouched);
        if taken == 0 {
            return None;
        }
        let mut fresh = untouched;
        let mut one = |free: &mut FreeBlocks| {
            if free.returned > 0 {
                let block = free.head;
                free.head = self.next(block);
                free.returned -= 1;
                return block;
            }
            free.untouched -= 1;
            fresh += 1;
            fresh - 1
        };
        let first = one(&mut free);
        let mut last = first;
        for _ in 1..taken {
            let block = one(&mut free);
            self.link(last).next.store(block, Relaxed);
            last = block;
        }
        Some((first, last, taken))
    }

    /// Takes a chain of `count` blocks back.
    fn give(&self, first: u32, last: u32, count: u32) {
        let mut free = self.free.lock();
        self.link(last).next.store(free.head, Relaxed);
        free.head = first;
        free.returned += count;
    }
}

/// One reserved allocation of equal blocks.
#[derive(Clone)]
pub struct BlockArea(Arc<Area>);

impl std::fmt::Debug for BlockArea {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BlockArea({} of {} free)", self.free(), self.count())
    }
}

impl BlockArea {
    /// Reserves `count` blocks of `block` bytes; `None` if there is no such memory, or none of it.
    pub fn new(block: usize, count: u32) -> Option<Self> {
        let layout = Layout::array::<u8>(block.checked_mul(count as usize)?).ok()?;
        if layout.size() == 0 || count == NONE {
            return None;
        }
        // SAFETY: the layout has a size that is not 0.
        let memory = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let links = (0..count).map(|_| BlockLink::default()).collect();
        let free = Mutex::new(FreeBlocks { head: NONE, returned: 0, untouched: count });
        Some(Self(Arc::new(Area { memory, layout, block, links, free })))
    }

    /// Bytes of a block.
    pub fn block_size(&self) -> usize {
        self.0.block
    }

    /// Blocks of the area.
    pub fn count(&self) -> u32 {
        self.0.count()
    }

    /// Blocks that no chain has.
    pub fn free(&self) -> u32 {
        let free = self.0.free.lock();
        free.returned + free.untouched
    }

    /// An empty chain, which has no block yet.
    pub fn chain(&self) -> BlockChain {
        BlockChain { area: self.0.clone(), first: NONE, last: NONE, blocks: 0, len: 0 }
    }

    /// Whether a chain is of this area.
    pub fn has(&self, chain: &SharedBlocks) -> bool {
        Arc::ptr_eq(&self.0, &chain.area)
    }
}

/// Blocks that belong to this value alone, filled from the front. Dropped, they return to the area.
pub struct BlockChain {
    area: Arc<Area>,
    first: u32,
    last: u32,
    blocks: u32,
    len: u32,
}

impl std::fmt::Debug for BlockChain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BlockChain({} bytes in {} blocks)", self.len, self.blocks)
    }
}

impl BlockChain {
    /// Bytes written.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Blocks that the chain has.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Appends as much of `bytes` as the area has blocks for (and as 32 bits can count), and
    /// returns how much that was.
    pub fn append(&mut self, bytes: &[u8]) -> usize {
        let bytes = &bytes[..bytes.len().min((u32::MAX - self.len) as usize)];
        let size = self.area.block;
        let room = self.blocks as usize * size - self.len as usize;
        let (now, mut rest) = bytes.split_at(room.min(bytes.len()));
        if !now.is_empty() {
            let at = size - room;
            self.block_mut(self.last)[at..at + now.len()].copy_from_slice(now);
        }
        let mut block = self.add_blocks(rest.len().div_ceil(size) as u32);
        while !rest.is_empty() && block != NONE {
            let (now, later) = rest.split_at(size.min(rest.len()));
            self.block_mut(block)[..now.len()].copy_from_slice(now);
            rest = later;
            block = if block == self.last { NONE } else { self.area.next(block) };
        }
        let written = bytes.len() - rest.len();
        self.len += written as u32;
        written
    }

    /// Adds as many of `wanted` blocks as there are; returns the first of them, or `NONE`.
    fn add_blocks(&mut self, wanted: u32) -> u32 {
        let Some((first, last, count)) = self.area.take(wanted) else { return NONE };
        match self.blocks {
            0 => self.first = first,
            _ => self.area.link(self.last).next.store(first, Relaxed),
        }
        self.last = last;
        self.blocks += count;
        first
    }

    fn block_mut(&mut self, block: u32) -> &mut [u8] {
        let address = self.area.address(block);
        // SAFETY: the block is of this chain, which has it alone and is borrowed alone; the memory
        // is initialised and lives as long as the area.
        unsafe { std::slice::from_raw_parts_mut(address.as_ptr(), self.area.block) }
    }

    /// Replaces bytes that were written into the first block.
    ///
    /// # Panics
    /// They were not, or are not in the first block.
    pub fn overwrite_front(&mut self, bytes: &[u8]) {
        assert!(bytes.len() <= self.len as usize, "only what was written is replaced");
        if !bytes.is_empty() {
            self.block_mut(self.first)[..bytes.len()].copy_from_slice(bytes);
        }
    }

    /// Ends writing: the bytes can be read by many holders. `None` if nothing was written.
    pub fn share(self) -> Option<SharedBlocks> {
        if self.blocks == 0 {
            return None;
        }
        self.area.link(self.first).holders.store(1, Relaxed);
        let (first, len) = (self.first, self.len);
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped nor used again, so the reference is moved out once.
        let area = unsafe { std::ptr::read(&this.area) };
        Some(SharedBlocks { area, first, len })
    }
}

impl Drop for BlockChain {
    fn drop(&mut self) {
        if self.blocks > 0 {
            self.area.give(self.first, self.last, self.blocks);
        }
    }
}

/// One holder of a chain that is not written any more. The last one returns the blocks to the area.
pub struct SharedBlocks {
    area: Arc<Area>,
    first: u32,
    len: u32,
}

impl std::fmt::Debug for SharedBlocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SharedBlocks({} bytes, {} holders)", self.len, self.holders())
    }
}

impl SharedBlocks {
    /// Bytes of the chain.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether the chain is empty, which is never the case: empty chains are not shared.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Blocks of the chain.
    pub fn blocks(&self) -> u32 {
        self.len.div_ceil(self.area.block as u32)
    }

    /// Holders of the chain. Only holders make holders, so 1 is certain until this one is cloned.
    pub fn holders(&self) -> u32 {
        self.area.link(self.first).holders.load(Acquire)
    }

    /// The address of the first block, which tells chains apart in listings.
    pub fn address(&self) -> usize {
        self.area.address(self.first).as_ptr() as usize
    }

    /// Bytes from `from` on, at most `len`, in pieces of a block each.
    pub fn pieces(&self, from: usize, len: usize) -> Pieces<'_> {
        let from = from.min(self.len());
        let left = len.min(self.len() - from);
        // The walk to the first block of an empty range may lead behind the last one.
        let blocks = if left == 0 { 0 } else { from / self.area.block };
        let block = (0..blocks).fold(self.first, |block, _| self.area.next(block));
        Pieces { blocks: self, block, at: from % self.area.block, left }
    }

    /// The first block's bytes.
    pub fn front(&self) -> &[u8] {
        self.bytes(self.first, 0, self.len().min(self.area.block))
    }

    fn bytes(&self, block: u32, at: usize, len: usize) -> &[u8] {
        &self.run(block, 1)[at..at + len]
    }

    /// The bytes of `count` blocks of the chain that lie one behind the other in the area.
    fn run(&self, block: u32, count: u32) -> &[u8] {
        let end = block.checked_add(count).filter(|end| *end <= self.area.count());
        assert!(end.is_some(), "chains have blocks of their area");
        let address = self.area.address(block);
        // SAFETY: the blocks are of this chain, which is not written until its last holder is
        // dropped; the memory of the area holds them one behind the other, is initialised and lives
        // as long as the area.
        unsafe { std::slice::from_raw_parts(address.as_ptr(), count as usize * self.area.block) }
    }
}

impl Clone for SharedBlocks {
    fn clone(&self) -> Self {
        let before = self.area.link(self.first).holders.fetch_add(1, Relaxed);
        if before >= MAX_HOLDERS {
            std::process::abort();
        }
        Self { area: self.area.clone(), first: self.first, len: self.len }
    }
}

impl Drop for SharedBlocks {
    fn drop(&mut self) {
        if self.area.link(self.first).holders.fetch_sub(1, Release) != 1 {
            return;
        }
        // Reads of other holders happen before the blocks are written again.
        fence(Acquire);
        let blocks = self.blocks();
        let last = (1..blocks).fold(self.first, |block, _| self.area.next(block));
        self.area.give(self.first, last, blocks);
    }
}

/// Iterator of [`SharedBlocks::pieces`].
#[derive(Clone, Debug)]
pub struct Pieces<'a> {
    blocks: &'a SharedBlocks,
    block: u32,
    at: usize,
    left: usize,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.left == 0 {
            return None;
        }
        let area = &self.blocks.area;
        let len = self.left.min(area.block - self.at);
        let piece = self.blocks.bytes(self.block, self.at, len);
        self.left -= len;
        self.at = 0;
        if self.left > 0 {
            self.block = area.next(self.block);
        }
        Some(piece)
    }
}

/// A reader that continues at its last position.
#[derive(Debug)]
pub struct BlockReader {
    blocks: SharedBlocks,
    block: u32,
    at: usize,
    left: usize,
}

impl BlockReader {
    /// Reads `len` bytes from `from` on, or as many as there are.
    pub fn new(blocks: SharedBlocks, from: usize, len: usize) -> Self {
        let Pieces { block, at, left, .. } = blocks.pieces(from, len);
        Self { blocks, block, at, left }
    }

    /// The chain that is read.
    pub fn blocks(&self) -> &SharedBlocks {
        &self.blocks
    }

    /// Bytes that were not consumed yet.
    pub fn left(&self) -> usize {
        self.left
    }

    /// The bytes that were not consumed yet, in pieces of a block each.
    pub fn pieces(&self) -> Pieces<'_> {
        Pieces { blocks: &self.blocks, block: self.block, at: self.at, left: self.left }
    }

    /// Lends the next bytes to a vectored write; returns how many slices were set, at most all of
    /// `out`. Blocks that lie one behind the other in the area are one slice.
    pub fn lend<'a>(&'a self, out: &mut [IoSlice<'a>]) -> usize {
        let (mut block, mut at, mut left) = (self.block, self.at, self.left);
        let mut count = 0;
        for slice in out.iter_mut() {
            if left == 0 {
                break;
            }
            let blocks = (at + left).div_ceil(self.blocks.area.block);
            let (run, next) = self.adjacent(block, blocks as u32);
            let bytes = &self.blocks.run(block, run)[at..];
            let len = bytes.len().min(left);
            *slice = IoSlice::new(&bytes[..len]);
            (block, at, left, count) = (next, 0, left - len, count + 1);
        }
        count
    }

    /// How many of the `most` blocks from `first` on lie one behind the other, and the block that
    /// follows them in the chain.
    fn adjacent(&self, first: u32, most: u32) -> (u32, u32) {
        let mut count = 1;
        while count < most {
            let next = self.blocks.area.next(first + count - 1);
            if next != first + count {
                return (count, next);
            }
            count += 1;
        }
        (count, NONE)
    }

    /// Drops `count` bytes from the front (all, if there are fewer).
    pub fn consume(&mut self, count: usize) {
        let mut count = count.min(self.left);
        while count > 0 {
            let step = count.min(self.blocks.area.block - self.at);
            (count, self.left, self.at) = (count - step, self.left - step, self.at + step);
            if self.at == self.blocks.area.block && self.left > 0 {
                (self.block, self.at) = (self.blocks.area.next(self.block), 0);
            }
        }
    }
}

#[cfg(test)]
mod tests;
