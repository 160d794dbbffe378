//! What the proxy believes of a request's output before it ends.

use crate::client::ClientId;
use servescope_workload::stream::Stream;
use servescope_workload::{RequestId, Trace};

/// Where a prediction comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LengthSource {
    /// The true length.
    Oracle,
    /// The true length, times a bias, times lognormal noise.
    Noisy,
    /// What the client said it may take at most.
    MaxTokens,
    /// A quantile of the client's finished outputs.
    History,
    /// The mean of the client's finished outputs.
    Average,
}

/// How outputs are predicted. Nothing is predicted above `max_tokens`, nor below 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictorConfig {
    /// Where a prediction comes from.
    pub source: LengthSource,
    /// Factor on the true length.
    pub bias: f64,
    /// Standard deviation of the logarithm of the noise.
    pub noise: f64,
    /// Which quantile of the history.
    pub quantile: f64,
    /// After how many more outputs an output of the history counts half.
    pub half_life: f64,
    /// With fewer finished outputs of a client than this, its `max_tokens` are taken.
    pub cold_start: u32,
}

/// Buckets of a history for each doubling of the length.
const PER_DOUBLING: f64 = 8.0;

/// The bucket of outputs of this many tokens.
fn bucket(tokens: u32) -> usize {
    (PER_DOUBLING * libm::log2(f64::from(tokens.max(1)))).ceil() as usize
}

/// The upper end of a bucket.
fn bucket_end(bucket: usize) -> f64 {
    libm::exp2(bucket as f64 / PER_DOUBLING)
}

/// The buckets of usual lengths, and their ends.
#[derive(Debug, Clone, Default)]
struct Buckets {
    of: Vec<u8>,
    ends: Vec<f64>,
}

impl Buckets {
    /// Buckets for fewer tokens than this are looked up.
    const USUAL: u32 = 1 << 12;

    fn new() -> Self {
        let of: Vec<u8> = (0..Self::USUAL).map(|tokens| bucket(tokens) as u8).collect();
        Self { ends: (0..=bucket(Self::USUAL)).map(bucket_end).collect(), of }
    }

    fn of(&self, tokens: u32) -> usize {
        self.of.get(tokens as usize).map_or_else(|| bucket(tokens), |&place| usize::from(place))
    }

    fn end(&self, place: usize) -> f64 {
        self.ends.get(place).copied().unwrap_or_else(|| bucket_end(place))
    }
}

/// One client's finished outputs, the newer the heavier.
#[derive(Debug, Clone, Default)]
struct History {
    count: u32,
    /// Weight of the next output; grows in place of all others shrinking.
    next: f64,
    total: f64,
    weighted_sum: f64,
    /// Weight of outputs by length: bucket b ends at 2^(b / 8).
    buckets: Vec<f64>,
}

impl History {
    fn add(&mut self, tokens: u32, bucket: usize, growth: f64) {
        if self.next > 1e200 {
            let scale = 1.0 / self.next;
            self.buckets.iter_mut().for_each(|weight| *weight *= scale);
            (self.total, self.weighted_sum, self.next) = (self.total * scale, self.weighted_sum * scale, 1.0);
        }
        let weight = self.next.max(1.0);
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0.0);
        }
        self.buckets[bucket] += weight;
        self.total += weight;
        self.weighted_sum += weight * f64::from(tokens);
        self.next = weight * growth;
        self.count += 1;
    }

    /// The bucket in which the quantile lies.
    fn quantile(&self, share: f64) -> usize {
        // From the top, where high quantiles are soon reached.
        let beyond = (1.0 - share) * self.total;
        let mut sum = 0.0;
        let place = self.buckets.iter().rposition(|&weight| {
            sum += weight;
            sum > beyond
        });
        place.unwrap_or(0)
    }
}

/// The predictor.
#[derive(Debug, Clone)]
pub struct OutputLengthPredictor {
    rule: PredictorConfig,
    noise: Stream,
    growth: f64,
    histories: Vec<History>,
    buckets: Buckets,
}

impl OutputLengthPredictor {
    /// A predictor for this many clients that has seen nothing.
    pub fn new(rule: PredictorConfig, clients: usize, seed: u64) -> Self {
        let learns = matches!(rule.source, LengthSource::History | LengthSource::Average);
        Self {
            noise: Stream::named(seed, "gateway.prediction"),
            growth: libm::exp2(1.0 / rule.half_life.max(0.5)),
            histories: if learns { vec![History::default(); clients] } else { Vec::new() },
            buckets: if learns { Buckets::new() } else { Buckets::default() },
            rule,
        }
    }

