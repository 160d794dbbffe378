//! What is known of each request when a run is over, and what its caches and adapters were asked for.

use crate::replica::index::ReplicaIndex;
use servescope_workload::RequestId;

/// What is known of each request, one entry a request in every column; NaN where there is none.
#[derive(Debug, Clone, Default)]
pub struct RequestTimings {
    /// When the first iteration that it was part of was formed, microseconds.
    pub scheduled_us: Vec<f64>,
    /// When its first token was there.
    pub first_token_us: Vec<f64>,
    /// Durations of the iterations that processed its prompt, without the loading of adapters.
    pub prefill_us: Vec<f64>,
    /// How long adapters were loaded before those; empty where none was.
    pub load_us: Vec<f64>,
    /// The longest time between two of its tokens; 0 where it has fewer than two.
    pub longest_gap_us: Vec<f64>,
    /// How long it stood still between its iterations.
    pub stalled_us: Vec<f64>,
    /// Which replica; empty where there is one.
    pub replica: Vec<ReplicaIndex>,
    /// How often it was preempted; empty where no request can be.
    pub preemptions: Vec<u16>,
    /// Where replicas have several stages: how long they worked on its iterations. Empty otherwise.
    pub execution_us: Vec<f64>,
}

impl RequestTimings {
    /// The requests named by `order`, in that order.
    pub(crate) fn select(&self, order: &[RequestId]) -> Self {
        fn chosen<T: Copy>(column: &[T], order: &[RequestId]) -> Vec<T> {
            order.iter().filter_map(|&id| column.get(id.index()).copied()).collect()
        }
        Self {
            scheduled_us: chosen(&self.scheduled_us, order),
            first_token_us: chosen(&self.first_token_us, order),
            longest_gap_us: chosen(&self.longest_gap_us, order),
            prefill_us: chosen(&self.prefill_us, order),
            load_us: chosen(&self.load_us, order),
            stalled_us: chosen(&self.stalled_us, order),
            replica: chosen(&self.replica, order),
            preemptions: chosen(&self.preemptions, order),
            execution_us: chosen(&self.execution_us, order),
        }
    }
}

impl PartialEq for RequestTimings {
    /// Equal bits, so that what is missing equals what is missing.
    fn eq(&self, other: &Self) -> bool {
        let same = |a: &[f64], b: &[f64]| {
            a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.to_bits() == y.to_bits())
        };
        same(&self.scheduled_us, &other.scheduled_us)
            && same(&self.first_token_us, &other.first_token_us)
            && same(&self.longest_gap_us, &other.longest_gap_us)
            && same(&self.prefill_us, &other.prefill_us)
            && same(&self.load_us, &other.load_us)
            && same(&self.stalled_us, &other.stalled_us)
            && same(&self.execution_us, &other.execution_us)
            && self.replica == other.replica
            && self.preemptions == other.preemptions
    }
}

/// What became of the adapters of all replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AdapterCounts {
    /// Times an adapter was loaded.
    pub loads: u64,
    /// Times one was preempted.
    pub evictions: u64,
    /// Tokens' worth of KV memory that each replica sets apart for adapters beside its pool.
    pub reserved_tokens: u32,
    /// Whether adapters stay in GPU memory while nothing runs.
    pub stay: bool,
}

/// What a prefix cache was asked for, tokens. As vLLM counts (`vllm:prefix_cache_queries`, `vllm:prefix_cache_hits`): once
/// for each admission, again for a request that comes back after a preemption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PrefixLookups {
    /// Tokens of the prompts that were looked up.
    pub tokens: u64,
    /// Those of them that were found, and not computed again.
    pub cached_tokens: u64,
}

impl PrefixLookups {
    /// Found over looked up; `None` where no prompt was looked up.
    pub fn hit_rate(&self) -> Option<f64> {
        (self.tokens > 0).then(|| self.cached_tokens as f64 / self.tokens as f64)
    }
}

impl std::iter::Sum for PrefixLookups {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            tokens: sum.tokens + one.tokens,
            cached_tokens: sum.cached_tokens + one.cached_tokens,
        })
    }
}
