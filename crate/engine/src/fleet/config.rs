//! What a fleet is made of.

use super::adapters::AdapterConfig;

/// How requests are spread over the replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouterKind {
    /// In turn.
    RoundRobin,
    /// At random.
    Random,
    /// The replica with the fewest requests that wait or run.
    LeastOutstanding,
    /// The replica with the shortest waiting line, as Vidur's `lor` counts.
    ShortestLine,
    /// The better of two drawn at random, by requests that wait or run.
    PowerOfTwo,
    /// The replica with the fewest KV blocks in use or promised to its waiting line.
    LeastKv,
    /// Requests of one adapter go to one replica, unless it is far busier than the others.
    AdapterAffinity,
    /// Requests that share the start of their prompts go to one replica, unless it is far busier than the others.
    PrefixAffinity,
}

/// Who joins the next iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchedulerKind {
    /// FasterTransformer: a batch runs until its last member is done.
    Static,
    /// Orca: whole prompts beside decoding, memory reserved for the longest request.
    Orca,
    /// vLLM of 2023: prompts first, then decoding; who finds no block is evicted.
    Vllm,
    /// Sarathi-Serve: prompts in chunks beside decoding.
    Sarathi,
    /// LightLLM: prompts are let in where the batch will fit at its worst moment.
    LightLlm,
    /// vLLM's engine of 2025: one token budget for prompts and decoding alike.
    VllmV1,
}

impl SchedulerKind {
    /// Every one.
    pub const ALL: [Self; 6] =
        [Self::Static, Self::Orca, Self::Vllm, Self::Sarathi, Self::LightLlm, Self::VllmV1];
}

/// What becomes of a request that is evicted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Preemption {
    /// Its prompt and the answer so far are processed anew, as one prompt (vLLM).
    Recompute,
    /// Its prompt is processed anew, and the answer so far again token by token: one an iteration. Only schedulers that
    /// read prompts in chunks do so.
    Regenerate,
    /// What it has is copied to the host and back (vLLM). Half-read prompts, and those for which the host has no room, are
    /// processed anew.
    Swap {
        /// KV blocks that the host of a replica has room for.
        host_blocks: u32,
        /// How long the link takes for a block, microseconds.
        us_per_block: f64,
    },
}

/// The settings of a fleet of equal replicas.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FleetConfig {
    /// How many replicas; at least 1.
    pub replicas: u32,
    /// Who gets an arrival.
    pub router: RouterKind,
    /// Who joins an iteration.
    pub scheduler: SchedulerKind,
    /// KV blocks of a replica; those of adapters in the pool are taken from them.
    pub blocks: u32,
    /// Tokens in a block; at least 1.
    pub block_size: u32,
    /// Blocks that an admission leaves free.
    pub watermark_blocks: u32,
    /// Most requests that hold memory at once.
    pub max_requests: u32,
    /// Most requests of the longest length that fit: bounds static and Orca batches.
    pub max_slots: u32,
    /// Longest request, prompt and answer: what static and Orca batches reserve for each.
    pub max_request_tokens: u32,
    /// Most prompt tokens in one iteration (vLLM: padded to the longest), or all tokens (vLLM v1).
    pub max_batch_tokens: u32,
    /// Tokens in an iteration of Sarathi-Serve.
    pub chunk_tokens: u32,
    /// Decode iterations between two attempts of LightLLM to let prompts in.
    pub decode_steps_between_prefills: u32,
    /// Whether what the original cannot serve blocks the line, and its leak, its restart of half-read prompts and its
    /// count of token gaps (without those across an eviction) are kept; otherwise such requests are refused or served.
    pub original: bool,
    /// Whether the starts of prompts are kept and shared, where the trace tells them (vLLM v1).
    pub prefix_cache: bool,
    /// Most requests waiting and running together in the whole fleet; another one is refused.
    pub max_in_system: u32,
    /// How long a request waits for its first iteration before it is given up, microseconds; infinite = for ever.
    pub patience_us: f64,
    /// Whether a request is let in only with memory for its prompt and longest answer, so that nobody is ever evicted
    /// (vLLM, Sarathi-Serve, vLLM v1; static and Orca batches always do so, for the longest request).
    pub reserve: bool,
    /// What becomes of a request that is evicted.
    pub preemption: Preemption,
    /// Where adapters are kept.
    pub adapters: AdapterConfig,
    /// Seed of routers that draw.
    pub seed: u64,
}

impl FleetConfig {
    /// Blocks that `tokens` take.
    pub fn blocks_for(&self, tokens: u32) -> u32 {
        tokens.div_ceil(self.block_size)
    }

    /// Whether requests take blocks as they grow.
    pub fn grows(&self) -> bool {
        self.scheduler.policy().grows(self)
    }

    /// Whether the starts of prompts are kept and shared.
    pub(super) fn keeps_prefixes(&self) -> bool {
        self.prefix_cache && self.scheduler.policy().can_cache_prefixes()
    }

    /// How long the link to the host takes for `blocks`, microseconds.
    pub(super) fn copying_us(&self, blocks: u64) -> f64 {
        match self.preemption {
            Preemption::Swap { us_per_block, .. } => blocks as f64 * us_per_block,
            _ => 0.0,
        }
    }

    /// Blocks that static and Orca batches reserve for a request.
    pub fn slot_blocks(&self) -> u32 {
        self.max_request_tokens / self.block_size
    }

    /// Most requests in one static or Orca batch.
    pub fn slots(&self) -> u32 {
        self.max_slots.min(self.max_requests)
    }
}

impl Default for FleetConfig {
    /// One replica of Llama-2-7b on an A100 80 GB under Vidur's defaults, with vLLM's scheduler of 2023.
    fn default() -> Self {
        Self {
            replicas: 1,
            router: RouterKind::RoundRobin,
            scheduler: SchedulerKind::Vllm,
            blocks: 7_424,
            block_size: 16,
            watermark_blocks: 74,
            max_requests: 128,
            max_slots: 29,
            max_request_tokens: 4_096,
            max_batch_tokens: 4_096,
            chunk_tokens: 512,
            decode_steps_between_prefills: 10,
            original: false,
            prefix_cache: false,
            max_in_system: u32::MAX,
            patience_us: f64::INFINITY,
            reserve: false,
            preemption: Preemption::Recompute,
            adapters: AdapterConfig::FREE,
            seed: 42,
        }
    }
}
