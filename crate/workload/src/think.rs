//! How long a client thinks between an answer and its next request.

use crate::distribution;
use crate::stream::Stream;

/// A distribution of think times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Think {
    /// Always the same.
    Fixed {
        /// Seconds.
        seconds: f64,
    },
    /// Exponential: what closed queueing networks assume.
    Exponential {
        /// Mean, seconds.
        mean_s: f64,
    },
    /// Lognormal: most come back at once, some go for lunch.
    Lognormal {
        /// Mean, seconds.
        mean_s: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
}

impl Think {
    /// A think time, microseconds.
    pub fn draw_us(self, stream: &mut Stream) -> f64 {
        let u = stream.uniform();
        1e6 * match self {
            Self::Fixed { seconds } => seconds,
            Self::Exponential { mean_s } => mean_s * distribution::exponential(u),
            Self::Lognormal { mean_s, sigma } => {
                mean_s * libm::exp(sigma * distribution::normal_quantile(u) - 0.5 * sigma * sigma)
            }
        }
    }

    /// What is left of the think time that an outside observer finds a user in, microseconds: a part of a time drawn in
    /// proportion to its length. Users who begin so do not begin together.
    pub fn residual_us(self, stream: &mut Stream) -> f64 {
        let part = stream.uniform();
        match self {
            Self::Fixed { seconds } => 1e6 * seconds * part,
            Self::Exponential { .. } => self.draw_us(stream),
            Self::Lognormal { sigma, .. } => part * libm::exp(sigma * sigma) * self.draw_us(stream),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_residuals_are_those_of_the_distributions() {
        // The mean residual of a time X is E[X^2] / 2 E[X].
        let sigma: f64 = 0.8;
        for (distribution, residual_s) in [
            (Think::Fixed { seconds: 5.0 }, 2.5),
            (Think::Exponential { mean_s: 5.0 }, 5.0),
            (Think::Lognormal { mean_s: 5.0, sigma }, 2.5 * libm::exp(sigma * sigma)),
        ] {
            let mut stream = Stream::named(4, "think");
            let mut mean = |of: &dyn Fn(&mut Stream) -> f64| {
                (0..200_000).map(|_| of(&mut stream)).sum::<f64>() / 200_000e6
            };
            let (drawn, left) = (mean(&|s| distribution.draw_us(s)), mean(&|s| distribution.residual_us(s)));
            assert!((drawn / 5.0 - 1.0).abs() < 0.01, "{distribution:?}: {drawn}");
            assert!((left / residual_s - 1.0).abs() < 0.03, "{distribution:?}: {left} against {residual_s}");
        }
    }
}
