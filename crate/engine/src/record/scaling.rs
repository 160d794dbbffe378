//! What an autoscaler decided, with the numbers of its rule.

/// What a rule read last before it made up its mind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalingInput {
    /// Nothing has been read yet.
    Nothing,
    /// Waiting requests of a replica, with the target.
    NumRequestsWaiting,
    /// Waiting and running requests of a replica, with the target.
    Concurrency,
    /// Share of KV blocks in use, with the target.
    KvCacheUsage,
    /// The metric of all replicas over the stable window, with the target of all of them.
    StableWindow,
    /// The metric of all replicas over the panic window, with the target of all of them.
    PanicWindow,
    /// Waiting requests of all replicas, with the threshold of one.
    WaitingOfAll,
    /// Seconds in which one replica would compute the prompt tokens in flight, with those in which they are to be computed.
    PrefillSeconds,
    /// KV memory in use in replicas, with the share of one that may be.
    KvOfAll,
    /// Share of KV memory that is left below saturation, with the least that is to be.
    SpareKv,
    /// Waiting requests that are left below saturation, with the fewest that are to be.
    SpareQueue,
    /// Queued prompt tokens over the longest context, with the bound.
    QueuedPrefill,
    /// KV tokens in use and queued over those that fit, with the bound.
    ScheduledKv,
    /// Estimated seconds to the first token, with the target.
    EstimatedTtft,
    /// Estimated seconds between tokens, with the target.
    EstimatedItl,
}

impl ScalingInput {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::NumRequestsWaiting => "num_requests_waiting",
            Self::Concurrency => "concurrency",
            Self::KvCacheUsage => "kv_cache_usage_perc",
            Self::StableWindow => "stable_window",
            Self::PanicWindow => "panic_window",
            Self::WaitingOfAll => "waiting_of_all",
            Self::PrefillSeconds => "prefill_s",
            Self::KvOfAll => "kv_of_all",
            Self::SpareKv => "spare_kv",
            Self::SpareQueue => "spare_queue",
            Self::QueuedPrefill => "queued_prefill",
            Self::ScheduledKv => "scheduled_kv",
            Self::EstimatedTtft => "estimated_ttft_s",
            Self::EstimatedItl => "estimated_itl_s",
        }
    }
}

/// What kept the number of replicas from the rule's wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalingLimit {
    /// Nothing: the wish is granted.
    None,
    /// The fewest replicas that there may be.
    Min,
    /// The most replicas that there may be.
    Max,
    /// The most replicas that one decision adds.
    StepUp,
    /// The most replicas that one decision takes away.
    StepDown,
    /// A lower or a higher wish that is still remembered.
    Stabilization,
    /// The last change is too recent.
    Cooldown,
    /// A replica is starting, and the rule waits for it.
    Starting,
}

impl ScalingLimit {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Min => "min",
            Self::Max => "max",
            Self::StepUp => "step_up",
            Self::StepDown => "step_down",
            Self::Stabilization => "stabilization",
            Self::Cooldown => "cooldown",
            Self::Starting => "starting",
        }
    }
}

/// A decision on the number of replicas of a pool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScalingDecision {
    /// When, microseconds.
    pub time_us: f64,
    /// The pool, by its place in [`Report::pools`](crate::Report::pools).
    pub pool: u16,
    /// Replicas that were ready.
    pub ready: u32,
    /// Replicas that were starting.
    pub starting: u32,
    /// What the rule looked at: of several numbers the one that decided.
    pub input: ScalingInput,
    /// Its value.
    pub value: f64,
    /// What it was compared with.
    pub bound: f64,
    /// How many replicas the rule wished for.
    pub wished: u32,
    /// How many there are to be.
    pub desired: u32,
    /// What stood between the two.
    pub limit: ScalingLimit,
}

impl ScalingDecision {
    /// Whether the number of replicas changes.
    pub fn is_action(&self) -> bool {
        self.desired != self.ready + self.starting
    }
}
