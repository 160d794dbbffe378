//! Popularity: distributions of shares over indices 0, 1, …, n - 1.

use crate::distribution;

/// A distribution of shares.
#[derive(Debug, Clone, PartialEq)]
pub enum Popularity {
    /// S-LoRA's power law: index = floor(n U^(1/alpha)), hence p_i = ((i+1)/n)^alpha - (i/n)^alpha.
    ///
    /// Smaller alpha is more skew on (0, 1], toward index 0; 1 is uniform; above 1 skew returns toward the last index.
    Power {
        /// Exponent, positive.
        alpha: f64,
    },
    /// Share of index i proportional to (i+1)^-s.
    Zipf {
        /// Exponent; 0 is uniform.
        s: f64,
    },
    /// Share of the i-th index proportional to exp(sigma z), z the normal quantile of its place: rates that are
    /// lognormal over indices.
    Lognormal {
        /// Standard deviation of the logarithm of a rate; 0 is uniform.
        sigma: f64,
    },
    /// Share of index i proportional to exp(-decay i).
    Geometric {
        /// Decay by index; 0 is uniform.
        decay: f64,
    },
    /// Equal shares.
    Uniform,
    /// Shares proportional to these weights; indices beyond the list are never drawn.
    List(Vec<f64>),
}

/// A [`Popularity`] over `n` indices, ready to draw from.
#[derive(Debug, Clone)]
pub enum Sampler {
    /// Inverse of the power law.
    Power {
        /// Number of indices.
        n: usize,
        /// 1/alpha.
        inverse_alpha: f64,
    },
    /// Cumulated shares, searched by bisection.
    Table(Vec<f64>),
}

impl Popularity {
    /// The share of each of `n` indices; they add up to 1.
    pub fn shares(&self, n: usize) -> Vec<f64> {
        let weights: Vec<f64> = match self {
            Self::Power { alpha } => {
                let edge = |i: usize| libm::pow(i as f64 / n as f64, *alpha);
                return (0..n).map(|i| edge(i + 1) - edge(i)).collect();
            }
            Self::Zipf { s } => (0..n).map(|i| libm::pow(i as f64 + 1.0, -s)).collect(),
            Self::Lognormal { sigma } => {
                let place = |i: usize| (i as f64 + 0.5) / n as f64;
                (0..n).map(|i| libm::exp(-sigma * distribution::normal_quantile(place(i)))).collect()
            }
            Self::Geometric { decay } => (0..n).map(|i| libm::exp(-decay * i as f64)).collect(),
            Self::Uniform => vec![1.0; n],
            Self::List(weights) => (0..n).map(|i| weights.get(i).copied().unwrap_or(0.0)).collect(),
        };
        let total: f64 = weights.iter().sum();
        weights.into_iter().map(|w| w / total).collect()
    }

    /// The sampler over `n` indices (at least 1).
    pub fn sampler(&self, n: usize) -> Sampler {
        match self {
            Self::Power { alpha } => Sampler::Power { n, inverse_alpha: 1.0 / alpha },
            Self::Uniform => Sampler::Power { n, inverse_alpha: 1.0 },
            Self::Zipf { .. } | Self::Lognormal { .. } | Self::Geometric { .. } | Self::List(_) => {
                let mut sum = 0.0;
                let table = self.shares(n).into_iter().map(|share| {
                    sum += share;
                    sum
                });
                Sampler::Table(table.collect())
            }
        }
    }
}

impl Sampler {
    /// The index at the uniform number `u` in (0, 1).
    pub fn at(&self, u: f64) -> u32 {
        match self {
            Self::Power { n, inverse_alpha } => {
                let x = if *inverse_alpha == 1.0 { u } else { libm::pow(u, *inverse_alpha) };
                ((x * *n as f64) as usize).min(n - 1) as u32
            }
            Self::Table(cumulated) => {
                let last = cumulated[cumulated.len() - 1];
                cumulated.partition_point(|&c| c <= u * last).min(cumulated.len() - 1) as u32
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Stream;

    #[test]
    fn power_law_of_the_papers() {
        let shares = Popularity::Power { alpha: 0.1 }.shares(5);
        for (share, printed) in shares.iter().zip([0.851, 0.061, 0.038, 0.028, 0.022]) {
            assert!((share - printed).abs() < 5e-4);
        }
        let first = Popularity::Power { alpha: 0.1 }.shares(200)[0];
        assert!((first - libm::pow(200.0, -0.1)).abs() < 1e-12);
    }

    #[test]
    fn draws_follow_the_shares() {
        for distribution in [
            Popularity::Power { alpha: 0.3 },
            Popularity::Power { alpha: 2.0 },
            Popularity::Zipf { s: 1.2 },
            Popularity::Lognormal { sigma: 1.5 },
            Popularity::Geometric { decay: 0.4 },
            Popularity::Uniform,
            Popularity::List(vec![7.0, 2.0, 0.0, 1.0]),
        ] {
            let sampler = distribution.sampler(6);
            let mut stream = Stream::named(2, "adapters");
            let mut counts = [0.0; 6];
            for _ in 0..60_000 {
                counts[sampler.at(stream.uniform()) as usize] += 1.0;
            }
            for (count, share) in counts.iter().zip(distribution.shares(6)) {
                let expected = share * 60_000.0;
                assert!(
                    (count - expected).abs() <= 4.5 * f64::sqrt(expected),
                    "{distribution:?}: {count} of {expected}"
                );
            }
        }
    }
}
