//! The difference between two settings that were run with the same seeds: its mean, an interval around it, and whether it is
//! clear.
//!
//! Equal seeds bring equal requests as far as the settings allow, so that the difference within a seed varies less than the
//! numbers themselves. The interval is Student's t interval of these differences, with one degree of freedom less than seeds.

use std::f64::consts::FRAC_2_PI;

use serde::Serialize;

/// The confidence of an interval that is shown.
pub const CONFIDENCE: f64 = 0.95;

/// The confidence at which a change counts as clear. About ten numbers are judged at once: at 95 % every second set of ten
/// without a difference would show one, at 99 % one in ten does.
pub const CLEAR: f64 = 0.99;

/// Fewer pairs than this give no interval.
pub const LEAST_PAIRS: usize = 2;

/// A number of two settings over common seeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct PairedDifference {
    /// Mean of the first setting.
    pub a: f64,
    /// Mean of the second setting.
    pub b: f64,
    /// Mean of the second less the first.
    pub difference: f64,
    /// Lower end of the interval of `difference`.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Pairs that have the number in both settings.
    pub seeds: usize,
}

impl PairedDifference {
    /// Whether the interval leaves zero out.
    pub fn is_clear(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// The paired t interval of `(a, b)`, one pair a seed, at a confidence between 0 and 1. Pairs that are not finite are left
/// out; fewer than [`LEAST_PAIRS`] have no interval. Where every pair differs by the same amount the interval is that amount.
pub fn paired_interval(pairs: &[(f64, f64)], confidence: f64) -> Option<PairedDifference> {
    let pairs: Vec<(f64, f64)> =
        pairs.iter().copied().filter(|(a, b)| a.is_finite() && b.is_finite()).collect();
    if pairs.len() < LEAST_PAIRS {
        return None;
    }
    let count = pairs.len() as f64;
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / count;
    let difference = mean(&|(a, b)| b - a);
    let off = |(a, b): &(f64, f64)| (b - a - difference) * (b - a - difference);
    let variance = pairs.iter().map(off).sum::<f64>() / (count - 1.0);
    let half = t_quantile(confidence, pairs.len() - 1) * f64::sqrt(variance / count);
    Some(PairedDifference {
        a: mean(&|(a, _)| *a),
        b: mean(&|(_, b)| *b),
        difference,
        low: difference - half,
        high: difference + half,
        seeds: pairs.len(),
    })
}

/// How far from zero a variable with Student's t distribution lies at most with probability `confidence`; `degrees` of
/// freedom from 1 on.
pub fn t_quantile(confidence: f64, degrees: usize) -> f64 {
    let share = confidence.clamp(0.0, 1.0 - 1e-12);
    // The angle grows with the probability from 0 to a right angle.
    let (mut low, mut high) = (0.0, std::f64::consts::FRAC_PI_2);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if within(middle, degrees) < share { low = middle } else { high = middle }
    }
    let angle = 0.5 * (low + high);
    f64::sqrt(degrees as f64) * libm::sin(angle) / libm::cos(angle)
}

/// The probability that a variable with Student's t distribution lies within `sqrt(degrees) tan(angle)` of zero, by its finite
/// series for whole degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4).
fn within(angle: f64, degrees: usize) -> f64 {
    let (sine, cosine) = (libm::sin(angle), libm::cos(angle));
    let is_odd = degrees % 2 == 1;
    if degrees == 1 {
        return FRAC_2_PI * angle;
    }
    let mut term = if is_odd { cosine } else { 1.0 };
    let mut sum = term;
    let mut place = if is_odd { 1.0 } else { 0.0 };
    while place + 2.0 <= degrees as f64 - 2.0 {
        term *= cosine * cosine * (place + 1.0) / (place + 2.0);
        place += 2.0;
        sum += term;
    }
    if is_odd { FRAC_2_PI * (angle + sine * sum) } else { sine * sum }
}

#[cfg(test)]
mod tests {
    use super::*;
    use servescope_workload::stream::Stream;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        let tables = [
            (0.95, 1, 12.706_205),
            (0.95, 2, 4.302_653),
            (0.95, 3, 3.182_446),
            (0.95, 7, 2.364_624),
            (0.95, 12, 2.178_813),
            (0.95, 15, 2.131_450),
            (0.99, 1, 63.656_741),
            (0.99, 7, 3.499_483),
            (0.99, 11, 3.105_807),
            (0.99, 30, 2.749_996),
            (0.95, 1000, 1.962_339),
        ];
        for (confidence, degrees, expected) in tables {
            let got = t_quantile(confidence, degrees);
            assert!((got / expected - 1.0).abs() < 1e-6, "{confidence} {degrees}: {got}, not {expected}");
        }
    }

    #[test]
    fn the_interval_is_that_of_the_textbook() {
        // Differences 1, 2, 3, 4: mean 2.5, standard error 0.6455, t of 3 degrees 3.1824.
        let got = paired_interval(&[(0.0, 1.0), (1.0, 3.0), (5.0, 8.0), (2.0, 6.0)], 0.95).unwrap();
        assert_eq!((got.a, got.b, got.difference, got.seeds), (2.0, 4.5, 2.5, 4));
        assert!((got.low - 0.445_739).abs() < 1e-5 && (got.high - 4.554_261).abs() < 1e-5, "{got:?}");
        assert!(got.is_clear());
    }

    #[test]
    fn what_is_missing_or_equal_is_no_difference() {
        assert_eq!(paired_interval(&[], 0.95), None);
        assert_eq!(paired_interval(&[(1.0, 2.0), (f64::NAN, 1.0)], 0.95), None);
        let same = paired_interval(&[(1.0, 1.0), (2.0, 2.0), (3.0, f64::INFINITY)], 0.95).unwrap();
        assert_eq!((same.difference, same.low, same.high, same.seeds), (0.0, 0.0, 0.0, 2));
        assert!(!same.is_clear());
        let shifted = paired_interval(&[(1.0, 2.0), (2.0, 3.0)], 0.95).unwrap();
        assert!(shifted.is_clear() && shifted.low == 1.0 && shifted.high == 1.0);
    }

    #[test]
    fn one_in_a_hundred_differences_of_nothing_is_clear() {
        const TRIALS: usize = 20_000;
        let mut draw = Stream::named(7, "paired");
        let mut clear = 0;
        for _ in 0..TRIALS {
            // Sums of twelve uniform numbers are nearly normal; what both have in common cancels.
            let mut normal = || (0..12).map(|_| draw.uniform()).sum::<f64>() - 6.0;
            let pairs: Vec<(f64, f64)> = (0..8)
                .map(|_| {
                    let common = 100.0 * normal();
                    (common + normal(), common + normal())
                })
                .collect();
            clear += usize::from(paired_interval(&pairs, CLEAR).unwrap().is_clear());
        }
        assert!((150..250).contains(&clear), "{clear} of {TRIALS}");
    }
}
