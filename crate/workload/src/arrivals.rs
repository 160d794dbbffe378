//! When requests arrive: renewal processes with a chosen burstiness.

use crate::law;
use crate::stream::Stream;

/// The law of the gaps between arrivals. The first request arrives after one gap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrivals {
    /// Gamma gaps with coefficient of variation `cv`: shape 1/cv^2, scale cv^2/rate (S-LoRA, section 7 of the paper).
    Gamma {
        /// Standard deviation of a gap over its mean; 1 is Poisson.
        cv: f64,
    },
    /// Exponential gaps.
    Poisson,
    /// Equal gaps.
    Even,
}

impl Arrivals {
    /// Writes `count` arrival times in microseconds for `rate_rps` requests a second.
    pub fn times_us(self, rate_rps: f64, count: usize, mut stream: Stream) -> Vec<f64> {
        let mean_us = 1e6 / rate_rps;
        let mut now = 0.0;
        (0..count)
            .map(|i| {
                now += mean_us
                    * match self {
                        Self::Gamma { cv } => {
                            let shape = 1.0 / (cv * cv);
                            law::gamma(shape, &mut stream.item(i)) / shape
                        }
                        Self::Poisson => law::exponential(stream.uniform()),
                        Self::Even => 1.0,
                    };
                now
            })
            .collect()
    }

    /// Density of a gap of `gap_s` seconds; `None` where the law has none.
    pub fn gap_density(self, rate_rps: f64, gap_s: f64) -> Option<f64> {
        match self {
            Self::Gamma { cv } => Some(law::gamma_density(1.0 / (cv * cv), 1.0 / rate_rps, gap_s)),
            Self::Poisson => Some(law::gamma_density(1.0, 1.0 / rate_rps, gap_s)),
            Self::Even => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_have_the_asked_mean_and_cv() {
        for (law, cv) in
            [(Arrivals::Gamma { cv: 0.5 }, 0.5), (Arrivals::Gamma { cv: 2.0 }, 2.0), (Arrivals::Poisson, 1.0)]
        {
            let times = law.times_us(4.0, 200_000, Stream::named(5, "arrivals"));
            let gaps: Vec<f64> = times.windows(2).map(|w| w[1] - w[0]).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let variance = gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / gaps.len() as f64;
            assert!((mean / 250_000.0 - 1.0).abs() < 0.02, "mean {mean}");
            assert!((libm::sqrt(variance) / mean / cv - 1.0).abs() < 0.03, "cv of {law:?}");
        }
        assert_eq!(
            Arrivals::Even.times_us(2.0, 3, Stream::named(1, "a")),
            [500_000.0, 1_000_000.0, 1_500_000.0]
        );
    }
}
