//! Histograms of latencies: written by the serving thread, summed by readers.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use stdx::{Histogram, Summary};

/// Measured spans of time. All but the first two appear in the log line too (manual section 8.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Span {
    /// Of a new client connection, until it could carry requests: PROXY header and TLS.
    Handshake,
    /// In queues.
    Queue,
    /// To make a new server connection; requests on a kept one do not count.
    Connect,
    /// From the connection to the response's head.
    Response,
    /// From the request's first byte to the response's last.
    Total,
}

/// Every span, in the order of a request's life.
pub const SPANS: [Span; 5] =
    [Span::Handshake, Span::Queue, Span::Connect, Span::Response, Span::Total];

/// One thread's histograms, in microseconds.
#[derive(Debug, Default)]
pub struct LatencyBlock {
    /// Number of the clearing that precedes these counts.
    generation: AtomicU32,
    spans: [Histogram; SPANS.len()],
}

/// Histograms of one frontend, backend or server, over all threads.
#[derive(Debug)]
pub struct Latencies {
    blocks: Box<[OnceLock<Box<LatencyBlock>>]>,
    /// Number of clearings. Threads clear their own blocks at their next count, so that each block
    /// has one writer.
    generation: AtomicU32,
}

impl Latencies {
    /// Histograms for this many threads.
    pub(crate) fn new(threads: usize) -> Self {
        let blocks = (0..threads).map(|_| OnceLock::new()).collect();
        Self { blocks, generation: AtomicU32::new(0) }
    }

    /// Counts a span of a thread between two moments in nanoseconds; nothing if either moment is 0,
    /// that is, not reached.
    #[inline]
    pub fn record(&self, thread: usize, span: Span, from: u64, to: u64) {
        self.of(thread).record(span, from, to);
    }

    /// The histograms of a thread, for that thread.
    #[inline]
    pub fn of(&self, thread: usize) -> &LatencyBlock {
        let block = self.blocks[thread].get_or_init(Box::default);
        let generation = self.generation.load(Relaxed);
        if block.generation.load(Relaxed) != generation {
            block.restart(generation);
        }
        block
    }

    /// Measurements so far, in microseconds.
    pub fn summary(&self, span: Span) -> Summary {
        let mut summary = Summary::default();
        self.add_to(&mut summary, span);
        summary
    }

    /// Adds the measurements.
    pub fn add_to(&self, summary: &mut Summary, span: Span) {
        let generation = self.generation.load(Relaxed);
        for block in self.blocks.iter().filter_map(OnceLock::get) {
            if block.generation.load(Relaxed) == generation {
                summary.add(&block.spans[span as usize]);
            }
        }
    }

    /// Clears all histograms (`clear counters all`).
    pub fn clear(&self) {
        self.generation.fetch_add(1, Relaxed);
    }
}

impl LatencyBlock {
    /// As [`Latencies::record`].
    #[inline]
    pub fn record(&self, span: Span, from: u64, to: u64) {
        if from != 0 && to != 0 {
            self.spans[span as usize].record(to.saturating_sub(from) / 1000);
        }
    }

    #[cold]
    fn restart(&self, generation: u32) {
        self.spans.iter().for_each(Histogram::clear);
        self.generation.store(generation, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn threads_add_up() {
        let latencies = Latencies::new(3);
        latencies.record(0, Span::Total, MS, 3 * MS);
        latencies.record(2, Span::Total, MS, 3 * MS);
        latencies.record(2, Span::Queue, MS, MS);
        latencies.record(2, Span::Connect, MS, 0);
        let total = latencies.summary(Span::Total);
        assert_eq!((total.count(), total.sum()), (2, 4000));
        assert_eq!(latencies.summary(Span::Queue).quantile(0.5), Some(0));
        assert_eq!(latencies.summary(Span::Connect).count(), 0);
    }

    #[test]
    fn cleared_ones_start_anew() {
        let latencies = Latencies::new(2);
        latencies.record(0, Span::Total, MS, 2 * MS);
        latencies.clear();
        assert_eq!(latencies.summary(Span::Total).count(), 0);
        latencies.record(1, Span::Total, MS, 5 * MS);
        assert_eq!(latencies.summary(Span::Total).sum(), 4000);
    }
}
