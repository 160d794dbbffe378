//! How long prompts and answers are. Each law maps one uniform number to a length, so lengths move smoothly with their
//! parameters.

use crate::law;

/// A law of lengths in tokens; every length is at least 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Length {
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
}

impl Length {
    /// The length at the uniform number `u` in (0, 1).
    pub fn at(&self, u: f64) -> u32 {
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
            Self::BoundedPareto { exponent, low, high } => {
                let (l, h) = (f64::from(low), f64::from(high) + 1.0);
                let kept = 1.0 - u * (1.0 - libm::pow(l / h, exponent));
                ((l * libm::pow(kept, -1.0 / exponent)) as u32).clamp(low, high)
            }
            Self::Lognormal { median, sigma, low, high } => {
                rounded(median * libm::exp(sigma * law::normal_quantile(u)), low, high)
            }
            Self::Normal { mean, deviation, low, high } => {
                rounded(mean + deviation * law::normal_quantile(u), low, high)
            }
        }
    }
}

fn rounded(x: f64, low: u32, high: u32) -> u32 {
    (x.min(f64::from(high)) + 0.5).floor().max(f64::from(low)) as u32
}

/// Cap of a geometric length, so that no request is without end.
const MAX_GEOMETRIC: u32 = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Stream;

    fn mean(law: Length) -> f64 {
        let mut stream = Stream::named(9, "lengths");
        (0..200_000).map(|_| f64::from(law.at(stream.uniform()))).sum::<f64>() / 200_000.0
    }

    #[test]
    fn means_and_bounds() {
        assert_eq!(Length::Fixed { value: 7 }.at(0.3), 7);
        assert!((mean(Length::Uniform { low: 8, high: 511 }) - 259.5).abs() < 1.0);
        assert!((mean(Length::Geometric { mean: 100.0 }) - 100.0).abs() < 1.0);
        let pareto = Length::BoundedPareto { exponent: 1.1, low: 10, high: 2000 };
        assert_eq!((pareto.at(1e-12), pareto.at(1.0 - 1e-12)), (10, 2000));
        let lognormal = Length::Lognormal { median: 200.0, sigma: 1.0, low: 1, high: 4096 };
        assert_eq!(lognormal.at(0.5), 200);
        assert_eq!(lognormal.at(1.0 - 1e-15), 4096);
        let normal = Length::Normal { mean: 300.0, deviation: 50.0, low: 1, high: 4096 };
        assert!((mean(normal) - 300.0).abs() < 0.5);
        assert_eq!((normal.at(0.5), normal.at(1e-300)), (300, 1));
        assert_eq!(Length::Uniform { low: 3, high: 5 }.at(1.0 - 1e-16), 5);
    }
}
