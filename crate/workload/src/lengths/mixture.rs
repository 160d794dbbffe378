//! Lengths from one of two distributions, such as ServeGen's lognormal body with a Pareto tail (arXiv 2505.09999, section 4).
//!
//! The quantile of a mixture has no formula. The mixture is put into bins whose edges are quantiles of both distributions,
//! where its distribution function is exact; between two edges it is a straight line. With edges a twentieth of a standard normal
//! number apart the line is off by less than 3e-4; a bend inside a bin, which histograms and the steep start of a Zipf
//! distribution have, can cost a few times as much.

use super::{LengthDistribution, Table};
use crate::distribution;
use crate::statistics::sort;

/// Edges for each standard normal number.
const EDGES_PER_NORMAL: f64 = 20.0;
/// Edges lie within this many standard normal numbers of the median; a billionth lies outside.
const REACH: f64 = 6.0;

impl Table {
    /// A length of `second` with probability `share`, of `first` otherwise.
    pub fn mixture(first: &LengthDistribution, second: &LengthDistribution, share: f64) -> Self {
        let mut edges = Vec::new();
        let mut add = |u: f64| {
            for distribution in [first, second] {
                let length = f64::from(distribution.quantile(u));
                // The one above gives a length that many draws share, such as a bound, a bin of its own.
                edges.extend([length, length + 1.0]);
            }
        };
        let steps = (REACH * EDGES_PER_NORMAL) as i32;
        (-steps..=steps).for_each(|i| add(distribution::normal_cdf(f64::from(i) / EDGES_PER_NORMAL)));
        // The 90th percentile is where the distribution through percentiles bends.
        [f64::MIN_POSITIVE, 0.9, 1.0 - f64::EPSILON].into_iter().for_each(add);
        sort(&mut edges);
        edges.dedup();
        let edges: Vec<u32> = edges.into_iter().map(|edge| edge as u32).collect();
        let mut below: Vec<f64> =
            edges.iter().map(|&x| (1.0 - share) * first.below(x) + share * second.below(x)).collect();
        // The ends hold what lies beyond the last quantile, and the sum's rounding.
        if let [start, .., end] = &mut below[..] {
            (*start, *end) = (0.0, 1.0);
        }
        Self::new(edges, below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Stream;

    #[test]
    fn draws_follow_the_mixed_distribution_function() {
        for first in super::super::tests::distributions() {
            for second in super::super::tests::distributions() {
                for share in [0.0, 0.2, 1.0] {
                    let mixed = Table::mixture(&first, &second, share);
                    let worst = (1..6000).fold(0.0f64, |worst, x| {
                        let exact = (1.0 - share) * first.below(x) + share * second.below(x);
                        worst.max((mixed.below(x) - exact).abs())
                    });
                    let bends = [&first, &second].iter().any(|distribution| {
                        matches!(distribution, LengthDistribution::Table(_) | LengthDistribution::Zipf(_))
                    });
                    let bound = if bends { 3e-3 } else { 3e-4 };
                    assert!(worst < bound, "{first:?} and {second:?}, {share}: {worst}");
                }
            }
        }
    }

    #[test]
    fn the_mean_is_the_mixed_mean() {
        let body = LengthDistribution::Lognormal { median: 300.0, sigma: 0.5, low: 1, high: 1_000_000 };
        let tail = LengthDistribution::BoundedPareto { exponent: 1.5, low: 1000, high: 100_000 };
        let mean = |of: &dyn Fn(f64) -> u32| {
            let mut stream = Stream::named(4, "mixed");
            (0..400_000).map(|_| f64::from(of(stream.uniform()))).sum::<f64>() / 400_000.0
        };
        let mixed = Table::mixture(&body, &tail, 0.25);
        let expected = 0.75 * mean(&|u| body.quantile(u)) + 0.25 * mean(&|u| tail.quantile(u));
        assert!((mean(&|u| mixed.quantile(u)) / expected - 1.0).abs() < 0.01);
    }
}
