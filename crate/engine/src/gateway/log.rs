//! What the proxy writes down: of each request, and of the service over time.

use crate::client::ClientId;
use servescope_workload::RequestId;

use super::config::Check;
use super::load::LoadState;
use super::reserved::ReservationTimeline;
use crate::client::Client;
use crate::record::decisions::Test;
use crate::record::sampler::CounterSample;
use crate::request::Rejection;

/// Most samples over time: when they are there, every other one is dropped and the rest come half as often.
const MOST_SAMPLES: usize = 2_048;

/// Most attempts that are kept: about 100 MB of them.
const MOST_RETRIES: usize = 1 << 22;

/// The service as the proxy saw it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sample {
    /// When, microseconds.
    pub at_us: f64,
    /// Tokens in KV memory at the last look.
    pub used_tokens: f64,
    /// Tokens reserved beyond them.
    pub reserved_tokens: f64,
    /// Those of them that belong to no request any more.
    pub leaked_tokens: f64,
    /// Requests that wait at the gateway.
    pub waiting: u32,
    /// Requests at the engine.
    pub at_engine: u32,
    /// Averaged pressure; 1 is overload.
    pub pressure: f64,
    /// Attempts so far.
    pub attempts: u64,
    /// Attempts so far that ended with a rejection or a timeout.
    pub refusals: u64,
    /// Estimated time to first token of a prompt that comes now, microseconds; NaN = nothing is known yet.
    pub estimate_us: f64,
}

/// Samples, of which the number is bounded.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    kept: Vec<Sample>,
    every: u32,
    skipped: u32,
}

impl Default for Samples {
    fn default() -> Self {
        Self { kept: Vec::new(), every: 1, skipped: 0 }
    }
}

impl Samples {
    /// The samples in order of time.
    pub fn kept(&self) -> &[Sample] {
        &self.kept
    }

    pub(super) fn add(&mut self, sample: Sample) {
        self.skipped += 1;
        if self.skipped < self.every {
            return;
        }
        self.skipped = 0;
        self.kept.push(sample);
        if self.kept.len() >= MOST_SAMPLES {
            let mut place = 0;
            self.kept.retain(|_| {
                place += 1;
                place % 2 == 0
            });
            self.every *= 2;
        }
    }
}

/// What held a request at the gateway when it was last looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GatewayHoldReason {
    /// Nothing: it passed when it came, or was never looked at.
    #[default]
    Nothing,
    /// Others before it by the scheduling policy.
    Behind,
    /// A check.
    By(Check),
    /// Overload: its client has had more than its share.
    FairShare,
}

impl GatewayHoldReason {
    /// The test that holds a request.
    pub(super) fn test(self) -> Test {
        match self {
            Self::Nothing | Self::Behind | Self::By(Check::Queue | Check::Ttft) => Test::None,
            Self::By(Check::Rpm) => Test::RequestsPerMinute,
            Self::By(Check::Tpm) => Test::TokensPerMinute,
            Self::By(Check::Concurrency) => Test::Concurrency,
            Self::By(Check::Kv) => Test::KvReservation,
            Self::FairShare => Test::FairShare,
        }
    }

    /// The name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Behind => "behind",
            Self::By(check) => check.name(),
            Self::FairShare => "fair_share",
        }
    }
}

/// What the proxy knows of one request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GatewayRequestLog {
    /// When its last attempt came in, microseconds; NaN = it never did.
    pub asked_us: f64,
    /// Time to first token that was estimated when its last attempt came in; NaN = nothing was known.
    pub estimate_us: f32,
    /// Predicted output.
    pub predicted_tokens: u32,
    /// Attempts so far.
    pub attempts: u8,
    /// What held it.
    pub held: GatewayHoldReason,
}

impl Default for GatewayRequestLog {
    fn default() -> Self {
        Self {
            asked_us: f64::NAN,
            estimate_us: f32::NAN,
            predicted_tokens: 0,
            attempts: 0,
            held: GatewayHoldReason::Nothing,
        }
    }
}

/// An attempt that was rejected or timed out, after which its client comes again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retry {
    /// Which request.
    pub id: RequestId,
    /// Number of the attempt, the first is 1.
    pub attempt: u8,
    /// Why it was rejected; `None` = it timed out.
    pub reason: Option<Rejection>,
    /// When its client got the answer, microseconds.
    pub answered_us: f64,
    /// When the next attempt comes in, unless the client goes away before.
    pub again_us: f64,
}

/// Attempts after which clients came again, of which the number is bounded.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Retries {
    kept: Vec<Retry>,
    dropped: u64,
}

