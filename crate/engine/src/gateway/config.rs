//! The settings of the proxy in front of the engine: which checks a request passes, in which order, and with which bounds.

use super::load::OverloadConfig;
use super::prediction::PredictorConfig;
use super::window::Window;
use crate::client::Client;
use crate::replica::queue::QueuePolicy;

/// One link of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Requests a minute and client.
    Rpm,
    /// Tokens a minute and client: input, output, both together.
    Tpm,
    /// Requests at the engine at once, of one client and of all.
    Concurrency,
    /// Requests and tokens that wait at the gateway.
    Queue,
    /// Whether the engine's KV memory will hold what is predicted.
    Kv,
    /// Whether the first token is expected in time.
    Ttft,
}

impl Check {
    /// Every check, in the order that is usual.
    pub const ALL: [Self; 6] = [Self::Rpm, Self::Tpm, Self::Concurrency, Self::Queue, Self::Kv, Self::Ttft];

    /// The name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rpm => "rpm",
            Self::Tpm => "tpm",
            Self::Concurrency => "concurrency",
            Self::Queue => "queue",
            Self::Kv => "kv",
            Self::Ttft => "ttft",
        }
    }

    /// The check of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|check| check.name() == name)
    }
}

/// When tokens are charged to a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charge {
    /// What is predicted, when a request is let through; the difference when it ends.
    Ahead,
    /// What it took, when it ends. What is under way overshoots the quota.
    After,
}

/// Idle clients' quota is lent to others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lending {
    /// Pressure ([`OverloadConfig`]) from which nothing more is lent.
    pub threshold: f64,
    /// Share of its quota that no other client can borrow from a client, whatever it used lately.
    pub floor: f64,
}

/// What each client may use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quotas {
    /// Requests a minute; infinite = no bound.
    pub rpm: f64,
    /// Input, output, and all tokens a minute; infinite = no bound.
    pub tpm: [f64; 3],
    /// How a minute is counted.
    pub window: Window,
    /// When tokens are charged.
    pub charge: Charge,
    /// Whether a request over a quota is refused at once. Otherwise it waits.
    pub refuses: bool,
    /// Whether, and how, what idle clients leave is lent out.
    pub lending: Option<Lending>,
}

impl Quotas {
    /// No bound on anything.
    pub const NONE: Self = Self {
        rpm: f64::INFINITY,
        tpm: [f64::INFINITY; 3],
        window: Window::Sliding,
        charge: Charge::Ahead,
        refuses: false,
        lending: None,
    };
}

/// What is admitted into KV memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KvRule {
    /// Tokens that stay free.
    pub headroom_tokens: f64,
    /// How old the engine's usage may be when the proxy decides, microseconds.
    pub lag_us: f64,
    /// A fault to look at: what is left of a reservation when its request ends is not given back.
    pub leaks: bool,
}

/// How long a request waits at the gateway.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Timeout {
    /// So long, microseconds; infinite = for ever.
    Fixed(f64),
    /// So many times the time to first token that was estimated when it came.
    Estimated {
        /// How many times.
        times: f64,
        /// But no longer, microseconds.
        most_us: f64,
    },
}

/// What a client does that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryKind {
    /// It gives up.
    Never,
    /// It asks again at once.
    AtOnce,
    /// It waits, each time twice as long, less a random part.
    Backoff,
    /// It waits as long as Retry-After says, and a random part more.
    Honour,
}

/// How clients ask again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryRule {
    /// What they do.
    pub kind: RetryKind,
    /// Attempts at most, the first included.
    pub most: u32,
    /// Until the refusal is back at the client and a new request at the gateway, microseconds.
    pub round_trip_us: f64,
    /// First wait of backoff, microseconds.
    pub base_us: f64,
    /// Longest wait of backoff, microseconds.
    pub cap_us: f64,
    /// Random part of a wait, 0 to 1.
    pub jitter: f64,
}

/// The settings of the proxy.
#[derive(Debug, Clone, PartialEq)]
pub struct GatewayConfig {
    /// The checks that are on, in their order.
    pub checks: Vec<Check>,
    /// Who counts as one client.
    pub client: Client,
    /// What each may use.
    pub quotas: Quotas,
    /// Most requests at the engine.
    pub concurrency: u32,
    /// Most requests of one client at the engine.
    pub client_concurrency: u32,
    /// A fault to look at: which share of the requests that end keep their concurrency slots for ever, for both bounds.
    pub slot_leak: f64,
    /// Most requests that wait.
    pub queue_requests: u32,
    /// Most predicted tokens that wait.
    pub queue_tokens: f64,
    /// What is admitted into KV memory.
    pub kv: KvRule,
    /// Longest time to first token that is expected of a admitted request, microseconds.
    pub ttft_bound_us: f64,
    /// Over how long the speed of prefills is averaged, microseconds.
    pub estimate_over_us: f64,
    /// How long a request waits.
    pub timeout: Timeout,
    /// Between two looks at the deadlines, microseconds.
    pub sweep_us: f64,
    /// How clients ask again.
    pub retries: RetryRule,
    /// What is believed of a request's output.
    pub lengths: PredictorConfig,
    /// When the service counts as overloaded, and what follows.
    pub load: OverloadConfig,
    /// Who is let through first.
    pub queue_policy: QueuePolicy,
    /// KV memory of the whole service as the proxy knows it, tokens; the engine's own may be another.
    pub pool_tokens: f64,
    /// Seed of what is drawn.
    pub seed: u64,
}

impl GatewayConfig {
    /// The share of slots that leak; without a bound on them there is none to keep.
    pub(crate) fn slot_leak_in_effect(&self) -> f64 {
        let is_bounded = self.concurrency.min(self.client_concurrency) < u32::MAX;
        if is_bounded && self.checks.contains(&Check::Concurrency) { self.slot_leak } else { 0.0 }
    }
}
