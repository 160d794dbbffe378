//! Confidence intervals over seeds: a mean, and a difference of pairs that share their random numbers.
//!
//! - The mean of n values: Student's t with n - 1 degrees of freedom.
//! - The difference of n pairs (a, b), from [`LEAST_SUBSETS`] pairs on: Hartigan's typical values (Hartigan 1969). The means
//!   of b - a over
//!   all non-empty subsets of the pairs cut the line into pieces that hold the centre of symmetric differences with equal
//!   probability, whatever their distribution; the outer 2.5 % on either side are left out. It is the interval that inverts
//!   the randomisation test in which each difference changes its sign. Between equal settings differences are symmetric, so
//!   5 % of the comparisons show a difference, also of heavy tails, where Student's t shows fewer and misses many that are
//!   real. Of more than [`EXACT`] pairs [`SUBSETS`] random subsets stand for all, the same ones always.
//! - Of fewer pairs: Student's t over the differences.
//! - The relative difference mean(b) / mean(a) - 1 of positive a, by the same subsets: sum(b) / sum(a) - 1 over each. Of fewer
//!   pairs Fieller's interval of a ratio of means (Fieller 1954). Both are the ratios r for which the interval of
//!   b - (1 + r) a holds 0, so they leave out 0 exactly where the interval of the difference does.

use servescope_workload::statistics::sort;
use servescope_workload::stream::Stream;

use crate::replications::{LEAST_PAIRS, paired_interval, t_quantile};

pub use crate::replications::CONFIDENCE;

/// From this number of pairs on their subsets are enough for an interval at 95 %.
pub const LEAST_SUBSETS: usize = 6;

/// Up to this number of pairs all subsets are taken.
const EXACT: usize = 12;

/// Random subsets of more pairs.
const SUBSETS: usize = 1023;

/// An interval around a mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConfidenceInterval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl ConfidenceInterval {
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
    pub bounds: Option<ConfidenceInterval>,
    /// How many values.
    pub count: usize,
}

impl MeanInterval {
    /// Of some values; none of no value.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mean = mean(values)?;
        let half = half_width(values, mean);
        let bounds = half.map(|half| ConfidenceInterval { low: mean - half, high: mean + half });
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
    pub bounds: Option<ConfidenceInterval>,
    /// mean(b) / mean(a) - 1; none where mean(a) is not above 0.
    pub relative: Option<f64>,
    /// Interval of the relative difference; none where mean(a) may be 0 by its own interval.
    pub relative_bounds: Option<ConfidenceInterval>,
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
        let (bounds, relative_bounds) = if pairs.len() < LEAST_SUBSETS {
            let bounds =
                paired_interval(pairs, CONFIDENCE).map(|d| ConfidenceInterval { low: d.low, high: d.high });
            (bounds, fieller(&a, &differences, mean_a, difference))
        } else {
            let (bounds, relative) = typical(&a, &differences);
            (Some(bounds), relative)
        };
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
            relative_bounds: relative_bounds.filter(|_| is_above).map(|bounds| ConfidenceInterval {
                low: if is_positive { bounds.low.max(-1.0) } else { bounds.low },
                ..bounds
            }),
            shrink: (own > 0.0).then(|| ((variances[0] + variances[1]) / own).sqrt()),
            pairs: pairs.len(),
        })
    }

    /// Whether the interval of the difference leaves out zero.
    pub fn is_significant(&self) -> bool {
        self.bounds.is_some_and(ConfidenceInterval::leaves_out_zero)
    }
}

/// Sums over a subset of the pairs.
#[derive(Clone, Copy, Default)]
struct PairedSums {
    a: f64,
    d: f64,
    count: usize,
}

/// The intervals of mean(d) and of mean(d) / mean(a) by the typical values of the subsets; the second is none where an a is
/// not above 0.
fn typical(a: &[f64], d: &[f64]) -> (ConfidenceInterval, Option<ConfidenceInterval>) {
    let sums = subsets(a, d);
    let ends = |of: &dyn Fn(&PairedSums) -> f64| {
        let mut values: Vec<f64> = sums.iter().map(of).collect();
        sort(&mut values);
        let outer = (0.5 * (1.0 - CONFIDENCE) * (values.len() + 1) as f64) as usize;
        let outer = outer.max(1);
        ConfidenceInterval { low: values[outer - 1], high: values[values.len() - outer] }
    };
    let is_positive = a.iter().all(|&x| x > 0.0);
    (ends(&|s| s.d / s.count as f64), is_positive.then(|| ends(&|s| s.d / s.a)))
}

/// The sums over every non-empty subset, or over random ones.
fn subsets(a: &[f64], d: &[f64]) -> Vec<PairedSums> {
    let pairs = || a.iter().zip(d);
    let with =
        |s: &PairedSums, (a, d): (&f64, &f64)| PairedSums { a: s.a + a, d: s.d + d, count: s.count + 1 };
    let mut all = vec![PairedSums::default()];
    if a.len() <= EXACT {
        for pair in pairs() {
            let more: Vec<PairedSums> = all.iter().map(|s| with(s, pair)).collect();
            all.extend(more);
        }
        all.remove(0);
        return all;
    }
    all.clear();
    let mut chance = Stream::named(0, "subsets");
    while all.len() < SUBSETS {
        let chosen = pairs().filter(|_| chance.uniform() < 0.5);
        all.push(chosen.fold(PairedSums::default(), |s, pair| with(&s, pair)));
        // No subset in 2^n is empty, and it says nothing.
        if all.last().is_some_and(|s| s.count == 0) {
            all.pop();
        }
    }
    all
}

