//! What a router knows of its replicas, and the constants of the routers that are called by the names of their systems.
//!
//! A router decides from a view: an index of what it believes each replica caches, counts of its own, and metrics that replicas
//! report. Each of them may be late, or wrong.

/// What a router believes that replicas have cached, and how it learns of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexKind {
    /// What it sent there itself: no replica is asked.
    Approximate,
    /// What the replicas' events of stored and removed blocks say, some time after they happened.
    Precise,
    /// What is cached at the moment of the decision, which no router can know.
    True,
}

/// Whose numbers of requests a router compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountSource {
    /// Its own: the requests that it sent and that have not ended.
    Own,
    /// The replicas', as they stood at the last scrape.
    Scraped,
}

/// What a router sees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RouterView {
    /// Where its index comes from.
    pub index: IndexKind,
    /// Approximate: an entry that was not used for so long is forgotten, microseconds; infinite: never.
    pub ttl_us: f64,
    /// Approximate: most blocks that are remembered of one replica.
    pub index_blocks: u32,
    /// Approximate: tokens of a block.
    pub block_tokens: u32,
    /// Approximate: how often the number of blocks is enforced, microseconds; 0: at each insertion.
    pub eviction_interval_us: f64,
    /// Precise: from an event of a replica to the router, microseconds.
    pub event_delay_us: f64,
    /// Precise and true: what a block on the host counts beside one on the GPU; 0: the router does not see that tier.
    pub host_weight: f64,
    /// Whose numbers of requests it compares.
    pub counts: CountSource,
    /// From one scrape of a replica to the next, microseconds; 0: metrics are those of the moment.
    pub scrape_us: f64,
    /// How many routers share the requests in turn, each of which knows its own only.
    pub shards: u32,
}

impl Default for RouterView {
    fn default() -> Self {
        Self {
            index: IndexKind::Approximate,
            ttl_us: f64::INFINITY,
            index_blocks: 31_250,
            block_tokens: 64,
            eviction_interval_us: 0.0,
            event_delay_us: 2_000.0,
            host_weight: 0.8,
            counts: CountSource::Own,
            scrape_us: 0.0,
            shards: 1,
        }
    }
}

/// Where SGLang's router sends a prompt that matches nowhere well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissTarget {
    /// To the replica with the smallest tree.
    Tree,
    /// To the one with the fewest requests.
    Load,
}

/// The constants of every router that has some, by the names of its system.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RouterConstants {
    /// llm-d: share of a prompt from which a replica that has it is preferred.
    pub llmd_affinity_threshold: f64,
    /// llm-d: probability that a request is sent without that preference.
    pub llmd_exploration: f64,
    /// llm-d: prompt tokens that a replica is taken to compute in a second.
    pub llmd_peak_prefill_tokens_per_s: f64,
    /// llm-d: by how much longer a preferred replica may take for what it has, microseconds.
    pub llmd_max_ttft_penalty_us: f64,
    /// llm-d: tokens from which on replicas count as equally loaded.
    pub llmd_max_load_tokens: f64,
    /// Weights of llm-d's older scorers: prefix, queue, KV memory.
    pub llmd_weights: [f64; 3],
    /// Dynamo: what a cached block takes off the blocks to compute.
    pub dynamo_overlap_credit: f64,
    /// Dynamo: what a block to compute counts beside a block in use.
    pub dynamo_prefill_scale: f64,
    /// Dynamo: what a request counts beside a block in use.
    pub dynamo_active_weight: f64,
    /// Dynamo: 0: the least cost; above: drawn by it.
    pub dynamo_temperature: f64,
    /// SGLang: share of a prompt above which a match decides.
    pub sglang_cache_threshold: f64,
    /// SGLang: loads differ if the largest is this much above the least …
    pub sglang_balance_abs: f64,
    /// … and this many times as large.
    pub sglang_balance_rel: f64,
    /// SGLang: where prompts go that match nowhere.
    pub sglang_miss: MissTarget,
    /// `AIBrix`'s prefix-cache: spread of running requests above which only the load counts.
    pub aibrix_imbalance: f64,
    /// How many standard deviations above the mean a replica with a match may be.
    pub aibrix_deviations: f64,
    /// `AIBrix`'s vtc-basic: weight of the client's tokens, and of the replica's load.
    pub vtc_weights: [f64; 2],
    /// Running requests of a full load.
    pub vtc_max_load: f64,
    /// For how long a client's tokens count, microseconds.
    pub vtc_window_us: f64,
    /// production-stack's kvaware: how many tokens of a prompt may be missing where a match decides.
    pub ps_kvaware_threshold: f64,
    /// Consistent hashing: how many times the mean load a replica may have.
    pub hash_bound: f64,
}

impl Default for RouterConstants {
    fn default() -> Self {
        Self {
            llmd_affinity_threshold: 0.8,
            llmd_exploration: 0.0,
            llmd_peak_prefill_tokens_per_s: 15_928.0,
            llmd_max_ttft_penalty_us: 18_000_000.0,
            llmd_max_load_tokens: 4_194_304.0,
            llmd_weights: [3.0, 2.0, 2.0],
            dynamo_overlap_credit: 1.0,
            dynamo_prefill_scale: 1.0,
            dynamo_active_weight: 0.0,
            dynamo_temperature: 0.0,
            sglang_cache_threshold: 0.5,
            sglang_balance_abs: 32.0,
            sglang_balance_rel: 1.1,
            sglang_miss: MissTarget::Tree,
            aibrix_imbalance: 8.0,
            aibrix_deviations: 1.0,
            vtc_weights: [0.5, 0.5],
            vtc_max_load: 100.0,
            vtc_window_us: 300_000_000.0,
            ps_kvaware_threshold: 2_000.0,
            hash_bound: 1.25,
        }
    }
}
