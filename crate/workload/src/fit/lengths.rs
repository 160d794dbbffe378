//! Distributions of prompt and output lengths: each distribution of [`LengthDistribution`] fitted, with its Kolmogorov
//! distance, and the quantiles that hold whatever no distribution does.
//!
//! Lengths are whole numbers and the distributions draw whole numbers, so a distance compares the probabilities of drawing at
//! most k tokens at every k that occurs.

use crate::distribution;
use crate::lengths::LengthDistribution;
use crate::statistics::sort;

/// Steps of the quantile table.
const STEPS: usize = 1000;

/// A distribution with its distance.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedLength {
    /// Name of the distribution, as in the parameter table.
    pub name: &'static str,
    /// The distribution.
    pub distribution: LengthDistribution,
    /// Kolmogorov's distance.
    pub distance: f64,
}

/// Quantiles 0, 0.001, …, 1 of lengths: a distribution without parameters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Quantiles {
    /// The quantiles, tokens; empty for no lengths.
    pub tokens: Vec<f64>,
}

/// How long prompts, or answers, are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LengthFit {
    /// How many.
    pub count: usize,
    /// Mean, tokens.
    pub mean: f64,
    /// Standard deviation over mean.
    pub cv: f64,
    /// Smallest, tokens.
    pub min: u32,
    /// Largest, tokens.
    pub max: u32,
    /// Every distribution, the nearest first. Empty for no lengths.
    pub distributions: Vec<FittedLength>,
    /// The geometric distribution between the shortest and the longest length, which stands for that without bounds where nothing
    /// longer may be drawn. `None` where the lengths do not become rarer as they grow, or all are equal.
    pub bounded_geometric: Option<FittedLength>,
    /// What the twin draws from.
    pub quantiles: Quantiles,
    /// Kolmogorov's distance of the quantile table.
    pub quantile_distance: f64,
}

pub(super) fn floats(column: &[u32]) -> Vec<f64> {
    column.iter().map(|&v| f64::from(v)).collect()
}

impl Quantiles {
    fn of(sorted: &[f64]) -> Self {
        let at = |step: usize| crate::statistics::quantile(sorted, step as f64 / STEPS as f64);
        Self { tokens: if sorted.is_empty() { Vec::new() } else { (0..=STEPS).map(at).collect() } }
    }

    /// The length at the uniform number `u` in (0, 1): straight lines between quantiles, rounded; at least 1.
    pub fn at(&self, u: f64) -> u32 {
        let place = u * (self.tokens.len().max(1) - 1) as f64;
        let below = place as usize;
        let (Some(low), Some(high)) = (self.tokens.get(below), self.tokens.get(below + 1)) else {
            return self.tokens.last().map_or(1, |&t| t.max(1.0) as u32);
        };
        (low + (high - low) * (place - below as f64) + 0.5).max(1.0) as u32
    }

    /// The share of lengths of at most `tokens`, which [`Quantiles::at`] draws.
    fn at_most(&self, tokens: f64) -> f64 {
        let edge = tokens + 0.5;
        let below = self.tokens.partition_point(|&t| t < edge);
        let (Some(&low), Some(&high)) =
            (below.checked_sub(1).and_then(|b| self.tokens.get(b)), self.tokens.get(below))
        else {
            return if below == 0 { 0.0 } else { 1.0 };
        };
        (below as f64 - 1.0 + (edge - low) / (high - low)) / STEPS as f64
    }
}

