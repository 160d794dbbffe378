//! How long prompts and answers are. Each distribution maps one uniform number to a length, so lengths move smoothly with their
//! parameters.

mod mixture;
mod pairs;
mod percentiles;
mod table;
mod zipf;

use crate::distribution;

pub use pairs::LengthPairs;
pub use percentiles::Percentiles;
pub use table::Table;
pub use zipf::Zipf;

/// A distribution of lengths in tokens; every length is at least 1.
#[derive(Debug, Clone, PartialEq)]
pub enum LengthDistribution {
    /// Always the same.
    Fixed {
        /// Tokens.
        value: u32,
    },
    /// Uniform over `low..=high`.
    Uniform {
        /// Smallest, tokens.
        low: u32,
        /// Largest, tokens (inclusive).
        high: u32,
    },
    /// Geometric on 1, 2, ….
    Geometric {
        /// Mean, tokens.
        mean: f64,
    },
    /// Geometric, conditioned on `low..=high`.
    BoundedGeometric {
        /// Mean of the geometric distribution on 1, 2, … before its bounds, tokens.
        mean: f64,
        /// Smallest, tokens.
        low: u32,
        /// Largest, tokens (inclusive).
        high: u32,
    },
    /// Pareto with tail index `exponent`, P(X > x) ~ x^-exponent, cut to `low..=high`: the power law of the papers.
    BoundedPareto {
        /// Tail index; small = heavy tail.
        exponent: f64,
        /// Smallest, tokens.
        low: u32,
        /// Largest, tokens (inclusive).
        high: u32,
    },
    /// Normal, rounded, values outside `low..=high` moved to the bound.
    Normal {
        /// Mean, tokens.
        mean: f64,
        /// Standard deviation, tokens.
        deviation: f64,
        /// Smallest, tokens.
        low: u32,
        /// Largest, tokens (inclusive).
        high: u32,
    },
    /// Lognormal, rounded, values outside `low..=high` moved to the bound.
    Lognormal {
        /// Median, tokens.
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
        /// Smallest, tokens.
        low: u32,
        /// Largest, tokens (inclusive).
        high: u32,
    },
    /// Zipf over bounded lengths, the shortest the most frequent.
    Zipf(Zipf),
    /// Through three percentiles.
    Percentiles(Percentiles),
    /// A histogram, or a mixture of two other distributions.
    Table(Table),
}

/// Why a distribution of lengths was rejected.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum LengthError {
    /// A histogram is not a list of edges with a weight between each two.
    #[error("{0} numbers; edges and weights in turn, from edge to edge, are 3, 5, 7, …")]
    NoBins(usize),
    /// An edge is no length.
    #[error("the edge {0} is not a whole number of tokens from 1 up")]
    BadEdge(f64),
    /// Edges fall or repeat.
    #[error("the edge {upper} must be above the one before it, {lower}")]
    EdgeOrder {
        /// The edge before.
        lower: f64,
        /// The edge that is not above it.
        upper: f64,
    },
    /// A weight is below zero or not finite.
    #[error("the weight {0} is not a number from 0 up")]
    BadWeight(f64),
    /// No weight is above zero.
    #[error("at least one weight must be above 0")]
    NoWeight,
    /// Pairs of lengths need an even number of numbers.
    #[error("{0} numbers are no pairs of prompt and output")]
    NoPairs(usize),
}

