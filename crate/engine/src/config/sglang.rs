//! The settings of SGLang's scheduler, under its names and with its defaults (server_args.py of SGLang 0.5.23).

/// Settings of SGLang's scheduler that no other one has. Its `page_size` is [`PoolConfig::block_size`](super::PoolConfig::block_size),
/// its `max_total_tokens` are the blocks of that size, its `max_running_requests` [`PoolConfig::max_requests`](super::PoolConfig),
/// its `context_length` [`PoolConfig::max_request_tokens`](super::PoolConfig), `disable_radix_cache` the opposite of
/// [`PoolConfig::prefix_cache`](super::PoolConfig).
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of SGLang's")]
pub struct SglangRules {
    /// Most prompt tokens of a prefill batch; `None`: prompts are not cut (-1).
    pub chunked_prefill_size: Option<u32>,
    /// Prompt tokens at which a prefill batch takes no further prompt.
    pub max_prefill_tokens: u32,
    /// Most prompts of a prefill batch.
    pub prefill_max_requests: Option<u32>,
    /// In which order waiting requests are considered.
    pub schedule_policy: SchedulePolicy,
    /// How much of its `max_new_tokens` a running request is expected to need still, as a factor of 0.7.
    pub schedule_conservativeness: f64,
    /// Whether requests that decode are part of prefill batches, a token each.
    pub enable_mixed_chunk: bool,
    /// Whether a batch is decided when the one before it begins (off: `disable_overlap_schedule`).
    pub overlap_schedule: bool,
    /// Which leaf of the radix tree is evicted first.
    pub radix_eviction_policy: RadixEviction,
    /// Whether requests have priorities: [`QueuePolicy::Priority`](crate::queue::QueuePolicy) has the classes.
    pub enable_priority_scheduling: bool,
    /// Whether the smaller of two priorities is the better one.
    pub schedule_low_priority_values_first: bool,
    /// By more than how much a waiting request has to be better than a running one to take its slot; `None`: none does
    /// (`disable_priority_preemption`).
    pub priority_scheduling_preemption_threshold: Option<u32>,
    /// Which running requests keep their memory when it runs out.
    pub retraction_policy: RetractionPolicy,
    /// Most waiting requests; the next one is rejected.
    pub max_queued_requests: Option<u32>,
    /// So many batches of decodes come behind one with prompts.
    pub prefill_decode_interval: u32,
    /// Unless fewer requests than this run.
    pub prefill_decode_interval_min_bs: u32,
    /// While requests decode, the scheduler receives what has come only every so many batches (`scheduler_recv_interval`).
    pub recv_interval: u32,
    /// While requests run, prompts wait until so many requests may join.
    pub min_free_slots_delay: Option<u32>,
    /// Most adapters of running requests; those without one count as one more.
    pub max_loras_per_batch: Option<u32>,
    /// Most tokens that an output is expected to need (`SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION`).
    pub clip_max_new_tokens: u32,
}

impl Default for SglangRules {
    /// Those of a GPU of 60 to 160 GB.
    fn default() -> Self {
        Self {
            chunked_prefill_size: Some(8_192),
            max_prefill_tokens: 16_384,
            prefill_max_requests: None,
            schedule_policy: SchedulePolicy::Fcfs,
            schedule_conservativeness: 1.0,
            enable_mixed_chunk: false,
            overlap_schedule: true,
            radix_eviction_policy: RadixEviction::Lru,
            enable_priority_scheduling: false,
            schedule_low_priority_values_first: false,
            priority_scheduling_preemption_threshold: Some(10),
            retraction_policy: RetractionPolicy::Length,
            max_queued_requests: None,
            prefill_decode_interval: 0,
            prefill_decode_interval_min_bs: 0,
            recv_interval: 1,
            min_free_slots_delay: None,
            max_loras_per_batch: Some(8),
            clip_max_new_tokens: 4_096,
        }
    }
}

/// The order of waiting requests (`schedule_policy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchedulePolicy {
    /// As they came.
    Fcfs,
    /// The longest known prefix first (`lpm`).
    LongestPrefix,
    /// By the radix tree, the branch with the most waiting requests first (`dfs-weight`).
    DfsWeight,
    /// The largest `max_new_tokens` first (`lof`).
    LongestOutput,
    /// The prompt tokens processed since it came, for each one that it needs: the most first (`hrrn`).
    ResponseRatio,
    /// The fewest tokens to compute first (`shortest-prefill-first`).
    ShortestPrefill,
}

/// Which leaf of the radix tree is evicted first (`radix_eviction_policy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RadixEviction {
    /// The longest unused.
    Lru,
    /// The one with the fewest hits.
    Lfu,
    /// The oldest.
    Fifo,
    /// The youngest.
    Filo,
    /// The last used.
    Mru,
    /// Those without a second hit, the longest unused first.
    Slru,
    /// That of the lowest priority.
    Priority,
}

/// Which running requests keep their memory (`retraction_policy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetractionPolicy {
    /// Those with the most output, among equals with the shorter prompt.
    Length,
    /// Those of the better priority.
    Priority,
}
