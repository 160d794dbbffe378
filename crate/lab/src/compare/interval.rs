//! Confidence intervals over seeds: a mean, and a difference of pairs that share their random numbers.
//!
//! - The mean of n values: Student's t with n - 1 degrees of freedom.
//! - The difference of n pairs (a, b): Student's t over the n differences b - a (paired t; Law, Simulation Modeling and
//!   Analysis, 5th edition, section 10.2.1). Pairs that share their random numbers have differences that vary less than
//!   those of independent runs.
//! - The relative difference mean(b) / mean(a) - 1: Fieller's interval of a ratio of means (Fieller 1954), the set of all
//!   ratios r for which the paired t of b - r a does not differ from 0. It leaves out 0 exactly where the interval of
//!   the difference does.

use crate::replications::{LEAST_PAIRS, paired_interval, t_quantile};

pub use crate::replications::CONFIDENCE;

/// An interval around a mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Bounds {
    /// Whether it leaves out 0.
    pub fn leaves_out_zero(self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// The mean of a sample with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanInterval {
    /// Mean.
    pub mean: f64,
    /// The interval; none of a single value.
    pub bounds: Option<Bounds>,
    /// How many values.
    pub count: usize,
}

impl MeanInterval {
    /// Of some values; none of no value.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mean = mean(values)?;
        let half = half_width(values, mean);
        let bounds = half.map(|half| Bounds { low: mean - half, high: mean + half });
        Some(Self { mean, bounds, count: values.len() })
    }
}

/// What the pairs (a, b) of one metric say of the difference of B from A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Paired {
    /// Mean of A.
    pub a: f64,
    /// Mean of B.
    pub b: f64,
    /// Mean of b - a.
    pub difference: f64,
    /// Interval of the difference; none of a single pair.
    pub bounds: Option<Bounds>,
    /// mean(b) / mean(a) - 1; none where mean(a) is not above 0.
    pub relative: Option<f64>,
    /// Interval of the relative difference; none where mean(a) may be 0 by its own interval.
    pub relative_bounds: Option<Bounds>,
    /// The standard error of the difference of independent runs over that of these pairs: the factor by which common random
    /// numbers shrink the interval. None where the pairs all differ by the same.
    pub shrink: Option<f64>,
    /// How many pairs.
    pub pairs: usize,
}

impl Paired {
    /// Of pairs (a, b); none of no pair.
    pub fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        let a: Vec<f64> = pairs.iter().map(|pair| pair.0).collect();
        let b: Vec<f64> = pairs.iter().map(|pair| pair.1).collect();
        let differences: Vec<f64> = pairs.iter().map(|(a, b)| b - a).collect();
        let (mean_a, mean_b, difference) = (mean(&a)?, mean(&b)?, mean(&differences)?);
        let bounds = paired_interval(pairs, CONFIDENCE).map(|d| Bounds { low: d.low, high: d.high });
        let is_above = mean_a > 0.0;
        // What is never below 0 falls by at most all of it.
        let is_positive = pairs.iter().all(|(a, b)| *a >= 0.0 && *b >= 0.0);
        let variances = [(&a, mean_a), (&b, mean_b)].map(|(values, mean)| sum_of_squares(values, mean));
        let own = sum_of_squares(&differences, difference);
        Some(Self {
            a: mean_a,
            b: mean_b,
            difference,
            bounds,
            relative: is_above.then(|| difference / mean_a),
            relative_bounds: is_above.then(|| fieller(&a, &differences, mean_a, difference)).flatten().map(
                |bounds| if is_positive { Bounds { low: bounds.low.max(-1.0), ..bounds } } else { bounds },
            ),
            shrink: (own > 0.0).then(|| ((variances[0] + variances[1]) / own).sqrt()),
            pairs: pairs.len(),
        })
    }

    /// Whether the pairs tell a difference.
    pub fn is_told(&self) -> bool {
        self.bounds.is_some_and(Bounds::leaves_out_zero)
    }
}