impl LengthDistribution {
    /// The length at the uniform number `u` in (0, 1).
    pub fn quantile(&self, u: f64) -> u32 {
        match *self {
            Self::Fixed { value } => value,
            Self::Uniform { low, high } => low + (u * f64::from(high - low + 1)) as u32,
            Self::Geometric { mean } => {
                if mean <= 1.0 {
                    return 1;
                }
                // P(X > k) = (1 - 1/mean)^k
                1 + (libm::log(u) / libm::log1p(-1.0 / mean)).min(f64::from(MAX_GEOMETRIC)) as u32
            }
            Self::BoundedGeometric { mean, low, high } => {
                let (failure_log, all) = bounded_geometric(mean, low, high);
                // P(X < low + k) = (1 - e^(k failure_log)) / all
                let above = if failure_log == 0.0 {
                    u * f64::from(high - low + 1)
                } else {
                    libm::log1p(-u * all) / failure_log
                };
                low + (above as u32).min(high - low)
            }
            Self::BoundedPareto { exponent, low, high } => {
                let (l, h) = (f64::from(low), f64::from(high) + 1.0);
                let kept = 1.0 - u * (1.0 - libm::pow(l / h, exponent));
                ((l * libm::pow(kept, -1.0 / exponent)) as u32).clamp(low, high)
            }
            Self::Lognormal { median, sigma, low, high } => {
                rounded(median * libm::exp(sigma * distribution::normal_quantile(u)), low, high)
            }
            Self::Normal { mean, deviation, low, high } => {
                rounded(mean + deviation * distribution::normal_quantile(u), low, high)
            }
            Self::Zipf(zipf) => zipf.quantile(u),
            Self::Percentiles(ref percentiles) => percentiles.quantile(u),
            Self::Table(ref table) => table.quantile(u),
        }
    }

    /// The probability of a length below `x`.
    pub fn below(&self, x: u32) -> f64 {
        let real = f64::from(x);
        match *self {
            Self::Fixed { value } => f64::from(u8::from(x > value)),
            Self::Uniform { low, high } => {
                ((real - f64::from(low)) / f64::from(high - low + 1)).clamp(0.0, 1.0)
            }
            Self::Geometric { mean } => {
                let failures = libm::log1p(-1.0 / mean.max(1.0)) * (real - 1.0);
                if x <= 1 { 0.0 } else { -libm::expm1(failures) }
            }
            Self::BoundedGeometric { mean, low, high } => {
                let (failure_log, all) = bounded_geometric(mean, low, high);
                let ranks = f64::from(high - low + 1);
                let above = (real - f64::from(low)).clamp(0.0, ranks);
                match above {
                    0.0 => 0.0,
                    _ if failure_log == 0.0 => above / ranks,
                    _ => -libm::expm1(above * failure_log) / all,
                }
            }
            Self::BoundedPareto { exponent, low, high } => {
                let (l, h) = (f64::from(low), f64::from(high) + 1.0);
                let over = |x: f64| 1.0 - libm::pow(l / x, exponent);
                over(real.clamp(l, h)) / over(h)
            }
            Self::Lognormal { median, sigma, low, high } => {
                rounded_below(x, low, high, |x| libm::log(x / median) / sigma)
            }
            Self::Normal { mean, deviation, low, high } => {
                rounded_below(x, low, high, |x| (x - mean) / deviation)
            }
            Self::Zipf(zipf) => zipf.below(x),
            Self::Percentiles(ref percentiles) => percentiles.below(x),
            Self::Table(ref table) => table.below(x),
        }
    }

    /// Whether [`LengthDistribution::quantile`] falls with its number where those of the other distributions rise.
    pub fn is_falling(&self) -> bool {
        matches!(self, Self::Geometric { .. })
    }
}

/// Logarithm of the probability that a geometric length goes on, and the probability of all lengths between the bounds
/// where the smallest begins the distribution. A logarithm of 0 stands for lengths that are all alike.
fn bounded_geometric(mean: f64, low: u32, high: u32) -> (f64, f64) {
    let failure_log = libm::log1p(-1.0 / mean.max(1.0));
    (failure_log, -libm::expm1(f64::from(high - low + 1) * failure_log))
}

fn rounded(x: f64, low: u32, high: u32) -> u32 {
    (x.min(f64::from(high)) + 0.5).floor().max(f64::from(low)) as u32
}

/// The probability of a [`rounded`] length below `x`, with the standard normal number that stands for a real length.
fn rounded_below(x: u32, low: u32, high: u32, normal: impl Fn(f64) -> f64) -> f64 {
    if x <= low {
        return 0.0;
    }
    if x > high {
        return 1.0;
    }
    let z = normal(f64::from(x) - 0.5);
    // A distribution without spread divides zero by zero at its only value, which is not below itself.
    if z.is_nan() { 0.0 } else { distribution::normal_cdf(z) }
}

