//! Conditions of the parameter table that several rows share.

use super::id::Id;
use super::kind::Condition;

pub(super) const fn when_in(id: Id, values: &'static [&'static str]) -> Condition {
    Condition::In(id, values)
}

pub(super) const fn when_not_in(id: Id, values: &'static [&'static str]) -> Condition {
    Condition::NotIn(id, values)
}

pub(super) const fn above(id: Id, bound: f64) -> Condition {
    Condition::Above(id, bound)
}

pub(super) const fn any(of: &'static [Condition]) -> Condition {
    Condition::Any(of)
}

pub(super) const fn all(of: &'static [Condition]) -> Condition {
    Condition::All(of)
}

/// Lengths: most tokens of a drawn length.
pub(super) const MOST: f64 = 1_000_000.0;
/// Iteration-time models that know the GPU and the model.
pub(super) const ON_HARDWARE: Condition = when_in(Id::CostKind, &["profile", "roofline", "kernels"]);
pub(super) const HARDWARE: &[Condition] = &[ON_HARDWARE];
/// Those of them that know formats.
pub(super) const FORMATS: &[Condition] = &[when_in(Id::CostKind, &["roofline", "kernels"])];
/// Data-parallel ranks that can run every forward pass together.
pub(super) const IN_LOCKSTEP: Condition =
    all(&[above(Id::DataParallel, 1.0), when_in(Id::SchedulerKind, &["vllm_v1", "sglang", "trtllm"])]);
/// Whole experts lie on the GPUs of ranks that run together.
pub(super) const SHARES_EXPERTS: Condition = all(&[
    IN_LOCKSTEP,
    when_in(Id::RankPasses, &["together"]),
    when_in(Id::CostKind, &["roofline", "kernels"]),
    when_in(Id::ExpertParallel, &["true"]),
]);
/// They are rearranged by their loads.
pub(super) const BALANCES: Condition = all(&[SHARES_EXPERTS, when_in(Id::Eplb, &["true"])]);
/// Prefill and decode are apart.
pub(super) const APART: Condition = all(&[when_in(Id::Disaggregation, &["nixl"]), SPLITS]);
/// Some of the replicas compute prompts for the others.
pub(super) const HANDS_OVER: Condition = all(&[APART, above(Id::PrefillReplicas, 0.0)]);
/// There are replicas for both.
pub(super) const SPLITS: Condition =
    all(&[when_in(Id::SchedulerKind, &["vllm_v1"]), above(Id::Replicas, 1.0)]);
/// Those whose rule looks at what is not cached of a prompt, and at the load of the prefill replica.
pub(super) const BY_ISL: Condition =
    all(&[HANDS_OVER, when_in(Id::DisaggregationPolicy, &["isl_bounding", "isl_or_load"])]);
pub(super) const BY_PREFILL_LOAD: Condition =
    all(&[HANDS_OVER, when_in(Id::DisaggregationPolicy, &["prefill_load", "isl_or_load"])]);
/// vLLM counts its CUDA graphs in the memory plan.
pub(super) const COUNTS_GRAPHS: Condition = all(&[
    when_in(Id::SchedulerKind, &["vllm_v1"]),
    when_in(Id::MemoryPlan, &["whole"]),
    when_in(Id::VllmVersion, &["0.33", "0.20"]),
    when_in(Id::KvCacheGib, &["0"]),
]);
/// LoRA kernels of vLLM that are launched one by one above the captured size.
pub(super) const LAUNCHES_ADAPTERS: Condition =
    all(&[HAS_ADAPTERS, SLOTS, ON_HARDWARE, when_in(Id::LoraKernels, &["newer"])]);
/// A rule chooses the number of replicas; one with a metric and a target; one with a tolerance.
pub(super) const SCALES: Condition = when_not_in(Id::ScalingKind, &["schedule"]);
pub(super) const SCALES_BY_TARGET: Condition = when_in(Id::ScalingKind, &["hpa", "apa", "kpa"]);
pub(super) const SCALES_BY_RATIO: Condition =
    when_in(Id::ScalingKind, &["hpa", "apa", "kpa", "keda", "keda_tokens"]);
