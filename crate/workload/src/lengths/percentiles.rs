//! Lengths through three percentiles, the numbers that services publish.
//!
//! The logarithm of the length is made of straight lines over standard normal numbers: a lognormal distribution up to the 90th
//! percentile and another one from there on. AIBrix fits one lognormal distribution by least squares instead, which meets none of its
//! percentiles ([`crate::aibrix::percentiles`]).

use super::{rounded, rounded_below};
use crate::distribution;

/// Standard normal quantiles of 0.9 and 0.99.
const Z_90: f64 = 1.281_551_565_544_600_4;
const Z_99: f64 = 2.326_347_874_040_840_8;

/// A distribution that has the given percentiles 50, 90 and 99, rounded, values outside `low..=high` moved to the bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percentiles {
    log_median: f64,
    /// Standard deviation of the logarithm up to the 90th percentile and beyond it.
    sigmas: [f64; 2],
    low: u32,
    high: u32,
}

impl Percentiles {
    /// The distribution through percentiles 50, 90 and 99, in tokens, above zero. One that lies below the one before is raised to it.
    pub fn new(percentiles: [f64; 3], low: u32, high: u32) -> Self {
        let [log_median, p90, p99] = percentiles.map(libm::log);
        let p90 = p90.max(log_median);
        let sigmas = [(p90 - log_median) / Z_90, (p99.max(p90) - p90) / (Z_99 - Z_90)];
        Self { log_median, sigmas, low, high }
    }

    fn log_p90(&self) -> f64 {
        self.log_median + self.sigmas[0] * Z_90
    }

    /// The length at the uniform number `u` in (0, 1).
    pub fn quantile(&self, u: f64) -> u32 {
        let z = distribution::normal_quantile(u);
        let log = if z < Z_90 {
            self.log_median + self.sigmas[0] * z
        } else {
            self.log_p90() + self.sigmas[1] * (z - Z_90)
        };
        rounded(libm::exp(log), self.low, self.high)
    }

    /// The probability of a length below `x`.
    pub fn below(&self, x: u32) -> f64 {
        rounded_below(x, self.low, self.high, |x| {
            let over = libm::log(x) - self.log_p90();
            let sigma = self.sigmas[usize::from(over >= 0.0)];
            // Where a piece has no spread, nothing or everything of it is below.
            if sigma > 0.0 { Z_90 + over / sigma } else { over * f64::INFINITY }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_percentiles_are_met() {
        let distribution = Percentiles::new([1469.0, 5188.0, 7436.0], 1, 1_000_000);
        assert_eq!([0.5, 0.9, 0.99].map(|u| distribution.quantile(u)), [1469, 5188, 7436]);
        assert_eq!(Percentiles::new([100.0, 900.0, 9000.0], 50, 5000).quantile(0.99), 5000);
        assert_eq!(Percentiles::new([100.0, 900.0, 9000.0], 50, 5000).quantile(0.01), 50);
        let flat = Percentiles::new([100.0, 100.0, 100.0], 1, 5000);
        assert_eq!([1e-9, 0.5, 0.9, 1.0 - 1e-9].map(|u| flat.quantile(u)), [100; 4]);
        assert_eq!([100, 101].map(|x| flat.below(x)), [0.0, 1.0]);
    }

    #[test]
    fn the_quantiles_are_those_of_the_distribution() {
        for (p, z) in [(0.9, Z_90), (0.99, Z_99)] {
            assert!(
                (distribution::normal_quantile(p) - z).abs() < 1e-15,
                "{}",
                distribution::normal_quantile(p)
            );
        }
    }
}
