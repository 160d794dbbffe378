//! What a request's time went into.

/// A part of the time between a request's arrival and its end. There is no cause "other".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// A rate limit or quota of its client, or the client's bound on concurrent requests, held it at the gateway or made it come again.
    RateLimit,
    /// Others were before it in the gateway's queue, or the gateway rejected an attempt for the load of the whole service.
    GatewayQueue,
    /// There was not enough free KV memory for it or for the request at the head of the queue.
    KvMemory,
    /// The token budget of the iterations was used up.
    TokenBudget,
    /// The batch had as many requests as it may.
    BatchCap,
    /// Every LoRA slot was used by another adapter.
    AdapterSlots,
    /// Adapters were loaded before an iteration.
    AdapterLoading,
    /// The rule between prefills and decoding allowed no prefill.
    InterleavingRule,
    /// Prompts of other requests were processed while it could have decoded.
    PrefillStall,
    /// It was preempted, and what it had was recomputed.
    Preemption,
    /// KV blocks were copied to the host or back, or its own were on the host.
    Swap,
    /// A replica failed: what it had computed of it was lost, or none was ready for it.
    ReplicaFailure,
    /// It is a chunk of its session's input, and the answer to the chunk before it had not ended.
    PreviousAnswer,
    /// It was on its way from the replica that computed its prompt to the one that decodes.
    DecodeRouting,
    /// KV blocks of it were copied, from host memory or from the replica that computed its prompt.
    KvLoading,
    /// Other copies were before its own on the way or made it slower, or a block of it was being copied for another request.
    KvLink,
    /// An iteration under way, or a pipeline stage, had to end first.
    RunningIteration,
    /// Nothing ran, and the scheduler had not looked at the queue yet.
    IdlePoll,
    /// A static batch ran that no request may join.
    StaticBatch,
    /// Another data-parallel rank took longer for a forward pass that all run together.
    OtherRanks,
    /// A forward pass waited for weights of experts that were rearranged by their loads.
    ExpertRearrangement,
    /// Its prefill took longer than alone because other requests were in the same iterations.
    SharedPrefill,
    /// Its decoding took longer than alone because of the other requests in the batch.
    BatchSize,
    /// Its own prompt.
    OwnPrefill,
    /// Its own output, as at a batch of one.
    OwnDecode,
}

impl Cause {
    /// Every cause, in the order in which a request meets them.
    pub const ALL: [Self; 25] = [
        Self::RateLimit,
        Self::GatewayQueue,
        Self::KvMemory,
        Self::TokenBudget,
        Self::BatchCap,
        Self::AdapterSlots,
        Self::AdapterLoading,
        Self::InterleavingRule,
        Self::PrefillStall,
        Self::Preemption,
        Self::Swap,
        Self::ReplicaFailure,
        Self::PreviousAnswer,
        Self::DecodeRouting,
        Self::KvLoading,
        Self::KvLink,
        Self::RunningIteration,
        Self::IdlePoll,
        Self::StaticBatch,
        Self::OtherRanks,
        Self::ExpertRearrangement,
        Self::SharedPrefill,
        Self::BatchSize,
        Self::OwnPrefill,
        Self::OwnDecode,
    ];

    /// The name in files and of the page's texts.
    pub fn name(self) -> &'static str {
        match self {
            Self::RateLimit => "rate_limit",
            Self::GatewayQueue => "gateway_queue",
            Self::KvMemory => "kv_memory",
            Self::TokenBudget => "token_budget",
            Self::BatchCap => "batch_cap",
            Self::AdapterSlots => "adapter_slots",
            Self::AdapterLoading => "adapter_loading",
            Self::InterleavingRule => "interleaving_rule",
            Self::PrefillStall => "prefill_stall",
            Self::Preemption => "preemption",
            Self::Swap => "swap",
            Self::ReplicaFailure => "replica_failure",
            Self::PreviousAnswer => "previous_answer",
            Self::DecodeRouting => "decode_routing",
            Self::KvLoading => "kv_loading",
            Self::KvLink => "kv_link",
            Self::RunningIteration => "running_iteration",
            Self::IdlePoll => "idle_poll",
            Self::StaticBatch => "static_batch",
            Self::OtherRanks => "other_ranks",
            Self::ExpertRearrangement => "expert_rearrangement",
            Self::SharedPrefill => "shared_prefill",
            Self::BatchSize => "batch_size",
            Self::OwnPrefill => "own_prefill",
            Self::OwnDecode => "own_decode",
        }
    }

    /// Whether it is a delay: neither its own prompt nor its own output.
    pub fn is_delay(self) -> bool {
        !matches!(self, Self::OwnPrefill | Self::OwnDecode)
    }
}

/// Nanoseconds by [`Cause`], in the order of [`Cause::ALL`].
pub type ByCause = [u64; Cause::ALL.len()];

/// A time in whole nanoseconds. Sums of these are exact.
pub fn in_ns(us: f64) -> u64 {
    (us.max(0.0) * 1e3).round() as u64
}

/// A part of a request's time that has one cause: so much of it between two times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimePart {
    /// Why.
    pub cause: Cause,
    /// How long, nanoseconds.
    pub ns: u64,
    /// From when on, nanoseconds.
    pub start_ns: u64,
    /// By when. It may be more than `ns` later: then other causes had their part in between.
    pub end_ns: u64,
}
