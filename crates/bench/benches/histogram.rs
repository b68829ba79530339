//! `cargo xtask bench histogram`: cost of counting a time, and error of quantiles.
//!
//! Times are drawn as in real traffic: most within a factor of two, one in a hundred up to a
//! hundred times as long. `cold` uses 1,000 histograms in turn, so that hardly any is in the cache.

use bench::{nanos_per_op, table};
use std::hint::black_box;
use stdx::{Histogram, Prng, Summary};

const SAMPLES: usize = 1_000_000;
const SHARES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)];

/// Microseconds.
fn times() -> Vec<u64> {
    let random = Prng::new(7);
    let tail = || if random.below(100) == 0 { u64::from(random.below(100)) + 1 } else { 1 };
    (0..SAMPLES).map(|_| (500 + u64::from(random.below(500))) * tail()).collect()
}

fn main() {
    let times = times();
    let (warm, cold): (Histogram, Vec<Histogram>) =
        (Histogram::default(), (0..1_000).map(|_| Histogram::default()).collect());
    let count = SAMPLES as u64;
    let one = nanos_per_op(5, count, || times.iter().for_each(|time| warm.record(*time)));
    let many = nanos_per_op(5, count, || {
        let places = cold.iter().cycle();
        times.iter().zip(places).for_each(|(time, place)| place.record(black_box(*time)));
    });
    let mut summary = Summary::default();
    let read = nanos_per_op(5, 1, || {
        summary = Summary::default();
        summary.add(&warm);
    });
    println!("count a time: {one:.1} ns, cold {many:.1} ns; add one up: {read:.0} ns\n");
    let mut sorted = times;
    sorted.sort_unstable();
    let rows: Vec<Vec<String>> =
        SHARES.iter().map(|share| row(&sorted, &summary, *share)).collect();
    print!("{}", table(&["share", "exact us", "told us", "off by"], &rows));
}

fn row(sorted: &[u64], summary: &Summary, (name, share): (&str, f64)) -> Vec<String> {
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    let exact = sorted[rank.clamp(1, sorted.len()) - 1];
    let told = summary.quantile(share).unwrap_or(0);
    let off = (told as f64 - exact as f64).abs() * 100.0 / exact as f64;
    vec![name.into(), exact.to_string(), told.to_string(), format!("{off:.2} %")]
}
