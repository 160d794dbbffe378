//! The settings of TensorRT-LLM's scheduler, under its names and with its defaults (tensorrt_llm/llmapi/llm_args.py of version 1.3).

/// Settings of TensorRT-LLM's scheduler that no other one has. Its `max_batch_size` is
/// [`PoolConfig::max_requests`](super::PoolConfig::max_requests), its `max_num_tokens`
/// [`PoolConfig::max_batch_tokens`](super::PoolConfig), its `max_seq_len` [`PoolConfig::max_request_tokens`](super::PoolConfig), its
/// `tokens_per_block` [`PoolConfig::block_size`](super::PoolConfig), `enable_block_reuse` [`PoolConfig::prefix_cache`](super::PoolConfig).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrtllmRules {
    /// By which memory a request is admitted.
    pub capacity_scheduler_policy: CapacityPolicy,
    /// How prompts are cut that do not fit the token budget together; `None`: they are not (`enable_chunked_prefill` is off).
    pub context_chunking: Option<ChunkingPolicy>,
    /// Whether a batch is decided when the one before it begins (off: `disable_overlap_scheduler`).
    pub overlap_schedule: bool,
}

impl Default for TrtllmRules {
    fn default() -> Self {
        Self {
            capacity_scheduler_policy: CapacityPolicy::GuaranteedNoEvict,
            context_chunking: None,
            overlap_schedule: true,
        }
    }
}

/// By which memory a request is admitted (`capacity_scheduler_policy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapacityPolicy {
    /// Blocks for its prompt and all its `max_tokens` are kept for it, so that it is never paused (`GUARANTEED_NO_EVICT`).
    GuaranteedNoEvict,
    /// Blocks for its prompt are enough; where a running request finds no block, the last that was started is paused (`MAX_UTILIZATION`).
    MaxUtilization,
}

/// How prompts are cut (`context_chunking_policy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkingPolicy {
    /// Each gets what is left of the budget, in their order (`FIRST_COME_FIRST_SERVED`).
    FirstComeFirstServed,
    /// All get a block in turn, until the budget is used up (`EQUAL_PROGRESS`).
    EqualProgress,
}