/// Fieller's interval of mean(d) / mean(a), with d = b - a. The roots of
/// (A² - h s_aa) q² - 2 (A D - h s_ad) q + D² - h s_dd = 0 with A, D the means and h = t² / n; where the first coefficient is
/// not above 0 the interval has no ends.
fn fieller(a: &[f64], d: &[f64], mean_a: f64, mean_d: f64) -> Option<Bounds> {
    let count = a.len();
    if count < LEAST_PAIRS {
        return None;
    }
    let n = count as f64;
    let t = t_quantile(CONFIDENCE, count - 1);
    let h = t * t / n;
    let (mut aa, mut dd, mut ad, mut residual) = (0.0, 0.0, 0.0, 0.0);
    for (x, y) in a.iter().zip(d) {
        let (x, y) = (x - mean_a, y - mean_d);
        aa += x * x;
        dd += y * y;
        ad += x * y;
        // Their squares are the discriminant's large part, without its cancellation.
        residual += (mean_a * y - mean_d * x) * (mean_a * y - mean_d * x);
    }
    let [aa, dd, ad, residual] = [aa, dd, ad, residual].map(|sum| sum / (n - 1.0));
    let leading = mean_a * mean_a - h * aa;
    if leading <= 0.0 {
        return None;
    }
    let root = (h * (residual - h * (aa * dd - ad * ad))).max(0.0).sqrt();
    let centre = mean_a * mean_d - h * ad;
    Some(Bounds { low: (centre - root) / leading, high: (centre + root) / leading })
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn sum_of_squares(values: &[f64], mean: f64) -> f64 {
    values.iter().map(|x| (x - mean) * (x - mean)).sum()
}

/// Half of the width of the interval of a mean; none of a single value.
fn half_width(values: &[f64], mean: f64) -> Option<f64> {
    let count = values.len();
    let n = count as f64;
    let deviation = || (sum_of_squares(values, mean) / (n - 1.0) / n).sqrt();
    (count >= LEAST_PAIRS).then(|| t_quantile(CONFIDENCE, count - 1) * deviation())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Student's own data (sleep, 1908): ten pairs, mean difference 1.58, interval 0.7001 to 2.4599.
    #[test]
    fn paired_differences_are_those_of_the_textbook() {
        let a = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let b = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let pairs: Vec<(f64, f64)> = a.into_iter().zip(b).collect();
        let paired = Paired::of(&pairs).unwrap();
        let bounds = paired.bounds.unwrap();
        assert!((paired.difference - 1.58).abs() < 1e-12);
        assert!((bounds.low - 0.700_114_2).abs() < 1e-6 && (bounds.high - 2.459_885_8).abs() < 1e-6);
        assert!(paired.is_told());
        // The mean of A, 0.75, is not told from 0: its ratio has no ends.
        assert_eq!(paired.relative_bounds, None);
    }

    #[test]
    fn few_or_equal_pairs() {
        assert_eq!(Paired::of(&[]), None);
        let one = Paired::of(&[(2.0, 3.0)]).unwrap();
        assert_eq!((one.bounds, one.relative, one.relative_bounds), (None, Some(0.5), None));
        let same = Paired::of(&[(2.0, 2.0), (3.0, 3.0)]).unwrap();
        assert_eq!(same.bounds, Some(Bounds { low: 0.0, high: 0.0 }));
        assert!(!same.is_told());
        assert_eq!(same.shrink, None);
        let zero = Paired::of(&[(0.0, 1.0), (0.0, 2.0)]).unwrap();
        assert_eq!((zero.relative, zero.relative_bounds), (None, None));
        assert_eq!(MeanInterval::of(&[2.0]).unwrap().bounds, None);
    }

    proptest! {
        /// Both ends of Fieller's interval solve its equation, and it leaves out 0 exactly where the difference's does.
        #[test]
        fn the_relative_interval_agrees_with_that_of_the_difference(
            pairs in prop::collection::vec((5.0..10.0f64, 5.0..12.0f64), 3..20)
        ) {
            let paired = Paired::of(&pairs).unwrap();
            let bounds = paired.bounds.unwrap();
            let n = pairs.len() as f64;
            if let Some(relative) = paired.relative_bounds {
                prop_assert!(relative.low <= paired.relative.unwrap() && paired.relative.unwrap() <= relative.high);
                for end in [relative.low, relative.high].into_iter().filter(|end| *end > -1.0) {
                    let rest: Vec<f64> = pairs.iter().map(|(a, b)| b - (1.0 + end) * a).collect();
                    let half = half_width(&rest, mean(&rest).unwrap()).unwrap();
                    prop_assert!((mean(&rest).unwrap().abs() / half - 1.0).abs() < 1e-6);
                }
                if bounds.low.abs().min(bounds.high.abs()) > 1e-9 {
                    prop_assert_eq!(relative.leaves_out_zero(), bounds.leaves_out_zero());
                }
            } else {
                let aa: Vec<f64> = pairs.iter().map(|pair| pair.0).collect();
                prop_assert!(half_width(&aa, paired.a).unwrap() >= paired.a * (1.0 - 1e-9), "{n}");
            }
        }

        #[test]
        fn no_sample_makes_a_number_that_is_none(values in prop::collection::vec(-1e12..1e12f64, 0..30)) {
            let pairs: Vec<(f64, f64)> = values.iter().map(|&x| (x, 1e12 - x)).collect();
            if let Some(paired) = Paired::of(&pairs) {
                let ends = [paired.bounds, paired.relative_bounds].into_iter().flatten();
                prop_assert!(ends.flat_map(|b| [b.low, b.high]).all(f64::is_finite));
            }
        }
    }
}