/// The number of replicas of the first pool changes during the run.
pub(super) const COUNT_CHANGES: Condition = any(&[SCALES, when_not_in(Id::PoolSchedule, &[""])]);
/// Replicas fail.
pub(super) const FAILS: Condition =
    any(&[when_not_in(Id::FailureTimes, &[""]), above(Id::FailureInterval, 0.0)]);
/// Replicas may start during the run, of some pool.
pub(super) const STARTS_REPLICAS: Condition = any(&[COUNT_CHANGES, when_not_in(Id::Pools, &[""]), FAILS]);
/// The time that they take is put together of its parts.
pub(super) const STARTS_IN_PARTS: Condition = all(&[STARTS_REPLICAS, when_in(Id::ColdStartKind, &["parts"])]);
/// A GPU of one's own.
pub(super) const OWN_GPU: Condition =
    all(&[when_in(Id::FleetGpu, &["own"]), when_in(Id::CostKind, &["roofline"])]);
/// A model of one's own, and one with experts.
pub(super) const OWN_MODEL: Condition =
    all(&[when_in(Id::FleetModel, &["own"]), when_in(Id::CostKind, &["roofline", "kernels"])]);
pub(super) const OWN_EXPERTS: Condition = above(Id::ModelExperts, 0.0);
/// Its kinds of layers.
pub(super) const OWN_GROUPED: Condition = when_in(Id::ModelAttention, &["grouped"]);
pub(super) const OWN_LATENT: Condition = when_in(Id::ModelAttention, &["latent"]);
pub(super) const OWN_WINDOW: Condition = all(&[OWN_GROUPED, above(Id::ModelWindow, 0.0)]);
pub(super) const OWN_STATE: Condition = above(Id::ModelStateLayers, 0.0);
pub(super) const OWN_INDEX: Condition = all(&[OWN_LATENT, above(Id::ModelIndexHeads, 0.0)]);
pub(super) const ROOFLINE: &[Condition] = &[when_in(Id::CostKind, &["roofline"])];
/// Schedulers whose requests take block after block as they grow, in more than one way.
pub(super) const PAGED: &[&str] = &["vllm", "sarathi"];
/// A tier of host memory below the KV cache, and which connector keeps it.
pub(super) const HOST_CACHE: Condition = all(&[
    when_in(Id::SchedulerKind, &["vllm_v1"]),
    when_in(Id::PrefixCache, &["true"]),
    above(Id::HostCacheGib, 0.0),
]);
pub(super) const BY_OFFLOADING: Condition =
    all(&[HOST_CACHE, when_in(Id::HostCacheConnector, &["offloading"])]);
pub(super) const BY_SIMPLE_CPU: Condition =
    all(&[HOST_CACHE, when_in(Id::HostCacheConnector, &["simple_cpu"])]);
/// Speculative decoding, by a drafter of some kind, and how drafts are accepted.
pub(super) const SPECULATES: Condition =
    all(&[when_in(Id::SchedulerKind, &["vllm_v1"]), when_not_in(Id::SpecMethod, &["none"])]);
pub(super) const DRAFTS_BY_MODEL: Condition =
    all(&[when_in(Id::SchedulerKind, &["vllm_v1"]), when_in(Id::SpecMethod, &["draft_model"]), ON_HARDWARE]);
/// A drafter with passes of its own, whose times follow from no dimensions.
pub(super) const DRAFTS_BY_RATIO: Condition = all(&[
    when_in(Id::SchedulerKind, &["vllm_v1"]),
    when_in(Id::SpecMethod, &["draft_model", "eagle", "mtp"]),
    when_in(Id::CostKind, &["linear", "profile"]),
]);
pub(super) const SWAPS: &[Condition] = &[when_in(Id::Preemption, &["swap"])];
pub(super) const PROXY: &[Condition] = &[when_in(Id::GatewayKind, &["proxy"])];
pub(super) const LENDING: &[Condition] =
    &[when_in(Id::GatewayKind, &["proxy"]), when_in(Id::Lending, &["true"])];
pub(super) const RETRIES: &[Condition] =
    &[when_in(Id::GatewayKind, &["proxy"]), when_in(Id::RetryKind, &["at_once", "backoff", "honour"])];
