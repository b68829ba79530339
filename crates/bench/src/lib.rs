//! Helpers of the in-process benchmarks: timing a loop, quantiles, and tables as text.

#![forbid(unsafe_code)]

pub mod peers;

use std::time::Instant;

/// The current time, for measurements.
#[allow(clippy::disallowed_methods, reason = "a benchmark is outside the reactor")]
pub fn now() -> Instant {
    Instant::now()
}

/// Nanoseconds per operation: the best of `rounds` runs of `work`, each of which does `count`
/// operations. The best one counts, because other load only ever adds time.
pub fn nanos_per_op(rounds: u32, count: u64, mut work: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..rounds {
        let start = now();
        work();
        best = best.min(start.elapsed().as_nanos() as f64 / count.max(1) as f64);
    }
    best
}

/// The value below which `fraction` (0 to 1) of the sorted values lie; NaN if there are none.
pub fn quantile(sorted: &[f64], fraction: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let index = ((sorted.len() as f64 * fraction) as usize).min(last);
    sorted.get(index).copied().unwrap_or(f64::NAN)
}

/// Rows under a header as text, the first column left-aligned, the others right-aligned.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain(head.get(column).map(|cell| cell.chars().count())).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    std::iter::once(&head).chain(rows).map(|row| line(row, &widths)).collect()
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let mut text = String::new();
    for (number, (cell, width)) in cells.iter().zip(widths).enumerate() {
        match number {
            0 => text.push_str(&format!("{cell:<width$}")),
            _ => text.push_str(&format!("  {cell:>width$}")),
        }
    }
    format!("{}\n", text.trim_end())
}

#[cfg(test)]
mod tests {
    //! Tests of the arithmetic.
    use super::*;

    #[test]
    fn quantiles_of_few_and_none() {
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), 3.0);
        assert_eq!(quantile(&[1.0], 0.999), 1.0);
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn columns_line_up() {
        let rows = [vec!["spawn".to_owned(), "1.5".to_owned()]];
        assert_eq!(
            table(&["what", "nanoseconds"], &rows),
            "what   nanoseconds\nspawn          1.5\n"
        );
    }
}
