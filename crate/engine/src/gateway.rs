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

use crate::adapters::TOKENS_PER_RANK;
use crate::config::SchedulerConfig;

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

/// Whether a request is refused: the checks of S-LoRA's HTTP server, then, unless the original's blocking is wanted, the
/// ones that its queue could never pass.
pub fn refusal(config: &SchedulerConfig, input_tokens: u32, max_tokens: u32, rank: u32) -> Option<Refusal> {
    let input = u64::from(input_tokens);
    let need = input + u64::from(max_tokens);
    let total = u64::from(config.max_total_tokens);
    if input > u64::from(config.max_input_tokens) {
        Some(Refusal::InputTooLong)
    } else if need > u64::from(config.max_request_tokens) {
        Some(Refusal::RequestTooLong)
    } else if need + 1 > total {
        Some(Refusal::PoolTooSmall)
    } else if config.original_blocking {
        None
    } else if need + u64::from(TOKENS_PER_RANK) * u64::from(rank) >= total {
        Some(Refusal::NeverFits)
    } else if input > u64::from(config.batch_max_tokens) {
        Some(Refusal::PromptOverBatch)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_the_originals() {
        let config =
            SchedulerConfig { max_total_tokens: 3_000, max_request_tokens: 3_072, ..Default::default() };
        let reason = |input, max, rank| refusal(&config, input, max, rank);
        assert_eq!(reason(2_048, 951, 0), None);
        assert_eq!(reason(2_049, 1, 0), Some(Refusal::InputTooLong));
        assert_eq!(reason(2_000, 1_073, 0), Some(Refusal::RequestTooLong));
        assert_eq!(reason(2_000, 1_000, 0), Some(Refusal::PoolTooSmall));
        assert_eq!(reason(1_999, 1_000, 0), None);
        assert_eq!(reason(1_999, 1_000, 1), Some(Refusal::NeverFits));
        let original = SchedulerConfig { original_blocking: true, ..config };
        assert_eq!(refusal(&original, 1_999, 1_000, 64), None);
    }
}
