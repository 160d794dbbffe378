//! Which distribution do observed shares follow? Each distribution of shares over ranks, fitted by maximum likelihood, with
//! its distance.
//!
//! The log-likelihood of counts under a distribution is, up to a constant, minus their number times the Kullback-Leibler
//! divergence of the distribution from the observed shares. The distributions are over ranks (the busiest first), so a fit
//! says nothing about which user is which.

use crate::popularity::Popularity;

/// A distribution fitted to shares.
#[derive(Debug, Clone, PartialEq)]
pub struct ShareFit {
    /// Name of the distribution, as in the parameter table.
    pub distribution: &'static str,
    /// Its parameter; `None` for a distribution without one.
    pub parameter: Option<f64>,
    /// Kullback-Leibler divergence of the distribution from the observed shares, nats a request.
    pub divergence_nats: f64,
    /// Largest distance of the cumulated shares.
    pub distance: f64,
    /// The share that the distribution gives the busiest.
    pub top_share: f64,
}

/// Fits every distribution to these counts (any order, zeros left out), the best first. Empty for fewer than two counts.
pub fn fit_shares(counts: &[f64]) -> Vec<ShareFit> {
    let mut observed: Vec<f64> = counts.iter().copied().filter(|c| *c > 0.0).collect();
    if observed.len() < 2 {
        return Vec::new();
    }
    crate::statistics::sort(&mut observed);
    observed.reverse();
    let total: f64 = observed.iter().sum();
    observed.iter_mut().for_each(|c| *c /= total);
    let one = |distribution: &'static str, make: &dyn Fn(f64) -> Popularity, (low, high): (f64, f64)| {
        let parameter = minimise(|x| divergence(&observed, &make(x)), low, high);
        measured_by(&observed, distribution, Some(parameter), &make(parameter))
    };
    let mut fits = vec![
        measured_by(&observed, "uniform", None, &Popularity::Uniform),
        one("zipf", &|s| Popularity::Zipf { s }, (0.0, 6.0)),
        one("power", &|alpha| Popularity::Power { alpha }, (0.01, 1.0)),
        one("lognormal", &|sigma| Popularity::Lognormal { sigma }, (0.0, 8.0)),
        one("geometric", &|decay| Popularity::Geometric { decay }, (0.0, 3.0)),
    ];
    fits.sort_unstable_by(|a, b| a.divergence_nats.total_cmp(&b.divergence_nats));
    fits
}

/// How far a distribution is from shares in descending order that add up to 1.
pub(crate) fn measured_by(
    observed: &[f64],
    distribution: &'static str,
    parameter: Option<f64>,
    shares: &Popularity,
) -> ShareFit {
    let expected = shares.shares(observed.len());
    let mut apart = 0.0;
    let distance = observed.iter().zip(&expected).fold(0.0f64, |worst, (p, q)| {
        apart += p - q;
        worst.max(apart.abs())
    });
    ShareFit {
        distribution,
        parameter,
        divergence_nats: divergence(observed, shares),
        distance,
        top_share: expected.first().copied().unwrap_or(0.0),
    }
}

fn divergence(observed: &[f64], distribution: &Popularity) -> f64 {
    let expected = distribution.shares(observed.len());
    observed.iter().zip(&expected).map(|(p, q)| p * libm::log(p / q.max(f64::MIN_POSITIVE))).sum()
}

/// The place of the least value of a function that falls and then rises, by golden section.
pub(crate) fn minimise(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_8;
    let (mut a, mut b) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
    let (mut at_a, mut at_b) = (f(a), f(b));
    for _ in 0..80 {
        if at_a <= at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - GOLDEN * (high - low);
            at_a = f(a);
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + GOLDEN * (high - low);
            at_b = f(b);
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_distribution_is_found_again() {
        let distributions = [
            ("zipf", 1.3, Popularity::Zipf { s: 1.3 }),
            ("power", 0.25, Popularity::Power { alpha: 0.25 }),
            ("lognormal", 1.7, Popularity::Lognormal { sigma: 1.7 }),
            ("geometric", 0.2, Popularity::Geometric { decay: 0.2 }),
        ];
        for (name, parameter, distribution) in distributions {
            let fits = fit_shares(&distribution.shares(40));
            assert_eq!(fits[0].distribution, name, "{fits:?}");
            assert!((fits[0].parameter.expect("a parameter") - parameter).abs() < 1e-4, "{fits:?}");
            assert!(fits[0].divergence_nats < 1e-8 && fits[0].distance < 1e-4);
        }
        assert!(fit_shares(&[3.0, 0.0]).is_empty());
    }
}