impl Quantiles {
    /// Edges and weights of about `bins` bins of like weight and narrower ones in the tail, as
    /// [`LengthTable::histogram`](crate::lengths::LengthTable::histogram) takes them: an edge stands at a length that occurs, so that
    /// frequent lengths have bins of their own.
    pub fn histogram(&self, bins: usize) -> Vec<f64> {
        // The last bin would spread its requests evenly up to the longest: the tail has narrower ones.
        const TAIL: [usize; 10] = [970, 980, 985, 990, 992, 994, 996, 997, 998, 999];
        let (Some(&first), Some(&last)) = (self.tokens.first(), self.tokens.last()) else {
            return Vec::new();
        };
        let (first, last) = (libm::round(first).max(1.0), libm::round(last).max(1.0));
        let steps = (1..bins).map(|bin| bin * STEPS / bins).chain(TAIL);
        let inner = steps.map(|step| libm::round(self.tokens[step]));
        // A length that many quantiles share is a bin of one number.
        let mut edges: Vec<f64> =
            std::iter::once(first).chain(inner.flat_map(|edge| [edge, edge + 1.0])).collect();
        edges.retain(|&edge| edge >= first && edge < last);
        sort(&mut edges);
        edges.dedup();
        let mut numbers = Vec::with_capacity(2 * edges.len() + 1);
        for (place, &edge) in edges.iter().enumerate() {
            let next = edges.get(place + 1).copied().unwrap_or(last + 1.0);
            numbers.extend([edge, self.at_most(next - 1.0) - self.at_most(edge - 1.0)]);
        }
        if numbers.is_empty() {
            return vec![first, 1.0, first + 1.0];
        }
        numbers.push(last);
        numbers
    }
}

impl LengthFit {
    /// The distributions of lengths in tokens.
    pub fn of(tokens: &[u32]) -> Self {
        let mut sorted = floats(tokens);
        sort(&mut sorted);
        let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else { return Self::default() };
        let n = sorted.len() as f64;
        let mean = sorted.iter().sum::<f64>() / n;
        let deviation = f64::sqrt(sorted.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n);
        let quantiles = Quantiles::of(&sorted);
        let mut distributions: Vec<FittedLength> = candidates(&sorted, mean, deviation)
            .into_iter()
            .map(|(name, distribution)| FittedLength {
                name,
                distance: distance(&sorted, |k| at_most(&distribution, k)),
                distribution,
            })
            .collect();
        let key: Vec<f64> = distributions.iter().map(|l| l.distance).collect();
        distributions = crate::statistics::sort_places(&key)
            .into_iter()
            .map(|i| distributions[i as usize].clone())
            .collect();
        // A distribution fitted in two ways is listed once, as the nearer.
        let mut reported: Vec<&str> = Vec::new();
        distributions.retain(|distribution| {
            let new = !reported.contains(&distribution.name);
            reported.push(distribution.name);
            new
        });
        Self {
            count: tokens.len(),
            mean,
            cv: if mean > 0.0 { deviation / mean } else { 0.0 },
            min: min as u32,
            max: max as u32,
            distributions,
            bounded_geometric: bounded_geometric(mean, [min, max].map(|tokens| tokens.max(1.0))).map(
                |distribution| {
                    let distance = distance(&sorted, |k| at_most(&distribution, k));
                    FittedLength { name: "bounded_geometric", distribution, distance }
                },
            ),
            quantile_distance: distance(&sorted, |k| quantiles.at_most(k)),
            quantiles,
        }
    }

    /// The nearest distribution.
    pub fn best(&self) -> Option<&FittedLength> {
        self.distributions.first()
    }

    /// The nearest distribution that draws nothing longer than the longest length there is.
    pub fn best_bounded(&self) -> Option<&FittedLength> {
        let end = self.max.max(1).saturating_add(1);
        let bounded =
            self.distributions.iter().filter(|distribution| distribution.distribution.below(end) >= 1.0);
        bounded.chain(&self.bounded_geometric).min_by(|a, b| a.distance.total_cmp(&b.distance))
    }
}

/// Kolmogorov's distance between whole numbers and a distribution of whole numbers: at every number that occurs and just below
/// it.
fn distance(sorted: &[f64], at_most: impl Fn(f64) -> f64) -> f64 {
    let n = sorted.len() as f64;
    let (mut place, mut worst) = (0, 0.0f64);
    for ties in sorted.chunk_by(|a, b| a == b) {
        worst = worst.max((at_most(ties[0] - 1.0) - place as f64 / n).abs());
        place += ties.len();
        worst = worst.max((at_most(ties[0]) - place as f64 / n).abs());
    }
    worst
}

