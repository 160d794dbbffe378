//! When requests arrive: renewal processes with a chosen burstiness.

use crate::distribution;
use crate::stream::Stream;

/// The distribution of the gaps between arrivals. The first request arrives after one gap.
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
    /// Weibull gaps, one of the two families that fit production clients (ServeGen, arXiv 2505.09999).
    Weibull {
        /// Shape; below 1 is bursty, 1 is Poisson.
        shape: f64,
    },
    /// Poisson arrivals whose rate switches between a calm and a busy state: a two-state Markov-modulated process.
    Mmpp2(Mmpp2),
    /// Groups of requests at the same instant, the groups Poisson.
    BatchPoisson {
        /// Requests in a group.
        size: u32,
    },
}

/// The two states of [`Arrivals::Mmpp2`]. Both last exponentially long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mmpp2 {
    /// Rate of the busy state over that of the calm one.
    pub factor: f64,
    /// Share of time that is busy.
    pub busy_share: f64,
    /// Mean duration of a busy spell, seconds.
    pub busy_s: f64,
}

impl Arrivals {
    /// Writes `count` arrival times in microseconds for `rate_rps` requests a second.
    pub fn times_us(self, rate_rps: f64, count: usize, mut stream: Stream) -> Vec<f64> {
        let mean_us = 1e6 / rate_rps;
        if let Self::Mmpp2(mmpp) = self {
            return mmpp.times_us(rate_rps, count, &stream);
        }
        let mut now = 0.0;
        (0..count)
            .map(|i| {
                now += mean_us
                    * match self {
                        Self::Gamma { cv } => {
                            let shape = 1.0 / (cv * cv);
                            distribution::gamma(shape, &mut stream.item(i)) / shape
                        }
                        Self::Poisson | Self::Mmpp2(_) => distribution::exponential(stream.uniform()),
                        Self::Even => 1.0,
                        Self::Weibull { shape } => distribution::weibull(shape, stream.uniform()),
                        Self::BatchPoisson { size } if i % size as usize == 0 => {
                            f64::from(size) * distribution::exponential(stream.uniform())
                        }
                        Self::BatchPoisson { .. } => 0.0,
                    };
                now
            })
            .collect()
    }

    /// Distribution function of a gap of `gap_s` seconds, where gaps are independent and have a density.
    pub fn gap_cdf(self, rate_rps: f64, gap_s: f64) -> Option<f64> {
        match self {
            Self::Gamma { cv } => Some(distribution::gamma_cdf(1.0 / (cv * cv), 1.0 / rate_rps, gap_s)),
            Self::Poisson => Some(distribution::gamma_cdf(1.0, 1.0 / rate_rps, gap_s)),
            Self::Weibull { shape } => Some(distribution::weibull_cdf(shape, 1.0 / rate_rps, gap_s)),
            Self::Even | Self::Mmpp2(_) | Self::BatchPoisson { .. } => None,
        }
    }
}

impl Mmpp2 {
    /// Arrivals in either state's own time: unit-rate Poisson arrivals, placed where the rate's integral reaches them.
    fn times_us(self, rate_rps: f64, count: usize, stream: &Stream) -> Vec<f64> {
        let calm_rps = rate_rps / (1.0 - self.busy_share + self.factor * self.busy_share);
        let calm_s = self.busy_s * (1.0 - self.busy_share) / self.busy_share;
        let (mut gaps, mut spells) = (stream.item(0), stream.item(1));
        // The first state is drawn by its share of time, so that the rate is the same from the start.
        let mut busy = spells.uniform() < self.busy_share;
        let (mut now_s, mut due) = (0.0, distribution::exponential(gaps.uniform()));
        let mut times = Vec::with_capacity(count);
        while times.len() < count {
            let (rate, mean_s) =
                if busy { (calm_rps * self.factor, self.busy_s) } else { (calm_rps, calm_s) };
            let end_s = now_s + mean_s * distribution::exponential(spells.uniform());
            while times.len() < count && now_s + due / rate < end_s {
                now_s += due / rate;
                times.push(now_s * 1e6);
                due = distribution::exponential(gaps.uniform());
            }
            due -= (end_s - now_s) * rate;
            now_s = end_s;
            busy = !busy;
        }
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_have_the_asked_mean_and_cv() {
        for (distribution, cv) in [
            (Arrivals::Gamma { cv: 0.5 }, 0.5),
            (Arrivals::Gamma { cv: 2.0 }, 2.0),
            (Arrivals::Poisson, 1.0),
            // Shape 1/2: E[X^2] / E[X]^2 = Gamma(5) / Gamma(3)^2 = 6.
            (Arrivals::Weibull { shape: 0.5 }, f64::sqrt(5.0)),
        ] {
            let times = distribution.times_us(4.0, 200_000, Stream::named(5, "arrivals"));
            let gaps: Vec<f64> = times.windows(2).map(|w| w[1] - w[0]).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let variance = gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / gaps.len() as f64;
            assert!((mean / 250_000.0 - 1.0).abs() < 0.02, "mean {mean}");
            assert!((f64::sqrt(variance) / mean / cv - 1.0).abs() < 0.03, "cv of {distribution:?}");
        }
        assert_eq!(
            Arrivals::Even.times_us(2.0, 3, Stream::named(1, "a")),
            [500_000.0, 1_000_000.0, 1_500_000.0]
        );
    }

    #[test]
    fn modulated_arrivals_keep_the_rate_and_cluster() {
        let mmpp = Mmpp2 { factor: 20.0, busy_share: 0.1, busy_s: 10.0 };
        let times = Arrivals::Mmpp2(mmpp).times_us(5.0, 400_000, Stream::named(5, "arrivals"));
        let rate = times.len() as f64 / (times[times.len() - 1] / 1e6);
        assert!((rate / 5.0 - 1.0).abs() < 0.05, "{rate}");
        let mut counts = vec![0.0f64; (times[times.len() - 1] / 1e7) as usize];
        for t in &times {
            if let Some(count) = counts.get_mut((t / 1e7) as usize) {
                *count += 1.0;
            }
        }
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        let variance = counts.iter().map(|c| (c - mean) * (c - mean)).sum::<f64>() / counts.len() as f64;
        assert!(variance / mean > 20.0, "dispersion {}", variance / mean);
    }

    #[test]
    fn batches_arrive_together_at_the_asked_rate() {
        let times = Arrivals::BatchPoisson { size: 8 }.times_us(2.0, 80_000, Stream::named(5, "arrivals"));
        assert!(times.chunks(8).all(|group| group.iter().all(|t| *t == group[0])));
        let rate = times.len() as f64 / (times[times.len() - 1] / 1e6);
        assert!((rate / 2.0 - 1.0).abs() < 0.03, "{rate}");
    }
}
