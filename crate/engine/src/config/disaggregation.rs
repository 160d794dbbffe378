//! Prefill and decode on replicas of their own (disaggregated serving): a request's prompt is computed in one pool, its KV blocks are
//! copied to a replica of another one, and its answer is decoded there. As vLLM does with its NIXL connector
//! (vllm/distributed/kv_transfer/kv_connector/v1/nixl/): the decode replica pulls.

/// What the replicas of a pool do of a request, under the names of vLLM's `kv_role`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KvRole {
    /// Its prompt; the KV blocks stay until they have been pulled (`kv_producer`).
    Producer,
    /// Its answer; the KV blocks of its prompt are pulled (`kv_consumer`).
    Consumer,
}

/// A pool's part in handing requests over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KvTransfer {
    /// What its replicas do.
    pub role: KvRole,
    /// How long the link of one of its replicas takes for a KV block that it carries alone, microseconds: of a producer the way out, of
    /// a consumer the way in.
    pub block_us: f64,
}

/// How copies share the links of replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkSharing {
    /// Max-min fair: none can be faster without making one slower that is not faster than it.
    MaxMin,
    /// Each as if it were alone.
    Alone,
}

/// What becomes of a request whose KV blocks could not all be pulled (vLLM's `kv_load_failure_policy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadFailure {
    /// It ends with an error.
    Fail,
    /// The decode replica computes what is missing, as a prompt.
    Recompute,
}

/// Which requests are disaggregated. The others are served by the decode replica alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Decider {
    /// Every one.
    Always,
    /// None.
    Never,
    /// Those of whose prompt the decode replica has so many tokens not cached, and one at least (llm-d, BLIS).
    Threshold(u32),
    /// Those of whose prompt so many tokens, or such a share, are not cached there (Dynamo's ISL bounding).
    UncachedPrompt {
        /// Tokens, as `isl_tokens`.
        tokens: u32,
        /// The share of the prompt, as `isl_ratio`.
        ratio: f64,
    },
    /// Unless the prefill replica that was chosen has more prompt tokens to compute than this times its token budget (Dynamo's prefill
    /// load).
    PrefillLoad(f64),
    /// Unless one of the two rules before keeps it (Dynamo).
    UncachedPromptOrLoad {
        /// Tokens.
        tokens: u32,
        /// The share of the prompt.
        ratio: f64,
        /// Token budgets.
        busy: f64,
    },
}

/// How a fleet hands requests over from its prefill pool to its decode pool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Disaggregation {
    /// Which requests.
    pub policy: Decider,
    /// From this use of KV blocks on, a decode replica is too busy to keep a request for itself; 0: never.
    pub decode_busy: f64,
    /// Which prefill replica computes a prompt: a router that compares counts alone.
    pub prefill_router: super::RouterKind,
    /// From the answer of the prefill replica to the request at the decode replica, through the router, microseconds.
    pub route_us: f64,
    /// From the beginning of a pull to the first byte, microseconds.
    pub base_us: f64,
    /// How pulls share the links.
    pub sharing: LinkSharing,
    /// What becomes of a request whose pull failed.
    pub load_failure: LoadFailure,
    /// The share of pulls that fail at one of their blocks, beside those of which the trace says so.
    pub failing_loads: f64,
    /// The first token counts when the prompt is computed, as DistServe and Splitwise count it; otherwise when the client gets it, from
    /// the decode replica.
    pub ttft_at_prefill_end: bool,
}

impl Disaggregation {
    /// Of every request, without time on the way.
    pub const FREE: Self = Self {
        policy: Decider::Always,
        decode_busy: 0.0,
        prefill_router: super::RouterKind::RoundRobin,
        route_us: 0.0,
        base_us: 0.0,
        sharing: LinkSharing::MaxMin,
        load_failure: LoadFailure::Fail,
        failing_loads: 0.0,
        ttft_at_prefill_end: false,
    };

    /// Whether it matters what a decode replica has in memory at the moment at which a request is sent to it.
    pub(crate) fn reads_decode_memory(&self) -> bool {
        let reads_prefixes = matches!(
            self.policy,
            Decider::Threshold(_) | Decider::UncachedPrompt { .. } | Decider::UncachedPromptOrLoad { .. }
        );
        self.decode_busy > 0.0 || reads_prefixes
    }
}
