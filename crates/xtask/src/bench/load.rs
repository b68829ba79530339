//! The load generators, wrk, h2load and h3-load, pinned to processor 1, and what they print.

use std::path::Path;
use std::process::Command;

use super::process;
use crate::failure::{self, Outcome};

/// The counts of a load generator.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counted {
    pub(super) requests: u64,
    /// Bytes that wrk has received, with heads; 0 for h2load.
    pub(super) bytes: f64,
    /// The 99th percentile of latency as wrk and h3-load print it, `-` for h2load.
    pub(super) p99: String,
    /// Answers whose status is neither 2xx nor 3xx; for h2load, failed requests.
    pub(super) bad_status: u64,
    /// wrk's `connect, read, write` errors, added up.
    pub(super) socket_errors: u64,
    /// Answers that took wrk's two seconds or more: late, not lost.
    pub(super) late: u64,
}

impl Counted {
    /// The 99th percentile in milliseconds; NaN without one.
    pub(super) fn p99_ms(&self) -> f64 {
        let units = [("us", 1e-3), ("ms", 1.0), ("s", 1e3), ("m", 6e4)];
        let read = |(unit, factor): &(&str, f64)| {
            self.p99.strip_suffix(unit)?.parse().ok().map(|value: f64| value * factor)
        };
        units.iter().find_map(read).unwrap_or(f64::NAN)
    }

    /// The errors, empty when there are none.
    pub(super) fn note(&self) -> String {
        let mut words = Vec::new();
        if self.bad_status > 0 {
            words.push(format!("non2xx={}", self.bad_status));
        }
        if self.socket_errors > 0 {
            words.push(format!("sockerr={}", self.socket_errors));
        }
        if self.late > 0 {
            words.push(format!("late={}", self.late));
        }
        words.join(" ")
    }
}

/// The command for a load, one word each; its program is the first.
pub(super) fn command(words: &[String]) -> Command {
    let mut words = words.iter();
    let program = words.next().map_or("wrk", String::as_str);
    let mut command = process::pinned(1, Path::new(program));
    command.args(words);
    command
}

/// Runs a load to its end.
pub(super) fn run(words: &[String]) -> Outcome<Counted> {
    let output = command(words)
        .output()
        .map_err(|error| failure::machine(format!("cannot start the load: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    read(&text).ok_or_else(|| failure::check(format!("no load result: {}", tail(&text, 200))))
}

/// The last `count` characters of a text, on one line.
pub(super) fn tail(text: &str, count: usize) -> String {
    let start = text.char_indices().rev().nth(count.saturating_sub(1)).map_or(0, |(at, _)| at);
    text[start..].split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Reads what wrk or h2load printed.
pub(super) fn read(text: &str) -> Option<Counted> {
    if text.contains("requests in") { read_wrk(text) } else { read_h2load(text) }
}

fn read_wrk(text: &str) -> Option<Counted> {
    let mut counted = Counted { p99: "-".to_owned(), ..Counted::default() };
    let mut seen = false;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [count, "requests", "in", _, size, "read"] => {
                (counted.requests, counted.bytes) = (count.parse().ok()?, bytes(size)?);
                seen = true;
            }
            ["99%", value] => counted.p99 = (*value).to_owned(),
            ["Non-2xx", "or", "3xx", "responses:", count] => {
                counted.bad_status = count.parse().ok()?;
            }
            ["Socket", "errors:", counts @ ..] => {
                let numbers =
                    counts.iter().filter_map(|word| word.trim_end_matches(',').parse::<u64>().ok());
                let all: Vec<u64> = numbers.collect();
                counted.socket_errors = all.iter().take(3).sum();
                counted.late = all.get(3).copied().unwrap_or(0);
            }
            _ => {}
        }
    }
    seen.then_some(counted)
}

/// A size as wrk prints it: `1.23MB`.
fn bytes(text: &str) -> Option<f64> {
    let units = [("KB", 1024.0), ("MB", 1048576.0), ("GB", 1073741824.0), ("B", 1.0)];
    let read = |(unit, factor): &(&str, f64)| {
        text.strip_suffix(unit)?.parse().ok().map(|value: f64| value * factor)
    };
    units.iter().find_map(read)
}

/// `requests: 100 total, 100 started, 100 done, 99 succeeded, 1 failed, 0 errored, 0 timeout`.
fn read_h2load(text: &str) -> Option<Counted> {
    let line = text.lines().find_map(|line| line.strip_prefix("requests: "))?;
    let count = |label: &str| {
        let part = line.split(", ").find(|part| part.ends_with(label))?;
        part.split_whitespace().next()?.parse().ok()
    };
    let latency = text.lines().find_map(|line| line.strip_prefix("latency: "));
    let p99 = latency.and_then(|line| line.split(", ").find_map(|part| part.strip_prefix("99% ")));
    Some(Counted {
        requests: count("succeeded")?,
        p99: p99.unwrap_or("-").to_owned(),
        bad_status: count("failed")?,
        ..Counted::default()
    })
}

#[cfg(test)]
mod tests {
    //! Outputs of both generators.
    use super::*;

    #[test]
    fn reads_wrk() {
        let text = "Running 5s test\n  Latency Distribution\n     50%    1.00ms\n     99%    9.87ms\n  \
            12345 requests in 5.01s, 2.00MB read\n  Socket errors: connect 1, read 2, write 0, timeout 4\n  \
            Non-2xx or 3xx responses: 17\nRequests/sec:   2464.07\n";
        let counted = read(text).unwrap();
        assert_eq!(counted.requests, 12345);
        assert_eq!(counted.p99, "9.87ms");
        let of = |p99: &str| Counted { p99: p99.to_owned(), ..Counted::default() }.p99_ms();
        assert_eq!(["870.00us", "9.87ms", "1.25s"].map(of), [0.87, 9.87, 1250.0]);
        assert!(of("-").is_nan());
        assert_eq!(counted.note(), "non2xx=17 sockerr=3 late=4");
    }

    #[test]
    fn reads_h2load() {
        let text = "finished in 5.00s\nrequests: 100 total, 100 started, 100 done, 98 succeeded, \
            2 failed, 0 errored, 0 timeout\n";
        let counted = read(text).unwrap();
        assert_eq!((counted.requests, counted.bad_status), (98, 2));
        assert_eq!(counted.p99, "-");
        let more = "latency: 50% 0.10ms, 99% 1.25ms, 99.9% 2.00ms, max 3.00ms\n";
        assert_eq!(read(&format!("{text}{more}")).unwrap().p99, "1.25ms");
    }

    #[test]
    fn wants_a_result() {
        assert_eq!(read("unable to connect to 127.0.0.1:1\n"), None);
        assert_eq!(tail("ab  cd\nef", 5), "cd ef");
    }
}
