//! A lock-free histogram with buckets whose width grows with the value.
//!
//! Each power of two is one octave of 32 buckets of equal width, so that a bucket is at most 1/32
//! as wide as its lower edge and its middle is within 1.6 % of every value in it; values below 64
//! have a bucket each. An octave allocates its memory (256 bytes) at its first value.
//!
//! One thread writes, any number read: plain loads and stores of atomics are enough.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Buckets of an octave.
const WIDTH: usize = 32;
/// Bits of a value that select the bucket within its octave.
const BITS: u32 = WIDTH.trailing_zeros();
/// Largest value that has a bucket: 2^36 - 1, 19 hours in microseconds; larger values count as this
/// one.
pub const LARGEST: u64 = (1 << 36) - 1;
/// Octaves; the first one holds the values below 32.
const OCTAVES: usize = 32;

type Octave = Box<[AtomicU64; WIDTH]>;

/// Counts of values, written by one thread and readable by all.
#[derive(Debug, Default)]
pub struct Histogram {
    octaves: [OnceLock<Octave>; OCTAVES],
    sum: AtomicU64,
}

/// Octave and bucket of a value.
#[inline]
fn place(value: u64) -> (usize, usize) {
    let value = value.min(LARGEST);
    if value < WIDTH as u64 {
        return (0, value as usize);
    }
    let shift = value.ilog2() - BITS;
    (shift as usize + 1, (value >> shift) as usize - WIDTH)
}

/// Lower edge and width of a bucket.
fn bounds(bucket: usize) -> (u64, u64) {
    let (octave, index) = (bucket / WIDTH, (bucket % WIDTH) as u64);
    match octave {
        0 => (index, 1),
        _ => ((WIDTH as u64 + index) << (octave - 1), 1 << (octave - 1)),
    }
}

impl Histogram {
    /// Counts a value; values above [`LARGEST`] count as that. Called by the owning thread only.
    #[inline]
    pub fn record(&self, value: u64) {
        let (octave, bucket) = place(value);
        let counts = self.octaves[octave].get_or_init(empty_octave);
        raise(&counts[bucket], 1);
        raise(&self.sum, value);
    }

    /// Sets all counts to 0. Called by the owning thread only.
    pub fn clear(&self) {
        let counts = self.octaves.iter().filter_map(OnceLock::get).flat_map(|octave| &**octave);
        counts.chain([&self.sum]).for_each(|count| count.store(0, Relaxed));
    }
}

#[cold]
fn empty_octave() -> Octave {
    Box::new(std::array::from_fn(|_| AtomicU64::new(0)))
}

/// Adds to a cell that only this thread writes.
#[inline]
fn raise(cell: &AtomicU64, amount: u64) {
    cell.store(cell.load(Relaxed).wrapping_add(amount), Relaxed);
}

/// The sum of histograms at the time they were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Counts by bucket, up to the last bucket that is not empty.
    counts: Vec<u64>,
    count: u64,
    sum: u64,
}

impl Summary {
    /// Adds the present counts of a histogram.
    pub fn add(&mut self, histogram: &Histogram) {
        for (octave, counts) in histogram.octaves.iter().enumerate() {
            let Some(counts) = counts.get() else { continue };
            for (index, count) in counts.iter().enumerate() {
                let count = count.load(Relaxed);
                if count > 0 {
                    self.put(octave * WIDTH + index, count);
                }
            }
        }
        self.sum = self.sum.wrapping_add(histogram.sum.load(Relaxed));
    }

    fn put(&mut self, bucket: usize, count: u64) {
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += count;
        self.count += count;
    }

    /// The difference to an earlier summary of the same histograms. A bucket with a smaller count
    /// than before was cleared, so all of its count is new.
    pub fn since(&self, before: &Self) -> Self {
        let earlier = before.counts.iter().copied().chain(std::iter::repeat(0));
        let grown = |(now, then): (&u64, u64)| now.checked_sub(then).unwrap_or(*now);
        let counts: Vec<u64> = self.counts.iter().zip(earlier).map(grown).collect();
        let (count, sum) = (counts.iter().sum(), self.sum.checked_sub(before.sum));
        Self { counts, count, sum: sum.unwrap_or(self.sum) }
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of all values.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The value that this share (`0.0..=1.0`) of all values does not exceed, within 1.6 %; `None`
    /// without values.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let rank = ((self.count as f64 * share).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        let found = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        let (low, width) = bounds(found);
        Some(low + width / 2)
    }

