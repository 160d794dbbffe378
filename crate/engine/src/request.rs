//! What every module knows of a request: how it ends, why it is rejected, why it waits.

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Outcome {
    /// It still waits, or runs.
    #[default]
    Unfinished,
    /// All its tokens were produced.
    Completed,
    /// It was rejected on arrival.
    Rejected(Rejection),
    /// Its client went away.
    Cancelled,
    /// It waited longer than it may.
    TimedOut,
}

impl Outcome {
    /// The name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unfinished => "unfinished",
            Self::Completed => "completed",
            Self::Rejected(reason) => reason.name(),
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
        }
    }
}

/// What became of one request.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RequestResult {
    /// How it ended.
    pub outcome: Outcome,
    /// When it left the batch, microseconds.
    pub finish_us: Option<f64>,
    /// Tokens produced.
    pub produced: u32,
}

/// Why a request was rejected, on arrival or while it waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rejection {
    /// The prompt is longer than `max_input_tokens`.
    InputTooLong,
    /// Input + max_tokens is more than `max_request_tokens`.
    RequestTooLong,
    /// Input + max_tokens + 1 is more than the whole pool.
    PoolTooSmall,
    /// With its adapter in memory, input + max_tokens never fits the pool, not even alone. S-LoRA lets such a request in
    /// and it then blocks the queue for ever.
    NeverFits,
    /// The prompt alone is more than `batch_max_tokens`. S-LoRA cannot be started with limits that allow this.
    PromptOverBatch,
    /// Its client's requests a minute are used up.
    RateLimit,
    /// Its client's token quota is used up.
    TokenQuota,
    /// As many requests as may be there wait or run.
    Concurrency,
    /// It waited so long that its first token would have come after the bound anyway.
    EarlyAbort,
    /// The gateway's queue is full.
    QueueFull,
    /// Its first token is not expected in time.
    LateFirstToken,
    /// The service is overloaded and sheds load.
    Overload,
    /// Its adapter has a larger rank than the LoRA slots are made for.
    LoraRank,
    /// The replica where it waited or ran failed.
    ReplicaFailed,
    /// The KV blocks of its prompt could not be pulled from the replica that computed it.
    KvLoad,
}

impl Rejection {
    /// Every reason.
    pub const ALL: [Self; 15] = [
        Self::InputTooLong,
        Self::RequestTooLong,
        Self::PoolTooSmall,
        Self::NeverFits,
        Self::PromptOverBatch,
        Self::RateLimit,
        Self::TokenQuota,
        Self::Concurrency,
        Self::EarlyAbort,
        Self::QueueFull,
        Self::LateFirstToken,
        Self::Overload,
        Self::LoraRank,
        Self::KvLoad,
        Self::ReplicaFailed,
    ];

    /// The name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::InputTooLong => "input_too_long",
            Self::RequestTooLong => "request_too_long",
            Self::PoolTooSmall => "pool_too_small",
            Self::NeverFits => "never_fits",
            Self::PromptOverBatch => "prompt_over_batch",
            Self::RateLimit => "rate_limit",
            Self::TokenQuota => "token_quota",
            Self::Concurrency => "concurrency",
            Self::EarlyAbort => "early_abort",
            Self::QueueFull => "queue_full",
            Self::LateFirstToken => "late_first_token",
            Self::Overload => "overload",
            Self::LoraRank => "lora_rank",
            Self::KvLoad => "kv_load",
            Self::ReplicaFailed => "replica_failed",
        }
    }
}

/// Why a decision stopped at a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockReason {
    /// The batch would need more KV and adapter memory than there is.
    Memory,
    /// The prompts picked before it leave no room in `batch_max_tokens`.
    PromptBudget,
    /// The batch has `max_running_requests` requests.
    RunningCap,
    /// Every LoRA slot is used, by other adapters than those of the requests that wait.
    LoraSlots,
}
