//! The synthetic workload: S-LoRA's generator, with more distributions to choose from.
//!
//! The number of requests is floor(R D), as there; D is a cut-off only when asked for. Each quantity has its own random
//! stream, so that changing one distribution leaves the others' draws as they were.

use crate::arrivals::Arrivals;
use crate::clients::{ClientSpec, scaled};
use crate::curve::RateCurve;
use crate::distribution;
use crate::lengths::{LengthDistribution, LengthPairs};
use crate::popularity::Popularity;
use crate::prefix::{PrefixSpec, Tree, begin_alike};
use crate::session_generator::generate_sessions;
use crate::sessions::SessionSpec;
use crate::stream::Stream;
use crate::think::Think;
use crate::trace::{BASE_MODEL, Trace};

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
    /// Answer lengths.
    pub output: LengthDistribution,
    /// Spearman's rank correlation of prompt and answer lengths, -1 to 1.
    pub length_correlation: f64,
    /// Pairs to draw prompt and answer lengths from together, in place of their distributions.
    pub length_pairs: Option<LengthPairs>,
    /// What prompt and answer lengths are multiplied by over time.
    pub length_curves: [Option<RateCurve>; 2],
    /// What the system is told of the answer's length.
    pub max_tokens: MaxTokens,
    /// A closed loop of the users, each with one request at a time, of at most so many requests in all; no arrival distribution then.
    pub closed_requests: Option<usize>,
    /// Time between an answer and the next request, in a closed loop and in sessions.
    pub think: Think,
    /// Conversations in place of single requests.
    pub sessions: Option<SessionSpec>,
    /// Users as clients, each with a process of its own.
    pub clients: Option<ClientSpec>,
    /// Shared beginnings of prompts.
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
    /// Who is asked for.
    pub popularity: Popularity,
    /// Ranks, assigned cyclically: adapter i has `ranks[i mod len]`.
    pub ranks: Vec<u32>,
}