    /// Number of values below an edge: exact if the edge is a power of two or 1.5 times one,
    /// otherwise to the bucket.
    pub fn below(&self, edge: u64) -> u64 {
        let buckets = self.counts.iter().enumerate();
        buckets.take_while(|(bucket, _)| bounds(*bucket).0 < edge).map(|(_, count)| count).sum()
    }

    /// Buckets that are not empty: lower edge, width and count, in order.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(bucket, count)| {
            let (low, width) = bounds(bucket);
            (low, width, *count)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filled(values: &[u64]) -> Summary {
        let histogram = Histogram::default();
        values.iter().for_each(|value| histogram.record(*value));
        let mut summary = Summary::default();
        summary.add(&histogram);
        summary
    }

    proptest! {
        #[test]
        fn a_bucket_holds_its_values(value in 0..=LARGEST) {
            let (octave, index) = place(value);
            let (low, width) = bounds(octave * WIDTH + index);
            prop_assert!((low..low + width).contains(&value));
            prop_assert!(width == 1 || width * WIDTH as u64 <= low);
        }

        #[test]
        fn quantiles_are_within_two_percent(
            mut values in proptest::collection::vec(1u64..50_000_000, 1..400),
            share in 0.0f64..=1.0,
        ) {
            let summary = filled(&values);
            values.sort_unstable();
            let rank = ((values.len() as f64 * share).ceil() as usize).clamp(1, values.len());
            let (exact, got) = (values[rank - 1] as f64, summary.quantile(share).unwrap() as f64);
            prop_assert!((got - exact).abs() <= exact * 0.02, "{got} for {exact}");
        }

        #[test]
        fn counts_below_a_round_edge_are_exact(
            values in proptest::collection::vec(0u64..5_000_000, 0..200),
            power in 5u32..24,
            half in any::<bool>(),
        ) {
            let edge = (1u64 << power) + if half { 1 << (power - 1) } else { 0 };
            let exact = values.iter().filter(|value| **value < edge).count();
            prop_assert_eq!(filled(&values).below(edge), exact as u64);
        }
    }

    #[test]
    fn values_beyond_the_largest_count_as_that() {
        let summary = filled(&[u64::MAX, LARGEST]);
        assert_eq!(summary.count(), 2);
        assert_eq!(summary.buckets().count(), 1);
    }

    #[test]
    fn empty_summaries_have_no_quantiles() {
        let mut summary = Summary::default();
        assert_eq!(summary.quantile(0.5), None);
        let histogram = Histogram::default();
        histogram.record(7);
        histogram.clear();
        summary.add(&histogram);
        assert_eq!((summary.count(), summary.sum(), summary.quantile(0.99)), (0, 0, None));
    }

    #[test]
    fn difference_of_two_summaries() {
        let before = filled(&[10, 10, 500]);
        let since = filled(&[10, 10, 10, 500, 9_000]).since(&before);
        assert_eq!((since.count(), since.sum()), (2, 9_010));
        assert_eq!(since.quantile(0.5), Some(10));
        let cleared = filled(&[10]).since(&before);
        assert_eq!((cleared.count(), cleared.sum()), (1, 10));
        assert_eq!(before.since(&before).quantile(0.5), None);
    }

    #[test]
    fn summaries_add_up() {
        let (one, two) = (Histogram::default(), Histogram::default());
        one.record(10);
        two.record(1000);
        let mut summary = Summary::default();
        [&one, &two].into_iter().for_each(|histogram| summary.add(histogram));
        assert_eq!((summary.count(), summary.sum()), (2, 1010));
        assert_eq!(summary.quantile(0.5), Some(10));
        assert_eq!(summary.buckets().collect::<Vec<_>>(), [(10, 1, 1), (992, 16, 1)]);
    }
}