/// Fieller's interval of mean(d) / mean(a), with d = b - a. The roots of
/// (A² - h s_aa) q² - 2 (A D - h s_ad) q + D² - h s_dd = 0 with A, D the means and h = t² / n; where the first coefficient is
/// not above 0 the interval has no ends.
fn fieller(a: &[f64], d: &[f64], mean_a: f64, mean_d: f64) -> Option<ConfidenceInterval> {
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
    Some(ConfidenceInterval { low: (centre - root) / leading, high: (centre + root) / leading })
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

    /// Student's own data (sleep, 1908): ten pairs, mean difference 1.58; by his t the interval is 0.70 to 2.46.
    const SLEEP: [(f64, f64); 10] = [
        (0.7, 1.9),
        (-1.6, 0.8),
        (-0.2, 1.1),
        (-1.2, 0.1),
        (-0.1, -0.1),
        (3.4, 4.4),
        (3.7, 5.5),
        (0.8, 1.6),
        (0.0, 4.6),
        (2.0, 3.4),
    ];

    /// The means of the 1,023 subsets of the ten differences: the 25th from below and from above.
    const SLEEP_ENDS: [f64; 2] = [0.833_333_333_333, 2.466_666_666_667];

    #[test]
    fn paired_differences_are_those_of_the_textbook() {
        let paired = Paired::of(&SLEEP).unwrap();
        let bounds = paired.bounds.unwrap();
        assert!((paired.difference - 1.58).abs() < 1e-12);
        assert!(
            (bounds.low - SLEEP_ENDS[0]).abs() < 1e-9 && (bounds.high - SLEEP_ENDS[1]).abs() < 1e-9,
            "{bounds:?}"
        );
        assert!(paired.is_significant());
        // Some of A are below 0: no percentage.
        assert_eq!(paired.relative_bounds, None);
        // Of five pairs it is Student's t: 1.24 and 2.776 standard errors of 0.3803.
        let few = Paired::of(&SLEEP[..5]).unwrap().bounds.unwrap();
        assert!((few.low - 0.184).abs() < 1e-3 && (few.high - 2.296).abs() < 1e-3, "{few:?}");
    }

    /// In each case of a thousand pairs of equal settings, with tails so heavy that they have no variance.
    #[test]
    fn one_in_twenty_comparisons_of_equal_settings_tells_a_difference() {
        const TRIALS: usize = 2000;
        let mut chance = Stream::named(5, "alarms");
        let mut heavy = || libm::pow(1.0 - chance.uniform(), -1.0 / 1.5);
        for seeds in [7, 10, 20] {
            let mut reported = 0;
            for _ in 0..TRIALS {
                let pairs: Vec<(f64, f64)> = (0..seeds).map(|_| (heavy(), heavy())).collect();
                let paired = Paired::of(&pairs).unwrap();
                reported += usize::from(paired.is_significant());
                let relative = paired.relative_bounds.unwrap();
                assert_eq!(relative.leaves_out_zero(), paired.is_significant());
            }
            // 5 % give or take three standard deviations.
            assert!((70..130).contains(&reported), "{seeds} seeds: {reported} of {TRIALS}");
        }
    }

    #[test]
    fn few_or_equal_pairs() {
        assert_eq!(Paired::of(&[]), None);
        let one = Paired::of(&[(2.0, 3.0)]).unwrap();
        assert_eq!((one.bounds, one.relative, one.relative_bounds), (None, Some(0.5), None));
        for count in [2, 8, 30] {
            let same = Paired::of(&vec![(2.0, 2.0); count]).unwrap();
            assert_eq!(same.bounds, Some(ConfidenceInterval { low: 0.0, high: 0.0 }));
            assert!(!same.is_significant());
            assert_eq!(same.shrink, None);
        }
        let zero = Paired::of(&[(0.0, 1.0), (0.0, 2.0)]).unwrap();
        assert_eq!((zero.relative, zero.relative_bounds), (None, None));
        assert_eq!(MeanInterval::of(&[2.0]).unwrap().bounds, None);
    }

    proptest! {
        /// Both ends of Fieller's interval solve its equation, and it leaves out 0 exactly where the difference's does.
        #[test]
        fn the_relative_interval_of_few_pairs_agrees_with_that_of_the_difference(
            pairs in prop::collection::vec((5.0..10.0f64, 5.0..12.0f64), 3..LEAST_SUBSETS)
        ) {
            let paired = Paired::of(&pairs).unwrap();
            let bounds = paired.bounds.unwrap();
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
                let a: Vec<f64> = pairs.iter().map(|pair| pair.0).collect();
                prop_assert!(half_width(&a, paired.a).unwrap() >= paired.a * (1.0 - 1e-9));
            }
        }

        /// The mean difference and the ratio of the means lie within their intervals.
        #[test]
        fn means_are_within_their_intervals(
            pairs in prop::collection::vec((0.1..10.0f64, 0.1..12.0f64), LEAST_SUBSETS..30)
        ) {
            let paired = Paired::of(&pairs).unwrap();
            let (bounds, relative) = (paired.bounds.unwrap(), paired.relative_bounds.unwrap());
            prop_assert!(bounds.low <= paired.difference && paired.difference <= bounds.high);
            prop_assert!(relative.low <= paired.relative.unwrap() && paired.relative.unwrap() <= relative.high);
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
