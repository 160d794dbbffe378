//! What a workload is: arrivals, lengths, users, adapters, sessions.

use crate::arrivals::Arrivals;
use crate::clients::{ClientSpec, cycle_get};
use crate::curve::RateCurve;
use crate::lengths::{LengthDistribution, LengthPairs};
use crate::output_bounds::{BoundedOutput, OutputBounds};
use crate::popularity::Popularity;
use crate::prefix::PrefixSpec;
use crate::sessions::SessionSpec;
use crate::stream::Stream;
use crate::think::Think;

/// Everything that a synthetic workload is made from.
#[derive(Debug, Clone)]
pub struct WorkloadSpec {
    /// Seed of all streams.
    pub seed: u64,
    /// Mean request rate, requests a second.
    pub rate_rps: f64,
    /// The rate over time in place of one rate.
    pub curve: Option<RateCurve>,
    /// Duration, seconds; as many requests are made as the rate brings in it, rounded down.
    pub duration_s: f64,
    /// Whether requests that arrive after the duration are dropped.
    pub cut_at_duration: bool,
    /// Distribution of the gaps.
    pub arrivals: Arrivals,
    /// Whether all requests come from one such process, or each adapter's from one of its own.
    pub arrivals_per: ArrivalsPer,
    /// Adapters and their shares.
    pub adapters: AdapterSpec,
    /// Users and their shares.
    pub users: UserSpec,
    /// Prompt lengths.
    pub input: LengthDistribution,
    /// Output lengths.
    pub output: LengthDistribution,
    /// Spearman's rank correlation of prompt and output lengths, -1 to 1.
    pub length_correlation: f64,
    /// Pairs to draw prompt and output lengths from together, in place of their distributions.
    pub length_pairs: Option<LengthPairs>,
    /// What prompt and output lengths are multiplied by over time.
    pub length_curves: [Option<RateCurve>; 2],
    /// The max_tokens that the server sees.
    pub max_tokens: MaxTokens,
    /// What requests ask of the lengths of their outputs beside that.
    pub output_bounds: OutputBounds,
    /// A closed loop of the users, each with one request at a time, of at most this many requests in all; no arrival
    /// distribution then.
    pub closed_requests: Option<usize>,
    /// Time between an answer and the next request, in a closed loop and in sessions.
    pub think: Think,
    /// Conversations in place of single requests.
    pub sessions: Option<SessionSpec>,
    /// Users as clients, each with a process of its own.
    pub clients: Option<ClientSpec>,
    /// Shared prefixes of prompts.
    pub prefix: Option<PrefixSpec>,
}

/// What an arrival process is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ArrivalsPer {
    /// One process of all requests, whose adapters are drawn (S-LoRA's generator). An adapter of share p then has gaps of
    /// cv^2 = 1 + p (`cv_all^2` - 1), as any thinned renewal process.
    #[default]
    All,
    /// A process for each adapter, with the same distribution of gaps and the adapter's share of the rate. Without adapters
    /// this is [`ArrivalsPer::All`]; clients with processes of their own take precedence over it.
    Adapter,
}

/// The adapters of a synthetic workload.
#[derive(Debug, Clone, PartialEq)]
pub struct AdapterSpec {
    /// How many; 0 = base model only.
    pub count: usize,
    /// Which ones requests ask for.
    pub popularity: Popularity,
    /// Ranks, assigned cyclically: adapter i has `ranks[i mod len]`.
    pub ranks: Vec<u32>,
}

/// The users of a synthetic workload: labels drawn independently of the adapter.
#[derive(Debug, Clone, PartialEq)]
pub struct UserSpec {
    /// How many, at least 1.
    pub count: usize,
    /// Which ones send.
    pub popularity: Popularity,
}

/// The bound on output that the system sees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MaxTokens {
    /// The true length: the client knows it.
    Output,
    /// One cap for all, raised to the true length where that is longer.
    Cap(u32),
}

impl Default for WorkloadSpec {
    fn default() -> Self {
        Self {
            seed: 42,
            rate_rps: 2.0,
            curve: None,
            duration_s: 300.0,
            cut_at_duration: false,
            arrivals: Arrivals::Gamma { cv: 1.0 },
            arrivals_per: ArrivalsPer::All,
            adapters: AdapterSpec {
                count: 200,
                popularity: Popularity::Power { alpha: 1.0 },
                ranks: vec![8],
            },
            users: UserSpec { count: 1, popularity: Popularity::Uniform },
            input: LengthDistribution::Uniform { low: 8, high: 511 },
            output: LengthDistribution::Uniform { low: 8, high: 511 },
            length_correlation: 0.0,
            length_pairs: None,
            length_curves: [None, None],
            max_tokens: MaxTokens::Output,
            output_bounds: OutputBounds::default(),
            closed_requests: None,
            think: Think::Exponential { mean_s: 10.0 },
            sessions: None,
            clients: None,
            prefix: None,
        }
    }
}

impl MaxTokens {
    /// The bound for an answer.
    pub(crate) fn of(self, output_tokens: u32) -> u32 {
        match self {
            Self::Output => output_tokens,
            Self::Cap(cap) => output_tokens.max(cap),
        }
    }
}

impl AdapterSpec {
    /// The rank of each adapter.
    pub(crate) fn adapter_ranks(&self) -> Vec<u32> {
        self.ranks.iter().copied().cycle().take(self.count).collect()
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

    /// floor(R D), of the product in double precision as S-LoRA takes it; under a curve its integral, rounded down.
    pub fn request_count(&self) -> usize {
        self.curve.as_ref().map_or(self.rate_rps * self.duration_s, |curve| curve.integral(self.duration_s))
            as usize
    }

    /// What becomes of an output that the model would end after `output_tokens`.
    pub(crate) fn bounded(&self, output_tokens: u32) -> BoundedOutput {
        self.output_bounds.bounded(output_tokens, self.max_tokens.of(output_tokens))
    }

    /// Whether requests come one by one from one process: no closed loop, no sessions, no processes of clients or adapters.
    pub fn is_plain(&self) -> bool {
        self.closed_requests.is_none()
            && self.sessions.is_none()
            && self.clients.is_none()
            && !self.has_adapter_processes()
    }

    /// Whether each adapter has an arrival process of its own.
    pub(crate) fn has_adapter_processes(&self) -> bool {
        self.arrivals_per == ArrivalsPer::Adapter
            && self.adapters.count > 0
            && self.closed_requests.is_none()
            && self.clients.is_none()
    }

    /// Times in microseconds, at most `count`, of arrivals of `each` requests in the mean: under a curve the process of
    /// rate 1, read on the curve's clock.
    pub(crate) fn arrival_times_us(&self, count: usize, each: f64) -> Vec<f64> {
        let stream = Stream::named(self.seed, "arrivals");
        let Some(curve) = &self.curve else {
            return self.arrivals.times_us(self.rate_rps / each, count, stream);
        };
        let expected = self.arrivals.times_us(1.0, count, stream);
        // A curve that ends at nought never brings the last ones.
        expected
            .into_iter()
            .map_while(|unit_us| curve.inverse(unit_us * each / 1e6))
            .map(|t| t * 1e6)
            .collect()
    }
}