/// Every distribution with fitted parameters, by likelihood or moments. The normal ones also by their quartiles, which values
/// that were moved to a bound leave as they are.
fn candidates(sorted: &[f64], mean: f64, deviation: f64) -> Vec<(&'static str, LengthDistribution)> {
    let (low, high) = (sorted[0].max(1.0), sorted[sorted.len() - 1].max(1.0));
    let (low_u, high_u) = (low as u32, high as u32);
    if low_u == high_u {
        return vec![("fixed", LengthDistribution::Fixed { value: low_u })];
    }
    let logs: Vec<f64> = sorted.iter().map(|x| libm::log(x.max(1.0))).collect();
    let n = logs.len() as f64;
    let mu = logs.iter().sum::<f64>() / n;
    let sigma = f64::sqrt(logs.iter().map(|x| (x - mu) * (x - mu)).sum::<f64>() / n);
    let [first, middle, third] = [0.25, 0.5, 0.75].map(|q| crate::statistics::quantile(sorted, q));
    let quartile = distribution::normal_quantile(0.75);
    let half_width = (third - first) / (2.0 * quartile);
    let log_width = libm::log(third.max(1.0) / first.max(1.0)) / (2.0 * quartile);
    vec![
        ("uniform", LengthDistribution::Uniform { low: low_u, high: high_u }),
        ("geometric", LengthDistribution::Geometric { mean: mean.max(1.0) }),
        (
            "bounded_pareto",
            LengthDistribution::BoundedPareto {
                exponent: pareto_exponent(mu, low, high),
                low: low_u,
                high: high_u,
            },
        ),
        ("normal", LengthDistribution::Normal { mean, deviation, low: low_u, high: high_u }),
        (
            "normal",
            LengthDistribution::Normal { mean: middle, deviation: half_width, low: low_u, high: high_u },
        ),
        (
            "lognormal",
            LengthDistribution::Lognormal { median: libm::exp(mu), sigma, low: low_u, high: high_u },
        ),
        (
            "lognormal",
            LengthDistribution::Lognormal {
                median: middle.max(1.0),
                sigma: log_width,
                low: low_u,
                high: high_u,
            },
        ),
    ]
}

/// The geometric distribution between bounds, of largest likelihood: the one whose mean between them is the lengths' own. It
/// rises with the mean before the bounds, so bisection finds it. A mean before the bounds of twice their distance or more is
/// next to no fall at all: that is the uniform distribution.
fn bounded_geometric(mean: f64, [low, high]: [f64; 2]) -> Option<LengthDistribution> {
    let ranks = high - low + 1.0;
    let mean_of = |before: f64| {
        let failure_log = libm::log1p(-1.0 / before);
        // With q = e^failure_log: q / (1 - q) - n q^n / (1 - q^n).
        low + 1.0 / libm::expm1(-failure_log) - ranks / libm::expm1(-ranks * failure_log)
    };
    let (mut small, mut large) = (1.0 + 1e-9, 2.0 * ranks);
    if ranks < 2.0 || mean_of(large) <= mean {
        return None;
    }
    for _ in 0..80 {
        let middle = f64::midpoint(small, large);
        if mean_of(middle) < mean { small = middle } else { large = middle }
    }
    Some(LengthDistribution::BoundedGeometric {
        mean: f64::midpoint(small, large),
        low: low as u32,
        high: high as u32,
    })
}

/// The exponent of largest likelihood of a Pareto distribution between bounds, from the mean logarithm: the mean of the
/// distribution's logarithm falls as the exponent grows, so bisection finds it.
fn pareto_exponent(mean_log: f64, low: f64, high: f64) -> f64 {
    // The distribution spreads over [low, high + 1) before it is rounded down; half a token makes up for the rounding.
    let (bottom, top) = (libm::log(low), libm::log(high + 1.0));
    let wanted = (mean_log - bottom) / (top - bottom);
    let ratio = top - bottom;
    let mean_of = |exponent: f64| {
        let x = exponent * ratio;
        1.0 / x - 1.0 / libm::expm1(x)
    };
    let (mut small, mut large) = (0.05, 20.0);
    for _ in 0..60 {
        let middle = f64::midpoint(small, large);
        if mean_of(middle) > wanted { small = middle } else { large = middle }
    }
    f64::midpoint(small, large)
}

