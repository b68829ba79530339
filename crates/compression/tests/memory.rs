//! Memory of the encoders: the bounds that are known before there is one hold.

mod common;

use common::ENCODINGS;
use compression::{Algorithm, Encoder, Flush, Scratch, Tuning};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static USED: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call continues to the system's allocator with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let used = USED.get() + layout.size();
        USED.set(used);
        PEAK.set(PEAK.get().max(used));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        USED.set(USED.get().saturating_sub(layout.size()));
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn text() -> Vec<u8> {
    let word = |index: usize| format!("<li class=\"c{}\">item {}</li>\n", index % 7, index * index);
    (0..6000).flat_map(|index| word(index).into_bytes()).collect()
}

/// Encodes a text; returns the peak of allocated memory, and the figure that the encoder reports.
fn peak(algorithm: Algorithm, tuning: &Tuning, text: &[u8]) -> (usize, usize) {
    let mut scratch = Scratch::default();
    let mut room = vec![0; 16_384];
    let before = USED.get();
    PEAK.set(before);
    let mut encoder = Encoder::new(algorithm, tuning).expect("an encoder");
    let mut reported = 0;
    for mut piece in text.chunks(15_000) {
        loop {
            let progress =
                encoder.write(piece, &mut room, Flush::Sync, &mut scratch).expect("encodes");
            piece = &piece[progress.consumed..];
            reported = reported.max(encoder.memory());
            if progress.done {
                break;
            }
        }
    }
    (PEAK.get() - before, reported)
}

#[test]
fn an_encoder_stays_below_the_bound_that_was_announced() {
    let text = text();
    for algorithm in ENCODINGS {
        for level in 2..=9 {
            for (window_bits, memory_level) in [(15, 8), (8, 1), (15, 9), (12, 4)] {
                let tuning = Tuning { level, window_bits, memory_level };
                let most = Encoder::most_memory(algorithm, &tuning);
                let (peak, reported) = peak(algorithm, &tuning, &text);
                println!(
                    "{algorithm:?} {tuning:?}: {peak} allocated, {reported} reported of {most}"
                );
                assert!(peak <= most && reported <= most);
                // The library in C allocates behind the back of the counter.
                assert!(algorithm == Algorithm::Zstd || reported >= peak / 10 * 9);
            }
        }
    }
}

#[test]
fn the_encoder_without_history_allocates_nothing() {
    let text = text();
    for algorithm in [Algorithm::Gzip, Algorithm::Deflate, Algorithm::RawDeflate] {
        let tuning = Tuning::default();
        assert_eq!(peak(algorithm, &tuning, &text), (0, 0));
        assert_eq!(Encoder::most_memory(algorithm, &tuning), 0);
    }
    assert!(size_of::<Encoder>() <= 96, "{}", size_of::<Encoder>());
}

#[test]
fn a_scratch_is_allocated_once_per_thread() {
    let scratch = Scratch::default();
    assert!(scratch.memory() <= 65 * 1024, "{}", scratch.memory());
}
