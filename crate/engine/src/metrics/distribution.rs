//! Mean and quantiles of a sample, missing where the sample is too small for them.

use serde::Serialize;
use servescope_workload::statistics::select;

/// Mean and quantiles of one quantity. Quantiles interpolate linearly; one that fewer than one sample would lie beyond is
/// missing.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct Distribution {
    /// Mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 90 % are at most this; from 10 samples on.
    pub p90: Option<f64>,
    /// From 20 samples on.
    pub p95: Option<f64>,
    /// From 100 samples on.
    pub p99: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
}

/// The quantiles of a [`Distribution`].
pub const QUANTILES: [f64; 4] = [0.5, 0.9, 0.95, 0.99];

/// Whether `count` samples say anything about quantile `q`.
pub fn is_supported(q: f64, count: u64) -> bool {
    count > 0 && (q <= 0.5 || count as f64 * (1.0 - q) >= 1.0 - 1e-9)
}

impl Distribution {
    /// The distribution of `values`, whose order is lost.
    pub fn of(values: &mut [f64]) -> Self {
        let n = values.len();
        if n == 0 {
            return Self::default();
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let max = values.iter().copied().reduce(f64::max);
        // Four selections cost less than a sort, each among those that the one before left above.
        let mut from = 0;
        let [p50, p90, p95, p99] = QUANTILES.map(|q| {
            is_supported(q, n as u64).then(|| {
                let place = q * (n - 1) as f64;
                let above = std::mem::replace(&mut from, place as usize);
                select(&mut values[above..], place - above as f64)
            })
        });
        Self { mean: Some(mean), p50, p90, p95, p99, max }
    }

    /// The same with every value multiplied by `factor`.
    pub fn scaled(self, factor: f64) -> Self {
        let scale = |x: Option<f64>| x.map(|x| x * factor);
        Self {
            mean: scale(self.mean),
            p50: scale(self.p50),
            p90: scale(self.p90),
            p95: scale(self.p95),
            p99: scale(self.p99),
            max: scale(self.max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_samples_have_no_tails() {
        assert_eq!(Distribution::of(&mut []), Distribution::default());
        let d = Distribution::of(&mut [3.0, 1.0, 2.0]);
        assert_eq!((d.mean, d.p50, d.p90, d.max), (Some(2.0), Some(2.0), None, Some(3.0)));
        let mut many: Vec<f64> = (0..=100).map(f64::from).collect();
        many.reverse();
        let d = Distribution::of(&mut many);
        assert_eq!((d.p90, d.p95, d.p99), (Some(90.0), Some(95.0), Some(99.0)));
    }
}