/// The share of lengths of at most `tokens` (a whole number) under a distribution.
fn at_most(distribution: &LengthDistribution, tokens: f64) -> f64 {
    distribution.below((tokens + 1.0).max(0.0) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Stream;

    #[test]
    fn each_distribution_is_found_again_and_says_its_own_probabilities() {
        let distributions = [
            ("uniform", LengthDistribution::Uniform { low: 8, high: 511 }),
            ("geometric", LengthDistribution::Geometric { mean: 150.0 }),
            ("bounded_pareto", LengthDistribution::BoundedPareto { exponent: 1.3, low: 16, high: 9000 }),
            ("normal", LengthDistribution::Normal { mean: 900.0, deviation: 120.0, low: 1, high: 4096 }),
            ("lognormal", LengthDistribution::Lognormal { median: 300.0, sigma: 0.9, low: 1, high: 32_000 }),
        ];
        for (name, distribution) in distributions {
            let mut stream = Stream::named(3, name);
            let drawn: Vec<u32> = (0..20_000).map(|_| distribution.quantile(stream.uniform())).collect();
            let fit = LengthFit::of(&drawn);
            assert_eq!(fit.distributions[0].name, name, "{:?}", fit.distributions);
            assert!(fit.distributions[0].distance < 0.02, "{:?}", fit.distributions[0]);
            assert!(fit.quantile_distance < 0.003, "{name}: {}", fit.quantile_distance);
            let mut sorted = floats(&drawn);
            sort(&mut sorted);
            assert!(distance(&sorted, |k| at_most(&distribution, k)) < 0.014, "{name}");
        }
    }

    #[test]
    fn lengths_cut_at_a_bound_give_the_geometric_distribution_before_it() {
        let distribution = LengthDistribution::BoundedGeometric { mean: 900.0, low: 3, high: 1500 };
        let mut stream = Stream::named(3, "cut geometric");
        let drawn: Vec<u32> = (0..20_000).map(|_| distribution.quantile(stream.uniform())).collect();
        let Some(LengthDistribution::BoundedGeometric { mean, low, high }) =
            LengthFit::of(&drawn).best_bounded().map(|best| best.distribution.clone())
        else {
            panic!("another distribution is nearer")
        };
        assert!((mean / 900.0 - 1.0).abs() < 0.05 && (low, high) == (3, 1500), "{mean} {low} {high}");
        let uniform: Vec<u32> = (1..=500).collect();
        assert_eq!(LengthFit::of(&uniform).best_bounded().map(|best| best.name), Some("uniform"));
    }

    #[test]
    fn a_distribution_between_bounds_is_there_for_lengths_that_have_none() {
        let distribution = LengthDistribution::Geometric { mean: 150.0 };
        let mut stream = Stream::named(3, "open");
        let drawn: Vec<u32> = (0..20_000).map(|_| distribution.quantile(stream.uniform())).collect();
        let fit = LengthFit::of(&drawn);
        let best = fit.best_bounded().unwrap();
        assert_eq!(best.name, "bounded_geometric");
        assert!(best.distance < 0.01, "{best:?}");
        let LengthDistribution::BoundedGeometric { mean, high, .. } = best.distribution else {
            panic!("{best:?}")
        };
        assert!((mean / 150.0 - 1.0).abs() < 0.03 && high == fit.max, "{best:?}");
    }

    #[test]
    fn lengths_moved_to_a_bound_do_not_bend_the_distribution() {
        let distribution = LengthDistribution::Lognormal { median: 300.0, sigma: 0.9, low: 8, high: 600 };
        let mut stream = Stream::named(4, "cut");
        let drawn: Vec<u32> = (0..20_000).map(|_| distribution.quantile(stream.uniform())).collect();
        let best = LengthFit::of(&drawn).distributions[0].clone();
        let LengthDistribution::Lognormal { median, sigma, .. } = best.distribution else {
            panic!("{best:?}")
        };
        assert!((median / 300.0 - 1.0).abs() < 0.04 && (sigma - 0.9).abs() < 0.05, "{best:?}");
    }

    #[test]
    fn equal_and_absent_lengths_are_no_trouble() {
        let fit = LengthFit::of(&[7; 9]);
        assert_eq!(
            (fit.distributions[0].name, fit.distributions[0].distance, fit.quantiles.at(0.3)),
            ("fixed", 0.0, 7)
        );
        assert!(LengthFit::of(&[]).best().is_none());
    }
}
