//! Choices whose enums the engine, the cost model and the workload have themselves: here are the names of their values.

use servescope_cost::AllToAll;
use servescope_cost::deployment::{KvFormat, WeightFormat};
use servescope_cost::gpus::PriceKind;
use servescope_cost::memory_plan::vllm::VllmVersion;
use servescope_engine::gateway::config::{Charge, RetryKind};
use servescope_engine::gateway::load::LoadPolicy;
use servescope_engine::queue::{Client, OutputAccounting, Prediction, TokenCost};
use servescope_engine::{
    AdapterMemory, CapacityPolicy, ChunkingPolicy, CountSource, DrainChoice, HostEviction, IndexKind,
    MissTarget, OffloadConnector, RadixEviction, RankChoice, RetractionPolicy, RouterKind, ScalingMetric,
    SchedulePolicy, SchedulerKind,
};
use servescope_workload::ArrivalsPer;
use servescope_workload::sessions::AtCap;

use super::{Choice, ChoiceId, ForeignChoice};
use crate::kernels::KernelEngine;
use crate::parameters::Id;

foreign_choices! {
    SchedulerKind (SCHEDULER = SchedulerKind) {
        Slora = "slora",
        Static = "static",
        Orca = "orca",
        Vllm = "vllm",
        Sarathi = "sarathi",
        LightLlm = "lightllm",
        VllmV1 = "vllm_v1",
        Sglang = "sglang",
        Trtllm = "trtllm",
    }

    CapacityPolicy (CAPACITY_POLICY = CapacityPolicy) {
        GuaranteedNoEvict = "guaranteed_no_evict",
        MaxUtilization = "max_utilization",
    }

    ChunkingPolicy (CHUNKING_POLICY = ChunkingPolicy) {
        FirstComeFirstServed = "first_come_first_served",
        EqualProgress = "equal_progress",
    }

    SchedulePolicy (SCHEDULE_POLICY = SchedulePolicy) {
        Fcfs = "fcfs",
        LongestPrefix = "lpm",
        DfsWeight = "dfs_weight",
        LongestOutput = "lof",
        ResponseRatio = "hrrn",
        ShortestPrefill = "shortest_prefill_first",
    }

    RadixEviction (RADIX_EVICTION = RadixEviction) {
        Lru = "lru",
        Lfu = "lfu",
        Fifo = "fifo",
        Filo = "filo",
        Mru = "mru",
        Slru = "slru",
        Priority = "priority",
    }

    KernelEngine (KERNEL_ENGINE = KernelEngine) {
        Vllm = "vllm",
        Sglang = "sglang",
        TensorRtLlm = "trtllm",
    }

    RankChoice (RANK_CHOICE = RankChoice) {
        Vllm = "vllm",
        VllmQueues = "vllm_queues",
        RoundRobin = "round_robin",
        FewestRequests = "total_requests",
        External = "external",
    }

    ScalingMetric (SCALING_METRIC = ScalingMetric) {
        NumRequestsWaiting = "num_requests_waiting",
        Concurrency = "concurrency",
        KvCacheUsage = "kv_cache_usage_perc",
    }

    DrainChoice (DRAIN_PICK = DrainPick) {
        Newest = "newest",
        LeastLoaded = "least_loaded",
        Random = "random",
    }

    AllToAll (ALL_TO_ALL = AllToAll) {
        AllGather = "allgather_reducescatter",
        DeepEpLowLatency = "deepep_low_latency",
        DeepEpHighThroughput = "deepep_high_throughput",
    }

    RetractionPolicy (RETRACTION_POLICY = RetractionPolicy) {
        Length = "length",
        Priority = "priority",
    }

    Client (QUEUE_CLIENT = OrderClient, GATEWAY_CLIENT = GatewayClient) {
        User = "user",
        Adapter = "adapter",
    }

    TokenCost (TOKEN_COST = FairCost) {
        Linear = "linear",
        Profile = "profile",
    }

    OutputAccounting (OUTPUT_ACCOUNTING = FairCharging) {
        Slora = "slora",
        Ideal = "ideal",
        Artifact = "artifact",
    }

    Prediction (OUTPUT_PREDICTION = FairPrediction) {
        None = "none",
        History = "history",
        Given = "predicted",
    }

    WeightFormat (WEIGHTS = Weights) {
        Bf16 = "bf16",
        Fp8 = "fp8",
        Int8 = "int8",
        Int4 = "int4",
        Mxfp4 = "mxfp4",
        Nvfp4 = "nvfp4",
    }

    VllmVersion (VLLM_VERSION = VllmVersion) {
        V0_33 = "0.33",
        V0_20 = "0.20",
        V0_17 = "0.17",
        V0_11 = "0.11",
        V0_9 = "0.9",
        V0_8 = "0.8",
    }

    KvFormat (KV_FORMAT = KvFormat) {
        Bf16 = "bf16",
        Fp8 = "fp8",
    }

    AdapterMemory (ADAPTER_MEMORY = AdapterMemory) {
        Unified = "unified",
        Slots = "slots",
        Resident = "resident",
    }

    OffloadConnector (HOST_CONNECTOR = HostCacheConnector) {
        Offloading = "offloading",
        SimpleCpu = "simple_cpu",
    }

    HostEviction (HOST_EVICTION = HostCacheEviction) {
        Lru = "lru",
        Arc = "arc",
    }

    RouterKind (ROUTER = Router) {
        RoundRobin = "round_robin",
        Random = "random",
        LeastOutstanding = "least_outstanding",
        FewestWaiting = "fewest_waiting",
        PowerOfTwo = "power_of_two",
        LeastKv = "least_kv",
        AdapterAffinity = "adapter_affinity",
        PrefixAffinity = "prefix_affinity",
        Llmd = "llmd",
        LlmdWeighted = "llmd_weighted",
        DynamoKv = "dynamo_kv",
        SglangCacheAware = "sglang_cache_aware",
        AibrixPrefixCache = "aibrix_prefix_cache",
        AibrixVtc = "aibrix_vtc",
        PsKvaware = "ps_kvaware",
        PsPrefixaware = "ps_prefixaware",
        PsSession = "ps_session",
        Lmetric = "lmetric",
        Lpwl = "lpwl",
        ConsistentHash = "consistent_hash",
    }

    IndexKind (INDEX_KIND = RouterIndex) {
        Approximate = "approximate",
        Precise = "precise",
        True = "true",
    }

    CountSource (COUNT_SOURCE = RouterCounts) {
        Own = "own",
        Scraped = "scraped",
    }

    MissTarget (MISS_TARGET = SglangMiss) {
        Tree = "tree",
        Load = "load",
    }

    PriceKind (PRICE_KIND = PriceKind) {
        OnDemand = "on_demand",
        Reserved = "reserved",
        Spot = "spot",
        Estimate = "estimate",
    }

    Charge (GATEWAY_CHARGE = GatewayCharge) {
        Ahead = "ahead",
        After = "after",
    }

    RetryKind (RETRY_KIND = RetryKind) {
        Never = "never",
        AtOnce = "at_once",
        Backoff = "backoff",
        Honour = "honour",
    }

    LoadPolicy (LOAD_POLICY = LoadPolicy) {
        AdmitAll = "admit_all",
        FairShare = "fair_share",
        Shed = "shed",
    }

    AtCap (AT_CAP = AtCap) {
        Truncate = "truncate",
        End = "end",
        Restart = "restart",
    }

    ArrivalsPer (ARRIVALS_PER = ArrivalsPer) {
        All = "all",
        Adapter = "adapter",
    }
}
