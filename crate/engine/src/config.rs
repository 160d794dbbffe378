//! The limits of the server.

/// What S-LoRA's server is started with. Names follow the parameter table (`scheduler.…`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SchedulerConfig {
    /// KV and adapter pool, tokens.
    pub max_total_tokens: u32,
    /// Most prompt tokens in one prefill.
    pub batch_max_tokens: u32,
    /// Most requests in the batch.
    pub max_running_requests: u32,
    /// Largest input + max_tokens that is let in.
    pub max_request_tokens: u32,
    /// Largest input that is let in.
    pub max_input_tokens: u32,
    /// Decode iterations between two prefills while a batch runs; 0 = none.
    pub decode_steps_between_prefills: u32,
    /// Sleep of the router when nothing runs, microseconds; 0 = woken by the arrival.
    pub idle_poll_us: f64,
    /// Whether a request that can never be admitted blocks the queue for ever, as the original lets it.
    pub original_blocking: bool,
    /// Most requests waiting and running together; another one is refused.
    pub max_in_system: u32,
    /// How long a request waits before it is given up, microseconds; infinite = for ever.
    pub patience_us: f64,
    /// Whether adapters of waiting requests are copied ahead, while the batch decodes.
    pub prefetch_adapters: bool,
    /// Whether adapters are loaded and cost time. Their memory is counted either way, as the original does.
    pub lora_compute: bool,
}

impl SchedulerConfig {
    /// S-LoRA's default for `batch_max_tokens`: max(floor(total/6), max_request_tokens).
    pub fn default_batch_max_tokens(max_total_tokens: u32, max_request_tokens: u32) -> u32 {
        (max_total_tokens / 6).max(max_request_tokens)
    }
}

impl Default for SchedulerConfig {
    /// The A10G experiments of S-LoRA.
    fn default() -> Self {
        Self {
            max_total_tokens: 14_500,
            batch_max_tokens: 3_072,
            max_running_requests: 1_000,
            max_request_tokens: 3_072,
            max_input_tokens: 2_048,
            decode_steps_between_prefills: 10,
            idle_poll_us: 10_000.0,
            original_blocking: false,
            max_in_system: u32::MAX,
            patience_us: f64::INFINITY,
            prefetch_adapters: false,
            lora_compute: true,
        }
    }
}