/// Cap of a geometric length, so that no request is without end.
const MAX_GEOMETRIC: u32 = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Stream;

    fn mean(distribution: LengthDistribution) -> f64 {
        let mut stream = Stream::named(9, "lengths");
        (0..200_000).map(|_| f64::from(distribution.quantile(stream.uniform()))).sum::<f64>() / 200_000.0
    }

    #[test]
    fn means_and_bounds() {
        assert_eq!(LengthDistribution::Fixed { value: 7 }.quantile(0.3), 7);
        assert!((mean(LengthDistribution::Uniform { low: 8, high: 511 }) - 259.5).abs() < 1.0);
        assert!((mean(LengthDistribution::Geometric { mean: 100.0 }) - 100.0).abs() < 1.0);
        let pareto = LengthDistribution::BoundedPareto { exponent: 1.1, low: 10, high: 2000 };
        assert_eq!((pareto.quantile(1e-12), pareto.quantile(1.0 - 1e-12)), (10, 2000));
        let lognormal = LengthDistribution::Lognormal { median: 200.0, sigma: 1.0, low: 1, high: 4096 };
        assert_eq!(lognormal.quantile(0.5), 200);
        assert_eq!(lognormal.quantile(1.0 - 1e-15), 4096);
        let normal = LengthDistribution::Normal { mean: 300.0, deviation: 50.0, low: 1, high: 4096 };
        assert_eq!((normal.quantile(0.5), normal.quantile(1e-300)), (300, 1));
        assert!((mean(normal) - 300.0).abs() < 0.5);
        assert_eq!(LengthDistribution::Uniform { low: 3, high: 5 }.quantile(1.0 - 1e-16), 5);
    }

    /// Every distribution, with numbers that show its bends.
    pub(super) fn distributions() -> Vec<LengthDistribution> {
        let simple = vec![
            LengthDistribution::Fixed { value: 7 },
            LengthDistribution::Uniform { low: 8, high: 511 },
            LengthDistribution::Geometric { mean: 100.0 },
            LengthDistribution::BoundedGeometric { mean: 100.0, low: 8, high: 300 },
            LengthDistribution::BoundedGeometric { mean: 1e6, low: 8, high: 300 },
            LengthDistribution::BoundedGeometric { mean: 1.0, low: 8, high: 300 },
            LengthDistribution::BoundedPareto { exponent: 1.1, low: 10, high: 2000 },
            LengthDistribution::Normal { mean: 300.0, deviation: 50.0, low: 250, high: 400 },
            LengthDistribution::Normal { mean: 300.0, deviation: 0.0, low: 1, high: 400 },
            LengthDistribution::Lognormal { median: 200.0, sigma: 1.0, low: 20, high: 900 },
            LengthDistribution::Percentiles(Percentiles::new([200.0, 700.0, 5000.0], 1, 100_000)),
            LengthDistribution::Zipf(Zipf::new(1024, 4096, 0.6)),
            LengthDistribution::Zipf(Zipf::new(1, 511, 1.1)),
            LengthDistribution::Zipf(Zipf::of_vidur(1024, 4096, 0.6)),
            LengthDistribution::Table(
                Table::histogram(&[1.0, 3.0, 2.0, 0.0, 50.0, 1.0, 80.0]).expect("it is sound"),
            ),
        ];
        let mixed = Table::mixture(&simple[6], &simple[3], 0.3);
        [simple, vec![LengthDistribution::Table(mixed)]].concat()
    }

    #[test]
    fn the_distribution_function_is_that_of_the_draws() {
        for distribution in distributions() {
            let (mut last, mut lowest) = (0.0, u32::MAX);
            for i in 1..2000 {
                let u = f64::from(i) / 2000.0 - 1e-4;
                let rising = if distribution.is_falling() { 1.0 - u } else { u };
                let length = distribution.quantile(u);
                let (under, upto) = (distribution.below(length), distribution.below(length + 1));
                assert!(
                    under <= rising + 1e-9 && rising <= upto + 1e-9,
                    "{distribution:?} at {u}: {under} {upto}"
                );
                assert!((last..=1.0).contains(&upto) || distribution.is_falling(), "{distribution:?} at {u}");
                (last, lowest) = (upto.min(1.0), lowest.min(length));
            }
            assert!(lowest >= 1);
            assert_eq!((distribution.below(1), distribution.below(u32::MAX)), (0.0, 1.0), "{distribution:?}");
        }
    }
}
