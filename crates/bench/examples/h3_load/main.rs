//! A load of HTTP/3 in a closed loop: each stream sends its next request when the last one is answered.
//!
//! The output has the counts and the percentiles of `h2load`. `cargo xtask h3-load` starts it.
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "a load generator takes the time")]

mod connection;
mod load;
mod options;
mod tls;

use options::Options;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Results of a thread.
#[derive(Debug, Default)]
pub(crate) struct LoadResult {
    /// Microseconds of each request that was answered with the status 200.
    latencies: Vec<u32>,
    /// Requests with another answer, or none.
    failed: u64,
    /// Connections that ended before their time.
    broken: u64,
    /// Bytes of bodies.
    bytes: u64,
}

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}\n{}", options::USAGE);
            return ExitCode::from(2);
        }
    };
    let crypto = tls::config();
    let start = Instant::now();
    let end = start + Duration::from_secs(u64::from(options.seconds));
    let (options, crypto) = (&options, &crypto);
    let results: Vec<LoadResult> = std::thread::scope(|scope| {
        let run = |index| scope.spawn(move || load::run(options, crypto.clone(), index, end));
        let threads: Vec<_> = (0..options.threads).map(run).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    print(results, start.elapsed());
    ExitCode::SUCCESS
}

fn print(results: Vec<LoadResult>, elapsed: Duration) {
    let mut all = LoadResult::default();
    for result in results {
        all.latencies.extend(result.latencies);
        all.failed += result.failed;
        all.broken += result.broken;
        all.bytes += result.bytes;
    }
    all.latencies.sort_unstable();
    let (good, seconds) = (all.latencies.len(), elapsed.as_secs_f64());
    let total = good as u64 + all.failed;
    let (rate, bytes) = (good as f64 / seconds, all.bytes as f64 / seconds / 1e6);
    println!("finished in {seconds:.2}s, {rate:.0} req/s, {bytes:.1} MB/s");
    println!(
        "requests: {total} total, {total} started, {total} done, {good} succeeded, {} failed, \
         {} errored, 0 timeout",
        all.failed, all.broken
    );
    let at = |share: usize| {
        let place = (good * share / 1_000).min(good.saturating_sub(1));
        all.latencies.get(place).map_or(0.0, |us| f64::from(*us) / 1e3)
    };
    let [half, most, rare, last] = [500, 990, 999, 1_000].map(at);
    println!("latency: 50% {half:.2}ms, 99% {most:.2}ms, 99.9% {rare:.2}ms, max {last:.2}ms");
}
