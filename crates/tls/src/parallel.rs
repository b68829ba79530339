//! A map over a slice that uses all processors and keeps the order of the items.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use stdx::Mutex;

/// Items that a thread takes at a time: with fewer it is not worth to start one.
const SHARE: usize = 32;

/// The results of `work` for each item, in order.
pub(crate) fn parallel_map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let shares = items.len().div_ceil(SHARE);
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(shares)));
    let run = || {
        loop {
            let at = next.fetch_add(1, Relaxed);
            let Some(share) = items.chunks(SHARE).nth(at) else { break };
            let made: Vec<R> = share.iter().map(&work).collect();
            done.lock().push((at, made));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..processors.min(shares) {
            // If no thread can be started, the other threads do its share.
            let _ = std::thread::Builder::new().spawn_scoped(scope, run);
        }
        run();
    });
    let mut done = done.into_inner();
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().flat_map(|(_, made)| made).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_order_of_inputs() {
        for count in [0, 1, SHARE, SHARE + 1, 10 * SHARE + 7] {
            let items: Vec<usize> = (0..count).collect();
            let expected: Vec<usize> = items.iter().map(|item| item * 3).collect();
            assert_eq!(parallel_map(&items, |item| item * 3), expected);
        }
    }
}