/// The users of a synthetic workload: labels drawn independently of the adapter.
#[derive(Debug, Clone, PartialEq)]
pub struct UserSpec {
    /// How many, at least 1.
    pub count: usize,
    /// Who sends.
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
    /// floor(R D), of the product in double precision as S-LoRA takes it; under a curve its integral, rounded down.
    pub fn request_count(&self) -> usize {
        self.curve.as_ref().map_or(self.rate_rps * self.duration_s, |curve| curve.integral(self.duration_s))
            as usize
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

/// Makes the trace of `spec`.
pub fn generate(spec: &WorkloadSpec) -> Trace {
    if !spec.is_plain() {
        return generate_sessions(spec);
    }
    let mut trace = plain(spec);
    if let Some(prefix) = spec.prefix {
        begin_alike(&mut trace, Tree::new(prefix, spec.adapters.count, spec.users.count.max(1)));
    }
    trace
}

/// Requests that know nothing of one another.
fn plain(spec: &WorkloadSpec) -> Trace {
    let mut arrival_us = spec.arrival_times_us(spec.request_count(), 1.0);
    let mut count = arrival_us.len();
    if spec.cut_at_duration {
        count = arrival_us.partition_point(|&t| t < spec.duration_s * 1e6);
        arrival_us.truncate(count);
    }
    let draw = |name: &str, at: &dyn Fn(f64) -> u32| -> Vec<u32> {
        let mut stream = Stream::named(spec.seed, name);
        (0..count).map(|_| at(stream.uniform())).collect()
    };
    let adapters = &spec.adapters;
    let (adapter, adapter_rank) = if adapters.count == 0 {
        (vec![BASE_MODEL; count], Vec::new())
    } else {
        let sampler = adapters.popularity.sampler(adapters.count);
        (draw("adapters", &|u| sampler.at(u)), adapters.adapter_ranks())
    };
    let users = spec.users.popularity.sampler(spec.users.count.max(1));
    let (mut input_tokens, mut output_tokens) = lengths(spec, count);
    let [input_curve, output_curve] = &spec.length_curves;
    multiply(&mut input_tokens, input_curve.as_ref(), &arrival_us);
    multiply(&mut output_tokens, output_curve.as_ref(), &arrival_us);
    let max_tokens = output_tokens.iter().map(|&tokens| spec.max_tokens.of(tokens)).collect();
    Trace {
        arrival_us,
        user: draw("users", &|u| users.at(u)),
        adapter,
        input_tokens,
        output_tokens,
        max_tokens,
        adapter_rank,
        cancellations: Vec::new(),
        chain: None,
        extra: None,
    }
}

/// Multiplies lengths by what the curve has at their arrival.
fn multiply(lengths: &mut [u32], curve: Option<&RateCurve>, arrival_us: &[f64]) {
    let Some(curve) = curve else { return };
    for (length, &us) in lengths.iter_mut().zip(arrival_us) {
        *length = scaled(*length, Some(curve.rate_rps(us / 1e6)));
    }
}

/// Prompt and answer lengths, each from its own stream.
fn lengths(spec: &WorkloadSpec, count: usize) -> (Vec<u32>, Vec<u32>) {
    let (mut inputs, mut outputs) =
        (Stream::named(spec.seed, "input lengths"), Stream::named(spec.seed, "output lengths"));
    let copula = GaussianCopula::of(spec);
    (0..count).map(|_| copula.draw(spec, inputs.uniform(), outputs.uniform())).unzip()
}

/// A rank correlation of prompt and answer lengths. It couples their uniform numbers by a Gaussian copula, so that each distribution
/// stays as it is; without one the two numbers are taken as they come.
pub(crate) struct GaussianCopula {
    r: f64,
    rest: f64,
}

impl GaussianCopula {
    /// The copula of the workload's distributions, some of which fall with their number.
    pub(crate) fn of(spec: &WorkloadSpec) -> Self {
        let opposed = spec.input.is_falling() != spec.output.is_falling();
        Self::rising(if opposed { -spec.length_correlation } else { spec.length_correlation })
    }

    /// The copula of two distributions that both rise with their number, by Spearman's correlation.
    pub(crate) fn rising(correlation: f64) -> Self {
        // Pearson's correlation of the normals behind a rank correlation (Kruskal 1958).
        let r = 2.0 * libm::sin(std::f64::consts::FRAC_PI_6 * correlation.clamp(-1.0, 1.0));
        Self { r, rest: f64::sqrt((1.0 - r * r).max(0.0)) }
    }

    /// The second number of a pair: `v`, drawn towards `u`.
    pub(crate) fn second(&self, u: f64, v: f64) -> f64 {
        let v = if self.r == 0.0 {
            v
        } else {
            distribution::normal_cdf(
                self.r * distribution::normal_quantile(u) + self.rest * distribution::normal_quantile(v),
            )
        };
        // The distribution function may round to 0 or 1, where quantiles have no value.
        v.clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON)
    }

    /// The lengths of a prompt and its answer at two uniform numbers.
    pub(crate) fn draw(&self, spec: &WorkloadSpec, u: f64, v: f64) -> (u32, u32) {
        match &spec.length_pairs {
            Some(pairs) => pairs.at(u),
            None => (spec.input.quantile(u), spec.output.quantile(self.second(u, v))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::Shape;

    #[test]
    fn one_distribution_changed_leaves_the_others_alone() {
        let base = generate(&WorkloadSpec::default());
        let other = generate(&WorkloadSpec {
            input: LengthDistribution::Fixed { value: 100 },
            arrivals: Arrivals::Gamma { cv: 4.0 },
            ..WorkloadSpec::default()
        });
        assert_eq!(base.output_tokens, other.output_tokens);
        assert_eq!(base.adapter, other.adapter);
        assert_ne!(base.arrival_us, other.arrival_us);
        assert!(other.arrival_us.is_sorted());
    }

    #[test]
    fn cut_drops_late_arrivals_only() {
        let spec = WorkloadSpec { arrivals: Arrivals::Gamma { cv: 8.0 }, ..WorkloadSpec::default() };
        let whole = generate(&spec);
        let cut = generate(&WorkloadSpec { cut_at_duration: true, ..spec });
        assert!(cut.len() <= whole.len());
        assert!(cut.arrival_us.iter().all(|&t| t < 300e6));
        assert_eq!(cut.output_tokens[..], whole.output_tokens[..cut.len()]);
    }

    #[test]
    fn lengths_have_the_asked_rank_correlation_and_keep_their_distributions() {
        let base = WorkloadSpec { rate_rps: 100.0, ..WorkloadSpec::default() };
        let plain = generate(&base);
        for rho in [-0.8, 0.5, 1.0] {
            let trace = generate(&WorkloadSpec { length_correlation: rho, ..base.clone() });
            assert_eq!(trace.input_tokens, plain.input_tokens);
            // For uniform lengths Spearman's correlation is Pearson's.
            let (x, y) = (&trace.input_tokens, &trace.output_tokens);
            let mean = |v: &[u32]| v.iter().map(|&l| f64::from(l)).sum::<f64>() / v.len() as f64;
            let (mx, my) = (mean(x), mean(y));
            let products = x.iter().zip(y).map(|(&a, &b)| (f64::from(a) - mx) * (f64::from(b) - my));
            let covariance = products.sum::<f64>() / x.len() as f64;
            let variance = (504.0 * 504.0 - 1.0) / 12.0;
            assert!((covariance / variance - rho).abs() < 0.02, "{rho}: {}", covariance / variance);
            assert!((my - 259.5).abs() < 3.0, "{my}");
        }
    }

    #[test]
    fn a_distribution_that_falls_with_its_number_keeps_the_sign_of_the_correlation() {
        let spec = WorkloadSpec {
            rate_rps: 100.0,
            input: LengthDistribution::Geometric { mean: 200.0 },
            length_correlation: 0.9,
            ..WorkloadSpec::default()
        };
        let rank = |spec: &WorkloadSpec| {
            let trace = generate(spec);
            let real = |lengths: &[u32]| lengths.iter().map(|&l| f64::from(l)).collect::<Vec<_>>();
            crate::statistics::spearman(&real(&trace.input_tokens), &real(&trace.output_tokens))
        };
        let one = rank(&spec).expect("lengths differ");
        let both = rank(&WorkloadSpec { output: LengthDistribution::Geometric { mean: 50.0 }, ..spec })
            .expect("they differ");
        assert!((one - 0.9).abs() < 0.02 && (both - 0.9).abs() < 0.02, "{one} {both}");
    }

    #[test]
    fn a_curve_moves_arrivals_and_nothing_else() {
        let shape = Shape::Step { before_rps: 1.0, after_rps: 9.0, at_s: 100.0 };
        let curve = RateCurve::new(&shape).expect("the curve is sound");
        let spec = WorkloadSpec { curve: Some(curve), duration_s: 200.0, ..WorkloadSpec::default() };
        let trace = generate(&spec);
        assert_eq!(trace.len(), 1000);
        let early = trace.arrival_us.iter().filter(|&&t| t < 100e6).count() as f64;
        assert!((early - 100.0).abs() < 5.0 * 10.0, "{early}");
        let plain = generate(&WorkloadSpec { rate_rps: 5.0, duration_s: 200.0, ..WorkloadSpec::default() });
        assert_eq!(trace.adapter, plain.adapter);
        assert_eq!(trace.output_tokens, plain.output_tokens);

        let ends =
            RateCurve::new(&Shape::Step { before_rps: 2.0, after_rps: 0.0, at_s: 50.0 }).expect("sound");
        let trace = generate(&WorkloadSpec { curve: Some(ends), ..WorkloadSpec::default() });
        assert!(trace.len() <= 100 && trace.arrival_us.iter().all(|&t| t <= 50e6 + 1.0));
    }

    #[test]
    fn no_adapters_is_the_base_model() {
        let mut spec = WorkloadSpec::default();
        spec.adapters.count = 0;
        let trace = generate(&spec);
        assert!(trace.adapter.iter().all(|&a| a == BASE_MODEL));
        assert_eq!(trace.rank(0), 0);
    }
}