impl Retries {
    /// Those that are kept, in order of `answered_us`.
    pub fn kept(&self) -> &[Retry] {
        &self.kept
    }

    /// How many came when as many as are kept were there.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(super) fn add(&mut self, retry: Retry) {
        if self.kept.len() < MOST_RETRIES {
            self.kept.push(retry);
        } else {
            self.dropped += 1;
        }
    }

    /// Requests are named by their place in `order`, which names every request that asked.
    fn rename(&mut self, order: &[RequestId], requests: usize) {
        let mut places = vec![RequestId::default(); requests];
        RequestId::first(order.len()).zip(order).for_each(|(place, &id)| places[id] = place);
        self.kept.iter_mut().for_each(|retry| retry.id = places[retry.id]);
    }
}

/// What the proxy wrote down.
#[derive(Debug, Clone)]
pub struct GatewayLog {
    /// Of each request.
    pub passages: Vec<GatewayRequestLog>,
    /// When each request was let through; NaN = it never was.
    pub forwarded_us: Vec<f64>,
    /// Attempts that were refused, by reason, in the order of [`Rejection::ALL`].
    pub refusals: [u64; Rejection::ALL.len()],
    /// Attempts that waited too long.
    pub timeouts: u64,
    /// Attempts after which clients came again.
    pub retries: Retries,
    /// When the load state changed, and to what.
    pub states: Vec<(f64, LoadState)>,
    /// The service over time.
    pub samples: Samples,
    /// Who counts as one client.
    pub client: Client,
    /// How many clients the proxy counted.
    pub clients: usize,
    /// Clients and their counters of the queue's scheduling policy, where it keeps any.
    pub counters: Vec<(ClientId, f64)>,
    /// The counters over the run, each sample in the order of `counters`; clients that come later are not in earlier ones.
    pub counter_samples: Vec<CounterSample>,
    /// What was reserved for each client over the run, where KV memory is checked.
    pub reserved: Option<ReservationTimeline>,
    /// KV memory of the whole service, tokens.
    pub pool_tokens: f64,
    /// Tokens still reserved at the end, and those of them that leaked.
    pub reserved_tokens: u64,
    /// Of those.
    pub leaked_tokens: u64,
    /// Concurrency slots that requests which have ended keep.
    pub leaked_slots: u32,
}

impl GatewayLog {
    /// An empty log of this many requests.
    pub(super) fn new(requests: usize, client: Client, clients: usize, pool_tokens: f64) -> Self {
        Self {
            passages: vec![GatewayRequestLog::default(); requests],
            forwarded_us: vec![f64::NAN; requests],
            refusals: [0; Rejection::ALL.len()],
            timeouts: 0,
            retries: Retries::default(),
            states: Vec::new(),
            samples: Samples::default(),
            client,
            clients,
            counters: Vec::new(),
            counter_samples: Vec::new(),
            reserved: None,
            pool_tokens,
            reserved_tokens: 0,
            leaked_tokens: 0,
            leaked_slots: 0,
        }
    }

    /// The requests named by `order`, in that order.
    pub(super) fn select(mut self, order: &[RequestId]) -> Self {
        self.retries.rename(order, self.passages.len());
        Self {
            passages: order.iter().map(|&id| self.passages[id]).collect(),
            forwarded_us: order.iter().map(|&id| self.forwarded_us[id]).collect(),
            ..self
        }
    }
}

impl PartialEq for GatewayLog {
    /// Equal bits, so that what is missing equals what is missing.
    fn eq(&self, other: &Self) -> bool {
        let bits = |p: &GatewayRequestLog| {
            (p.asked_us.to_bits(), p.estimate_us.to_bits(), p.predicted_tokens, p.attempts, p.held.name())
        };
        let samples = |log: &Self| {
            let bits = |s: &Sample| (Sample { estimate_us: 0.0, ..*s }, s.estimate_us.to_bits());
            log.samples.kept().iter().map(bits).collect::<Vec<_>>()
        };
        let forwarded = |log: &Self| log.forwarded_us.iter().map(|t| t.to_bits()).collect::<Vec<_>>();
        self.passages.iter().map(bits).eq(other.passages.iter().map(bits))
            && forwarded(self) == forwarded(other)
            && self.refusals == other.refusals
            && self.timeouts == other.timeouts
            && self.retries == other.retries
            && self.states == other.states
            && samples(self) == samples(other)
            && self.counters == other.counters
            && self.counter_samples == other.counter_samples
            && self.reserved == other.reserved
            && (self.reserved_tokens, self.leaked_tokens) == (other.reserved_tokens, other.leaked_tokens)
            && self.leaked_slots == other.leaked_slots
    }
}
