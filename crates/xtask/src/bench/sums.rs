//! The arithmetic of benchmarks: medians and quantiles.

/// The middle value, or the mean of the middle two.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match (values.len() % 2, values.get(middle), values.get(middle.wrapping_sub(1))) {
        (1, Some(value), _) => *value,
        (_, Some(upper), Some(lower)) => f64::midpoint(*upper, *lower),
        _ => f64::NAN,
    }
}

/// Samples, of which high quantiles are reported.
pub(super) struct Tail(Vec<f64>);

impl Tail {
    pub(super) fn new(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    /// The value that this part (0 to 1) of all values does not reach.
    pub(super) fn at(&self, part: f64) -> f64 {
        let place = (self.0.len() as f64 * part) as usize;
        let last = self.0.len().saturating_sub(1);
        self.0.get(place.min(last)).copied().unwrap_or(f64::NAN)
    }

    /// The number of samples.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_and_even() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(vec![]).is_nan());
    }

    #[test]
    fn quantiles_of_a_tail() {
        let tail = Tail::new((0..1000).rev().map(f64::from).collect());
        assert_eq!((tail.at(0.5), tail.at(0.999), tail.at(1.0)), (500.0, 999.0, 999.0));
        assert_eq!(tail.count(), 1000);
        assert!(Tail::new(vec![]).at(0.5).is_nan());
    }
}