pub(super) const HISTORY: &[Condition] =
    &[when_in(Id::GatewayKind, &["proxy"]), when_in(Id::PredictKind, &["p90", "p95", "average"])];
pub(super) const LINEAR: Condition = when_in(Id::CostKind, &["linear"]);
pub(super) const HAS_ADAPTERS: Condition = above(Id::Adapters, 0.0);
/// LoRA slots.
pub(super) const SLOTS: Condition = when_in(Id::AdapterMemory, &["slots"]);
/// Memories in which adapters come and go.
pub(super) const LOADED: Condition = when_in(Id::AdapterMemory, &["unified", "slots"]);
pub(super) const SOME_ADAPTERS: Condition = above(Id::Adapters, 1.0);
pub(super) const SOME_USERS: Condition = above(Id::Users, 1.0);
/// Orders that know clients.
pub(super) const BY_CLIENT: &[&str] = &["priority", "vtc", "lcf", "drr", "rpm"];
/// Several clients of the engine's waiting queue.
pub(super) const ENGINE_CLIENTS: Condition = any(&[
    all(&[when_in(Id::OrderClient, &["user"]), SOME_USERS]),
    all(&[when_in(Id::OrderClient, &["adapter"]), HAS_ADAPTERS]),
]);
/// Several clients of the gateway's.
pub(super) const GATEWAY_CLIENTS: Condition = any(&[
    all(&[when_in(Id::GatewayClient, &["user"]), SOME_USERS]),
    all(&[when_in(Id::GatewayClient, &["adapter"]), HAS_ADAPTERS]),
]);
/// One of the two waiting queues has such an order, and several clients.
pub(super) const FAIR: Condition = any(&[
    all(&[when_in(Id::SchedulerOrder, &["vtc", "lcf", "drr"]), ENGINE_CLIENTS]),
    all(&[when_in(Id::GatewayOrder, &["vtc", "lcf", "drr"]), GATEWAY_CLIENTS]),
]);
pub(super) const COUNTED: Condition = any(&[
    all(&[when_in(Id::SchedulerOrder, &["vtc", "lcf"]), ENGINE_CLIENTS]),
    all(&[when_in(Id::GatewayOrder, &["vtc", "lcf"]), GATEWAY_CLIENTS]),
]);
pub(super) const VTC: Condition = any(&[
    all(&[when_in(Id::SchedulerOrder, &["vtc"]), ENGINE_CLIENTS]),
    all(&[when_in(Id::GatewayOrder, &["vtc"]), GATEWAY_CLIENTS]),
]);
pub(super) const DRR: Condition = any(&[
    all(&[when_in(Id::SchedulerOrder, &["drr"]), ENGINE_CLIENTS]),
    all(&[when_in(Id::GatewayOrder, &["drr"]), GATEWAY_CLIENTS]),
]);
pub(super) const PRIORITY: Condition = any(&[
    all(&[when_in(Id::SchedulerOrder, &["priority"]), ENGINE_CLIENTS]),
    all(&[when_in(Id::GatewayOrder, &["priority"]), GATEWAY_CLIENTS]),
]);
pub(super) const PREDICTS: Condition =
    any(&[when_in(Id::SchedulerOrder, &["shortest"]), when_in(Id::FairPrediction, &["predicted"])]);
