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
    /// Tools of an agent, by the measured times of coding agents: 86.5 % of the next turns come within a second and 95.1 % within ten
    /// (github.com/vllm-project/router, issue 285). Most tools take tenths of a second, one in twenty many seconds.
    Tools,
}

/// Of tools: the share, the median in seconds and the standard deviation of the logarithm of the slow ones, then of the others.
const TOOLS: [(f64, f64, f64); 2] = [(0.05, 20.0, 1.2), (0.95, 0.3, 1.0)];

/// A draw of a lognormal distribution of this median.
fn lognormal(median: f64, sigma: f64, u: f64) -> f64 {
    median * libm::exp(sigma * distribution::normal_quantile(u))
}

/// The part in which a number lies when the numbers up to 1 are shared out, and how far it is in it.
fn part_of(shares: [f64; 2], u: f64) -> (usize, f64) {
    if u < shares[0] { (0, u / shares[0]) } else { (1, (u - shares[0]) / shares[1]) }
}

impl Think {
    /// The mean, seconds.
    pub fn mean_s(self) -> f64 {
        match self {
            Self::Fixed { seconds } => seconds,
            Self::Exponential { mean_s } | Self::Lognormal { mean_s, .. } => mean_s,
            Self::Tools => TOOLS.iter().map(|&tool| Self::mean_of_tool(tool)).sum(),
        }
    }

    /// The mean of a kind of tools, weighted by its share.
    fn mean_of_tool((share, median, sigma): (f64, f64, f64)) -> f64 {
        share * median * libm::exp(0.5 * sigma * sigma)
    }

    /// A think time, microseconds.
    pub fn draw_us(self, stream: &mut Stream) -> f64 {
        let u = stream.uniform();
        1e6 * match self {
            Self::Fixed { seconds } => seconds,
            Self::Exponential { mean_s } => mean_s * distribution::exponential(u),
            Self::Lognormal { mean_s, sigma } => {
                mean_s * libm::exp(sigma * distribution::normal_quantile(u) - 0.5 * sigma * sigma)
            }
            Self::Tools => {
                let (kind, within) = part_of(TOOLS.map(|tool| tool.0), u);
                lognormal(TOOLS[kind].1, TOOLS[kind].2, within)
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
            Self::Tools => {
                let all = self.mean_s();
                let shares = TOOLS.map(|tool| Self::mean_of_tool(tool) / all);
                let (kind, within) = part_of(shares, stream.uniform());
                let (_, median, sigma) = TOOLS[kind];
                1e6 * part * libm::exp(sigma * sigma) * lognormal(median, sigma, within)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_come_back_as_soon_as_measured() {
        let mut stream = Stream::named(4, "think");
        let times: Vec<f64> = (0..200_000).map(|_| Think::Tools.draw_us(&mut stream) / 1e6).collect();
        let within = |s: f64| times.iter().filter(|&&time| time <= s).count() as f64 / times.len() as f64;
        assert!((within(1.0) - 0.865).abs() < 0.03 && (within(10.0) - 0.951).abs() < 0.02, "{}", within(1.0));
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        assert!((mean / Think::Tools.mean_s() - 1.0).abs() < 0.05, "{mean} {}", Think::Tools.mean_s());
        let left = |_| Think::Tools.residual_us(&mut stream) / 1e6;
        let left = (0..200_000).map(left).sum::<f64>() / 200_000.0;
        let square = |&(share, median, sigma): &(f64, f64, f64)| {
            share * median * median * libm::exp(2.0 * sigma * sigma)
        };
        let expected = TOOLS.iter().map(square).sum::<f64>() / (2.0 * Think::Tools.mean_s());
        assert!((left / expected - 1.0).abs() < 0.15, "{left} {expected}");
    }

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
