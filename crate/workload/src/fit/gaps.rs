//! Gaps between arrivals: how much they vary, and how far the distributions of the field are from them.

use crate::distribution;
use crate::statistics::ArrivalStatistics;
use crate::statistics::{gamma_shape, quantile, sort, variation_quantiles, weibull_shape};

/// Gaps of a long trace that shapes are fitted to, evenly taken: their standard error is below half a percent.
const MOST_GAPS: usize = 100_000;

/// A distribution with its parameter and how far it is from the data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DistributionDistance {
    /// Its shape.
    pub shape: f64,
    /// Kolmogorov's distance: the largest difference of the distribution functions.
    pub distance: f64,
}

/// Gaps and the distributions fitted to them. A distribution's mean is the gaps' mean.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GapFit {
    /// How many gaps.
    pub count: usize,
    /// Mean, seconds (or expected requests, on the clock of a curve).
    pub mean: f64,
    /// Standard deviation over mean; `None` for a mean of 0.
    pub cv: Option<f64>,
    /// Share of gaps that are zero.
    pub zeros: f64,
    /// The gamma distribution of the same mean and variation: shape 1/cv^2.
    pub gamma_moments: Option<DistributionDistance>,
    /// The gamma distribution of largest likelihood over the positive gaps.
    pub gamma: Option<DistributionDistance>,
    /// The Weibull distribution of largest likelihood over the positive gaps.
    pub weibull: Option<DistributionDistance>,
    /// Kolmogorov's distance of the exponential distribution, which a Poisson process has.
    pub exponential_distance: Option<f64>,
}

impl GapFit {
    /// The gaps of times in ascending order.
    pub fn of_times(times: &[f64]) -> Self {
        let mut gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        if gaps.is_empty() {
            return Self::default();
        }
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        let std = f64::sqrt(gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / n);
        let zeros = gaps.iter().filter(|&&g| g <= 0.0).count() as f64 / n;
        // Likelihood over positive gaps says nothing of a trace whose gaps are mostly zero.
        let reported: Vec<f64> = gaps.iter().copied().step_by(gaps.len().div_ceil(MOST_GAPS)).collect();
        let shapes =
            if zeros < 0.5 { (gamma_shape(&reported), weibull_shape(&reported)) } else { (None, None) };
        sort(&mut gaps);
        let with = |shape: f64, cdf: &dyn Fn(f64, f64) -> f64| DistributionDistance {
            shape,
            distance: distance_to(&gaps, |gap| cdf(shape, gap)),
        };
        let gamma = |shape: f64, gap: f64| distribution::gamma_cdf(shape, mean, gap);
        // Below a shape of a thousandth the quantiles of a distribution underflow.
        let sound = |shape: f64| (1e-3..=1e6).contains(&shape);
        Self {
            count: gaps.len(),
            mean,
            cv: (mean > 0.0).then(|| std / mean),
            zeros,
            gamma_moments: Some(mean * mean / (std * std)).filter(|s| sound(*s)).map(|s| with(s, &gamma)),
            gamma: shapes.0.filter(|s| sound(*s)).map(|s| with(s, &gamma)),
            weibull: shapes
                .1
                .filter(|s| mean > 0.0 && sound(*s))
                .map(|s| with(s, &|shape, gap| distribution::weibull_cdf(shape, mean, gap))),
            exponential_distance: (mean > 0.0).then(|| distance_to(&gaps, |gap| -libm::expm1(-gap / mean))),
        }
    }
}

/// The median variation of gaps inside minutes.
pub(super) fn cv_within_minutes(since_s: &[f64]) -> Option<f64> {
    let statistics = ArrivalStatistics::of(since_s)?;
    let (_, variations) = statistics.within.into_iter().find(|(window, _)| *window == 60)?;
    Some(variation_quantiles(&variations)[1])
}

/// Values of a long column at which a distribution is compared: more would move a distance by less than one in as many.
const MOST_PLACES: usize = 20_000;

/// Kolmogorov's distance between values in ascending order and a distribution.
pub(super) fn distance_to(sorted: &[f64], cdf: impl Fn(f64) -> f64) -> f64 {
    let n = sorted.len() as f64;
    let step = sorted.len().div_ceil(MOST_PLACES);
    let (mut place, mut worst) = (0, 0.0f64);
    while let Some(&value) = sorted.get(place) {
        let distribution = cdf(value);
        let below = place - sorted[..place].iter().rev().take_while(|&&x| x == value).count();
        let above = place + sorted[place..].iter().take_while(|&&x| x == value).count();
        // A distribution without atoms has the same value on both sides of a step.
        worst =
            worst.max((distribution - below as f64 / n).abs()).max((distribution - above as f64 / n).abs());
        place = above.max(place + step);
    }
    worst
}

/// Kolmogorov's distance between two samples; 0 where either is empty.
pub fn kolmogorov(mut a: Vec<f64>, mut b: Vec<f64>) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    sort(&mut a);
    sort(&mut b);
    let (mut i, mut j, mut worst) = (0, 0, 0.0f64);
    while i < a.len() && j < b.len() {
        let value = a[i].min(b[j]);
        i += a[i..].iter().take_while(|x| **x <= value).count();
        j += b[j..].iter().take_while(|x| **x <= value).count();
        worst = worst.max((i as f64 / a.len() as f64 - j as f64 / b.len() as f64).abs());
    }
    worst
}

/// Quantiles of values in any order at these shares.
pub(super) fn quantiles_at(mut values: Vec<f64>, shares: &[f64]) -> Vec<f64> {
    sort(&mut values);
    shares.iter().map(|&share| quantile(&values, share)).collect()
}
