//! A sample of durations, sorted once, for percentiles.

use std::time::Duration;

use crate::report::{Cell, time};

#[derive(Clone, Debug)]
pub struct Sample(Vec<Duration>);

impl Sample {
    pub fn from_durations(durations: impl IntoIterator<Item = Duration>) -> Self {
        let mut sorted: Vec<_> = durations.into_iter().collect();
        sorted.sort_unstable();
        Self(sorted)
    }

    /// Returns the value that `share` of the sample does not exceed; zero if it is empty.
    pub fn percentile(&self, share: f64) -> Duration {
        let rank = (share * self.0.len() as f64).ceil() as usize;
        self.0
            .get(rank.saturating_sub(1))
            .copied()
            .unwrap_or_default()
    }

    pub fn p50(&self) -> Duration {
        self.percentile(0.50)
    }

    pub fn p99(&self) -> Duration {
        self.percentile(0.99)
    }

    /// The ratio of the p99 to another sample's.
    pub fn times(&self, other: &Self) -> f64 {
        self.p99().as_secs_f64() / other.p99().as_secs_f64().max(f64::MIN_POSITIVE)
    }

    pub fn max(&self) -> Duration {
        self.0.last().copied().unwrap_or_default()
    }

    /// Returns the cells of the columns `p50 | p99 | longest`.
    pub fn cells(&self) -> [Cell; 3] {
        [self.p50(), self.p99(), self.max()].map(time)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}

/// Returns the median of a few values; zero if there are none.
pub fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = figures.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_of_the_sample() {
        let sample = Sample::from_durations((1..=100).map(Duration::from_micros));
        assert_eq!(sample.p50(), Duration::from_micros(50));
        assert_eq!(sample.p99(), Duration::from_micros(99));
        assert_eq!(Sample::from_durations([]).p99(), Duration::ZERO);
        assert!((median([3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
    }
}
