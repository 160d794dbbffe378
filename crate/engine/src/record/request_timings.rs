//! What is known of each request when a run is over, and what its caches and adapters were asked for.

use servescope_workload::RequestId;

use crate::record::drafts::RequestDrafts;
use crate::record::input_chunk::InputChunk;
use crate::record::request_legs::RequestLegs;
use crate::record::request_state::RequestState;
use crate::record::work_time::WorkTime;

/// What is known of each request.
#[derive(Debug, Clone, Default)]
pub struct RequestTimings {
    pub(crate) requests: Vec<RequestState>,
    /// How long adapters were loaded before the iterations that processed its prompt, microseconds; empty where none was.
    pub(crate) load_us: Vec<f64>,
    /// What it found cached of its prompt when it was first admitted; empty where no replica caches prefixes.
    pub(crate) found: Vec<Option<FoundPrompt>>,
    /// What became of its drafts; empty without speculative decoding.
    pub(crate) drafts: Vec<RequestDrafts>,
    /// Where replicas have several stages: how long they worked on its iterations. Empty otherwise.
    pub(crate) execution: Vec<WorkTime>,
    /// Its two legs; empty where no request is disaggregated.
    pub(crate) legs: Vec<Option<RequestLegs>>,
    /// Its place in its session's input; empty where no input comes in chunks.
    pub(crate) chunks: Vec<InputChunk>,
}

impl RequestTimings {
    /// The requests named by `order`, in that order.
    pub(crate) fn select(&self, order: &[RequestId]) -> Self {
        fn chosen<T: Copy>(column: &[T], order: &[RequestId]) -> Vec<T> {
            order.iter().filter_map(|&id| column.get(id.index()).copied()).collect()
        }
        Self {
            requests: chosen(&self.requests, order),
            load_us: chosen(&self.load_us, order),
            found: chosen(&self.found, order),
            drafts: chosen(&self.drafts, order),
            execution: chosen(&self.execution, order),
            legs: chosen(&self.legs, order),
            chunks: self.chunks_of(order),
        }
    }

    /// The chunks named by `order`, which name each other by their new places.
    fn chunks_of(&self, order: &[RequestId]) -> Vec<InputChunk> {
        let mut places = vec![None; self.chunks.len()];
        for (place, id) in RequestId::first(order.len()).zip(order) {
            if let Some(own) = places.get_mut(id.index()) {
                *own = Some(place);
            }
        }
        let renamed = |id: Option<RequestId>| id.and_then(|id| places.get(id.index()).copied().flatten());
        let of = |id: &RequestId| self.chunks.get(id.index()).copied();
        order
            .iter()
            .filter_map(of)
            .map(|chunk| InputChunk { previous: renamed(chunk.previous), next: renamed(chunk.next), ..chunk })
            .collect()
    }
}

impl PartialEq for RequestTimings {
    /// Equal bits, so that what is missing equals what is missing.
    fn eq(&self, other: &Self) -> bool {
        let bits = |us: &f64| us.to_bits();
        self.requests.len() == other.requests.len()
            && self.requests.iter().zip(&other.requests).all(|(one, other)| one.is_served_as(other))
            && self.load_us.iter().map(bits).eq(other.load_us.iter().map(bits))
            && self.found == other.found
            && self.drafts == other.drafts
            && self.execution == other.execution
            && self.legs == other.legs
            && self.chunks == other.chunks
    }
}

/// What a request found cached of its prompt, tokens; the rest was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FoundPrompt {
    /// In the KV cache of its replica.
    pub cached_tokens: u32,
    /// In host memory, from where they were loaded.
    pub host_tokens: u32,
}

/// What became of the adapters of all replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AdapterCounts {
    /// Times an adapter was loaded.
    pub loads: u64,
    /// Times one was evicted.
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
    /// Those of them that were found on the GPU, and not computed again.
    pub cached_tokens: u64,
    /// Those that were found in host memory, and loaded.
    pub host_tokens: u64,
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
            host_tokens: sum.host_tokens + one.host_tokens,
        })
    }
}
