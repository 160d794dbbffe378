//! What stands before the engine: the bounds of its server, and the proxy of a multi-tenant service.
//!
//! ```text
//! clients ──> intake ──> proxy (quotas, queue, KV feasibility) ──> the engine's own bounds ──> waiting line
//! ```

mod accounts;
pub mod config;
pub mod estimate;
pub(crate) mod intake;
mod ledger;
pub mod load;
pub mod log;
mod meters;
pub mod prediction;
pub(crate) mod proxy;
mod quotas;
mod record;
pub mod reservations;
pub mod reserved;
pub mod retries;
mod waits;
pub mod window;

pub use config::GatewayConfig;
pub use log::GatewayLog;

/// Why a request was refused, on arrival or while it waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
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
}

impl Refusal {
    /// Every reason.
    pub const ALL: [Self; 13] = [
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
        }
    }
}
