//! Traffic as the sum of clients, each a process of its own (ServeGen, Xiang et al., arXiv 2505.09999).
//!
//! Every client's process is stationary from time 0 on: the first gap is what is left of the gap that time 0 falls into.
//! A client of rate r so makes r D requests in the mean, however few and however bursty, and none is dropped.

mod servegen;

use crate::arrivals::Arrivals;
use crate::distribution;
use crate::formats::MAX_TOKENS;
use crate::spec::WorkloadSpec;
use crate::stream::Stream;

pub use servegen::{ServeGen, servegen};

/// What clients have of their own. Lists are assigned cyclically; a client's share is its user's share.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientSpec {
    /// Coefficients of variation of gamma gaps; with another distribution of gaps all clients have that one.
    pub cvs: Vec<f64>,
    /// Factors of prompt lengths.
    pub input_scales: Vec<f64>,
    /// Factors of output lengths.
    pub output_scales: Vec<f64>,
    /// Adapters; `None` draws one for each request by the adapters' own shares.
    pub adapters: Vec<Option<u32>>,
}

/// The entry of a list that is assigned cyclically.
pub(crate) fn cycle_get<T: Copy>(list: &[T], place: usize) -> Option<T> {
    (!list.is_empty()).then(|| list[place % list.len()])
}

impl ClientSpec {
    /// The distribution of a client's gaps.
    pub(crate) fn arrivals(&self, all: Arrivals, client: usize) -> Arrivals {
        match (all, cycle_get(&self.cvs, client)) {
            (Arrivals::Gamma { .. }, Some(cv)) => Arrivals::Gamma { cv },
            _ => all,
        }
    }
}

impl WorkloadSpec {
    /// The share of the requests that each user is expected to send; `None` where that is an outcome.
    pub fn expected_user_shares(&self) -> Option<Vec<f64>> {
        self.closed_requests.is_none().then(|| self.users.popularity.shares(self.users.count.max(1)))
    }

    /// The share of the requests that is expected to ask for each adapter; `None` where that is an outcome.
    pub fn expected_adapter_shares(&self) -> Option<Vec<f64>> {
        let drawn = self.adapters.popularity.shares(self.adapters.count);
        let own = self.clients.as_ref().map_or(&[][..], |clients| &clients.adapters);
        if own.iter().all(Option::is_none) {
            return Some(drawn);
        }
        let mut shares = vec![0.0; drawn.len()];
        for (client, share) in self.expected_user_shares()?.into_iter().enumerate() {
            match cycle_get(own, client).flatten() {
                Some(adapter) => shares.get_mut(adapter as usize).into_iter().for_each(|sum| *sum += share),
                None => shares.iter_mut().zip(&drawn).for_each(|(sum, drawn)| *sum += share * drawn),
            }
        }
        Some(shares)
    }
}

/// A length times a factor, at least 1.
pub(crate) fn scaled(length: u32, factor: Option<f64>) -> u32 {
    factor
        .map_or(length, |factor| (f64::from(length) * factor + 0.5).clamp(1.0, f64::from(MAX_TOKENS)) as u32)
}

/// Arrivals of a stationary process before `until_s`, microseconds.
pub(crate) fn stationary_times_us(
    distribution: Arrivals,
    rate_rps: f64,
    until_s: f64,
    stream: &Stream,
) -> Vec<f64> {
    let until_us = until_s * 1e6;
    let mut count = (1.2 * rate_rps * until_s) as usize + 4;
    loop {
        // More draws of the same stream go on from fewer.
        let mut times = distribution.times_us(rate_rps, count, stream.item(0));
        let early =
            residual(distribution, &mut stream.item(1)).map_or(0.0, |left| times[0] - left * 1e6 / rate_rps);
        if times[count - 1] - early >= until_us {
            times.iter_mut().for_each(|t| *t = (*t - early).max(0.0));
            times.truncate(times.partition_point(|&t| t < until_us));
            return times;
        }
        count *= 2;
    }
}

/// What is left, in mean gaps, of the gap that a time falls into: a part of a gap drawn in proportion to its length. `None`
/// where gaps start again at any time anyhow.
fn residual(distribution: Arrivals, stream: &mut Stream) -> Option<f64> {
    let part = stream.uniform();
    match distribution {
        Arrivals::Gamma { cv } => {
            let shape = 1.0 / (cv * cv);
            Some(part * distribution::gamma(shape + 1.0, stream) / shape)
        }
        Arrivals::Even => Some(part),
        // With y = (x/scale)^shape, x f(x) dx is y^(1/shape) e^-y dy: a gamma distribution of y.
        Arrivals::Weibull { shape } => {
            let y = distribution::gamma(1.0 + 1.0 / shape, stream);
            Some(part * distribution::weibull(shape, libm::exp(-y)))
        }
        Arrivals::Poisson | Arrivals::Mmpp2(_) | Arrivals::BatchPoisson { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_and_bursty_clients_keep_their_rate() {
        // An ordinary process would begin with a whole gap: with cv 4 the mean would be off by (cv^2 - 1) / 2 = 7.5.
        for distribution in [
            Arrivals::Gamma { cv: 4.0 },
            Arrivals::Gamma { cv: 0.3 },
            Arrivals::Weibull { shape: 0.4 },
            Arrivals::Even,
            Arrivals::Poisson,
        ] {
            for mean in [0.4, 6.0] {
                let stream = Stream::named(7, "clients");
                let counts: Vec<f64> = (0..20_000)
                    .map(|i| {
                        stationary_times_us(distribution, mean / 50.0, 50.0, &stream.item(i)).len() as f64
                    })
                    .collect();
                let n = counts.len() as f64;
                let got = counts.iter().sum::<f64>() / n;
                let variance = counts.iter().map(|c| (c - got) * (c - got)).sum::<f64>() / n;
                let error = f64::sqrt(variance / n);
                assert!(
                    (got - mean).abs() < 4.0 * error + 1e-9,
                    "{distribution:?}: {got} +- {error}, asked {mean}"
                );
            }
        }
    }
}
