//! The load that compression makes in the whole process: bytes per second, memory of encoders.

use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};

/// Bytes of the present second and of the one before.
#[derive(Debug, Default)]
struct ByteRate {
    second: AtomicU32,
    current: AtomicU64,
    previous: AtomicU64,
}

impl ByteRate {
    fn add(&self, second: u32, bytes: u64) {
        let old = self.second.load(Relaxed);
        // The thread that sees a new second first turns the counters.
        if old != second && self.second.compare_exchange(old, second, SeqCst, Relaxed).is_ok() {
            let last = self.current.swap(0, Relaxed);
            self.previous.store(if old.wrapping_add(1) == second { last } else { 0 }, Relaxed);
        }
        self.current.fetch_add(bytes, Relaxed);
    }

    /// Bytes of the last whole second or of this one, whichever are more.
    fn per_second(&self, second: u32) -> u64 {
        let (current, previous) = (self.current.load(Relaxed), self.previous.load(Relaxed));
        match second.wrapping_sub(self.second.load(Relaxed)) {
            0 => current.max(previous),
            1 => current,
            _ => 0,
        }
    }
}

/// The load that all encoders of the process make. Counted only by responses that are compressed.
#[derive(Debug, Default)]
pub struct CompressionLoad {
    consumed: ByteRate,
    produced: ByteRate,
    memory: AtomicU64,
}

impl CompressionLoad {
    /// Counts bytes that an encoder has consumed and produced; `now_ms` is the process's clock.
    pub fn count(&self, now_ms: u64, consumed: usize, produced: usize) {
        let second = (now_ms / 1_000) as u32;
        self.consumed.add(second, consumed as u64);
        self.produced.add(second, produced as u64);
    }

    /// Bytes per second that encoders consume and produce.
    pub fn per_second(&self, now_ms: u64) -> (u64, u64) {
        let second = (now_ms / 1_000) as u32;
        (self.consumed.per_second(second), self.produced.per_second(second))
    }

    /// Counts memory that an encoder has taken.
    pub fn take_memory(&self, bytes: usize) {
        self.memory.fetch_add(bytes as u64, Relaxed);
    }

    /// Counts memory that an encoder has given back.
    pub fn give_memory(&self, bytes: usize) {
        self.memory.fetch_sub(bytes as u64, Relaxed);
    }

    /// Bytes of memory of all encoders.
    pub fn memory(&self) -> u64 {
        self.memory.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_last_whole_second_or_of_this_one() {
        let load = CompressionLoad::default();
        load.count(1_000, 10, 5);
        load.count(1_900, 10, 5);
        assert_eq!(load.per_second(1_950), (20, 10));
        assert_eq!(load.per_second(2_000), (20, 10));
        load.count(2_100, 1, 1);
        assert_eq!(load.per_second(2_200), (20, 10));
        assert_eq!(load.per_second(3_000), (1, 1));
        assert_eq!(load.per_second(4_000), (0, 0));
    }
}
