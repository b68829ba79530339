//! Copies a ring into its file, on a thread that may wait for the disk.
//!
//! The thread follows the ring's tail, and copies out of the ring what it writes, so there is no
//! queue: if the disk is slower than the messages, parts of the file are skipped and the newest
//! messages are written.

use super::{Ring, Store};
use crate::state::os_handles::Backing;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Bytes that are copied while the ring is locked.
const PIECE: u64 = 65_536;

/// Starts the thread of a ring that has a file.
pub fn start(ring: &Arc<Ring>) {
    let Some(backing) = ring.file.clone() else { return };
    let own = ring.clone();
    let thread = std::thread::Builder::new().name("ring-file".into());
    // Without a thread there is no copy: the ring itself works.
    let _ = thread.spawn(move || run(&own, &*backing));
}

fn run(ring: &Ring, backing: &dyn Backing) {
    backing.begin();
    let mut bytes = Vec::new();
    loop {
        let store = ring.grown.wait_while(ring.lock(), |store| store.mirrored >= store.tail);
        let store = store.unwrap_or_else(PoisonError::into_inner);
        let (from, size) = (store.take_piece(&mut bytes), store.bytes.len() as u64);
        drop(store);
        let at = from % size;
        let first = bytes.len().min((size - at) as usize);
        backing.write_at(at, &bytes[..first]);
        backing.write_at(0, &bytes[first..]);
        let mut store = ring.lock();
        store.mirrored = from + bytes.len() as u64;
        drop(store);
        ring.grown.notify_all();
    }
}

impl Store {
    /// Copies the next piece that the file lacks, and returns its position.
    fn take_piece(&self, bytes: &mut Vec<u8>) -> u64 {
        let oldest = self.tail.saturating_sub(self.bytes.len() as u64);
        let from = self.mirrored.max(oldest);
        bytes.clear();
        let length = (self.tail - from).min(PIECE) as usize;
        self.parts(from, length).into_iter().for_each(|part| bytes.extend_from_slice(part));
        from
    }
}

impl Ring {
    /// Waits until the ring's file, if it has one, has all messages, for `span` at most.
    pub fn await_file(&self, span: Duration) {
        if self.file.is_some() {
            let behind = |store: &mut Store| store.mirrored < store.tail;
            drop(self.grown.wait_timeout_while(self.lock(), span, behind));
        }
    }
}