/// Where runs depend on which user sends a request.
pub(super) const KNOWS_USERS: &[Condition] = &[
    when_in(Id::OrderClient, &["user"]),
    when_in(Id::GatewayClient, &["user"]),
    when_in(Id::ClientKind, &["each"]),
    when_in(Id::Loop, &["closed"]),
    above(Id::UserTokens, 0.0),
    when_in(Id::Router, &["aibrix_vtc", "consistent_hash"]),
];
/// Where they depend on which adapter it asks for. Under the linear model adapters of one rank that are all in memory cost the
/// same.
pub(super) const KNOWS_ADAPTERS: &[Condition] = &[
    LOADED,
    ON_HARDWARE,
    Condition::Varied(Id::Ranks),
    when_in(Id::OrderClient, &["adapter"]),
    when_in(Id::GatewayClient, &["adapter"]),
    when_in(Id::Router, &["adapter_affinity"]),
    when_in(Id::Router, INDEXED),
    above(Id::AdapterTokens, 0.0),
];
/// Routers that ask an index what is cached.
pub(super) const INDEXED: &[&str] = &[
    "llmd",
    "llmd_weighted",
    "dynamo_kv",
    "sglang_cache_aware",
    "aibrix_prefix_cache",
    "ps_kvaware",
    "ps_prefixaware",
    "lmetric",
    "lpwl",
];
pub(super) const APPROXIMATE: Condition = when_in(Id::RouterIndex, &["approximate"]);
/// Quotas that are checked.
pub(super) const RPM: Condition = all(&[Condition::Checks("rpm"), above(Id::GatewayRpm, 0.0)]);
pub(super) const TPM: Condition = all(&[
    Condition::Checks("tpm"),
    any(&[
        above(Id::GatewayTpmInput, 0.0),
        above(Id::GatewayTpmOutput, 0.0),
        above(Id::GatewayTpmTotal, 0.0),
    ]),
]);
pub(super) const CLIENT_BOUND: Condition =
    all(&[Condition::Checks("concurrency"), above(Id::ClientConcurrency, 0.0)]);
pub(super) const ENGINE_BOUND: Condition =
    all(&[Condition::Checks("concurrency"), above(Id::MaxInSystem, 0.0)]);
/// What can keep a request at the gateway.
pub(super) const HELD: Condition = any(&[
    all(&[any(&[RPM, TPM, CLIENT_BOUND]), when_in(Id::OverQuota, &["wait"])]),
    ENGINE_BOUND,
    Condition::Checks("kv"),
    when_in(Id::LoadPolicy, &["fair_share"]),
]);
/// What can make the gateway reject a request that it may accept later.
pub(super) const REJECTED: Condition = any(&[
    all(&[any(&[RPM, TPM, CLIENT_BOUND]), when_in(Id::OverQuota, &["refuse"])]),
    all(&[
        Condition::Checks("queue"),
        any(&[above(Id::QueueRequests, 0.0), above(Id::QueueTokens, 0.0)]),
        HELD,
    ]),
    Condition::Checks("ttft"),
    all(&[any(&[above(Id::QueueTimeout, 0.0), when_in(Id::TimeoutKind, &["estimated"])]), HELD]),
    when_in(Id::LoadPolicy, &["shed"]),
]);
pub(super) const SLORA: &[Condition] = &[when_in(Id::SchedulerKind, &["slora"])];
pub(super) const TRTLLM: &[Condition] = &[when_in(Id::SchedulerKind, &["trtllm"])];
pub(super) const SGLANG: &[Condition] = &[when_in(Id::SchedulerKind, &["sglang"])];
/// SGLang with priorities.
pub(super) const SGLANG_PRIORITY: Condition =
    all(&[when_in(Id::SchedulerKind, &["sglang"]), when_in(Id::SchedulerOrder, &["priority"])]);
/// Schedulers that form an iteration while the one before it runs.
pub(super) const FORMS_AHEAD: &[Condition] = &[when_in(Id::SchedulerKind, &["vllm_v1", "sglang", "trtllm"])];
pub(super) const VLLM_V1: &[Condition] = &[when_in(Id::SchedulerKind, &["vllm_v1"])];
pub(super) const PATTERNS: &[&str] =
    &["quick_rising", "slow_rising", "slight_fluctuation", "severe_fluctuation", "sine"];
pub(super) const CHANGES: &[&str] = &["ramp", "step", "spike"];
/// Prompt and output lengths have a distribution each, and are not drawn as pairs.
pub(super) const INDEPENDENT_LENGTHS: Condition = when_in(Id::LengthSource, &["distributions"]);
/// Kinds of sessions.
pub(super) const TALKS: &[&str] = &["held", "timed", "streaming_input"];
pub(super) const BOUNDED: &[&str] = &[
    "uniform",
    "bounded_pareto",
    "lognormal",
    "normal",
    "percentiles",
    "mixture",
    "zipf",
    "bounded_geometric",
];