    /// Predicted output of a request, 1 to its `max_tokens`.
    pub fn predict(&self, trace: &Trace, id: RequestId, client: ClientId) -> u32 {
        let i = id.index();
        let (truth, most) = (f64::from(trace.output_tokens[i]), trace.max_tokens[i].max(1));
        let predicted = match self.rule.source {
            LengthSource::Oracle => truth,
            LengthSource::Noisy => truth * self.rule.bias * self.noise_of(i),
            LengthSource::MaxTokens => f64::from(most),
            LengthSource::History | LengthSource::Average => {
                let history = &self.histories[client];
                if history.count < self.rule.cold_start.max(1) {
                    f64::from(most)
                } else if self.rule.source == LengthSource::History {
                    self.buckets.end(history.quantile(self.rule.quantile))
                } else {
                    history.weighted_sum / history.total
                }
            }
        };
        // A true length above max_tokens ends there.
        (predicted.round().max(1.0).min(f64::from(most))) as u32
    }

    fn noise_of(&self, id: usize) -> f64 {
        if self.rule.noise == 0.0 {
            return 1.0;
        }
        // Box and Muller's transform: two uniform numbers make a normal one.
        let mut draw = self.noise.item(id);
        let radius = f64::sqrt(-2.0 * libm::log(draw.uniform()));
        let normal = radius * libm::cos(std::f64::consts::TAU * draw.uniform());
        libm::exp(self.rule.noise * normal)
    }

    /// A request of a client ended with this many tokens.
    pub fn learn(&mut self, client: ClientId, produced: u32) {
        if let Some(history) = self.histories.get_mut(client.index()).filter(|_| produced > 0) {
            history.add(produced, self.buckets.of(produced), self.growth);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace() -> Trace {
        let n = 20_000;
        Trace {
            arrival_us: (0..n).map(f64::from).collect(),
            input_tokens: vec![10; n as usize],
            output_tokens: vec![200; n as usize],
            max_tokens: vec![100_000; n as usize],
            user: vec![0; n as usize],
            adapter: vec![servescope_workload::BASE_MODEL; n as usize],
            ..Trace::default()
        }
    }

    fn rule(source: LengthSource) -> PredictorConfig {
        PredictorConfig { source, bias: 1.5, noise: 0.4, quantile: 0.9, half_life: 100.0, cold_start: 5 }
    }

    #[test]
    fn noise_has_the_bias_as_its_median() {
        let (trace, lengths) = (trace(), OutputLengthPredictor::new(rule(LengthSource::Noisy), 1, 3));
        let mut drawn: Vec<u32> =
            RequestId::first(trace.len()).map(|id| lengths.predict(&trace, id, ClientId::new(0))).collect();
        drawn.sort_unstable();
        let at = |share: f64| f64::from(drawn[(share * drawn.len() as f64) as usize]);
        assert!((at(0.5) / 300.0 - 1.0).abs() < 0.02, "median {}", at(0.5));
        // One standard deviation above the median lies 84.13 % of a normal distribution.
        assert!((at(0.8413) / (300.0 * libm::exp(0.4)) - 1.0).abs() < 0.03, "84 % at {}", at(0.8413));
    }

    #[test]
    fn a_history_follows_a_change_after_some_half_lives() {
        let trace = trace();
        let mut lengths = OutputLengthPredictor::new(rule(LengthSource::History), 1, 3);
        assert_eq!(
            lengths.predict(&trace, RequestId::new(0), ClientId::new(0)),
            100_000,
            "nothing is known: max_tokens"
        );
        for k in 0..1_000u32 {
            lengths.learn(ClientId::new(0), 1 + k % 100);
        }
        let before = f64::from(lengths.predict(&trace, RequestId::new(0), ClientId::new(0)));
        // P90 of 1..=100, at most one bucket (9 %) too large.
        assert!((89.0..=100.0).contains(&before), "{before}");
        for k in 0..1_000u32 {
            lengths.learn(ClientId::new(0), 10 * (1 + k % 100));
        }
        let after = f64::from(lengths.predict(&trace, RequestId::new(0), ClientId::new(0)));
        assert!((880.0..=1_000.0).contains(&after), "{after}");
    }

    #[test]
    fn the_mean_of_equal_outputs_is_that_output_for_ever() {
        let trace = trace();
        let rule = PredictorConfig { half_life: 1.0, ..rule(LengthSource::Average) };
        let mut lengths = OutputLengthPredictor::new(rule, 1, 3);
        for _ in 0..5_000 {
            lengths.learn(ClientId::new(0), 37);
        }
        assert_eq!(lengths.predict(&trace, RequestId::new(0), ClientId::new(0)), 37, "weights stay finite");
    }
}
