//! Rows of what a router sees of the replicas, and of the constants of routers that are called by the names of their systems.

use crate::parameters::builder::{choice, number, row, whole};
use crate::parameters::choices;
use crate::parameters::conditions::{APPROXIMATE, HOST_CACHE, INDEXED, above, all, any, when_in};
use crate::parameters::id::Id;
use crate::parameters::kind::{Condition, Parameter};

/// An index that believes something: without prefix caching there is nothing to tell of.
const MATCHES: Condition = any(&[APPROXIMATE, when_in(Id::PrefixCache, &["true"])]);
const LLMD: &[Condition] = &[when_in(Id::Router, &["llmd"])];
const LLMD_WEIGHTED: &[Condition] = &[when_in(Id::Router, &["llmd_weighted"])];
const DYNAMO: &[Condition] = &[when_in(Id::Router, &["dynamo_kv"])];
const SGLANG: &[Condition] = &[when_in(Id::Router, &["sglang_cache_aware"])];
const AIBRIX: &[Condition] = &[when_in(Id::Router, &["aibrix_prefix_cache"])];
const VTC: &[Condition] = &[when_in(Id::Router, &["aibrix_vtc"])];
/// Dynamo's rule counts requests only where they have a weight.
const DYNAMO_COUNTS: Condition =
    all(&[when_in(Id::Router, &["dynamo_kv"]), above(Id::DynamoActiveWeight, 0.0)]);

// A row is a paragraph of two to five lines; formatted it would be fifteen.
#[rustfmt::skip]
pub(super) const ROWS: &[(Id, Parameter)] = &[
    (Id::RouterIndex, row("fleet.router_index.kind", "rik", "fleet", choice(choices::INDEX_KIND))
        .when(&[when_in(Id::Router, INDEXED)])
        .doc("Router's index", "What the router believes that each replica has cached. Approximate: what it sent there itself, whatever became of it. Precise: what the replicas' events of stored and removed blocks say, some time later (Dynamo's default). True: what is cached at that moment, which no router can know: compare with it to see what not knowing costs.")),
    (Id::IndexTtl, row("fleet.router_index.ttl_s", "rit", "fleet", number(0.0, 1_000_000.0, 0.0)).unit("s").linear(0.0, 600.0, 1.0)
        .when(&[APPROXIMATE])
        .doc("Index lifetime", "A block that was sent to a replica and not again for so long is believed to be gone; 0 = never. Dynamo without events: 120 s; AIBrix: 20 minutes.")),
    (Id::IndexBlocks, row("fleet.router_index.blocks", "rib", "fleet", whole(1.0, 100_000_000.0, 31_250.0)).unit("blocks").log(100.0, 1_000_000.0, 1.0)
        .when(&[APPROXIMATE])
        .doc("Index size", "Most blocks that the router remembers of one replica, the least recently sent ones are forgotten. llm-d: 31,250; AIBrix: 200,000; the trie of production-stack's prefixaware forgets nothing.")),
    (Id::IndexBlockTokens, row("fleet.router_index.block_tokens", "ribt", "fleet", whole(1.0, 100_000.0, 64.0)).unit("tokens").log(1.0, 1024.0, 1.0)
        .when(&[any(&[APPROXIMATE, when_in(Id::Router, &["dynamo_kv"])])])
        .doc("Index block", "Tokens of a block in the router's own index; a prompt matches in whole blocks. Dynamo counts its costs in such blocks.")),
    (Id::IndexEviction, row("fleet.router_index.eviction_interval_s", "rie", "fleet", number(0.0, 1_000_000.0, 0.0)).unit("s").linear(0.0, 300.0, 1.0)
        .when(&[APPROXIMATE])
        .doc("Eviction interval", "How often the size of the index is enforced; 0 = whenever a prompt is added. SGLang's router does it every 30 s and may remember more in between.")),
    (Id::EventDelay, row("fleet.router_index.event_delay_ms", "rid", "fleet", number(0.0, 3_600_000.0, 2.0)).unit("ms").log(0.1, 10_000.0, 0.1)
        .when(&[when_in(Id::RouterIndex, &["precise"]), when_in(Id::PrefixCache, &["true"]), when_in(Id::SchedulerKind, &["vllm_v1"])])
        .doc("Event delay", "From a change of a replica's cache until the router knows of it. vLLM v1 tells of its blocks; SGLang's radix tree tells of none here.")),
    (Id::HostWeight, row("fleet.router_index.host_weight", "rih", "fleet", number(0.0, 1.0, 0.8)).linear(0.0, 1.0, 0.05)
        .when(&[when_in(Id::RouterIndex, &["precise", "true"]), HOST_CACHE])
        .doc("Weight of a host block", "What a block of the prompt in a replica's host memory counts beside one in its KV cache; 0 = the router does not see host memory. llm-d: 0.8; Dynamo: 0.75.")),
    (Id::RouterCounts, row("fleet.router_view.counts", "rvc", "fleet", choice(choices::COUNT_SOURCE))
        .when(&[any(&[
            when_in(Id::Router, &["least_outstanding", "power_of_two", "adapter_affinity", "prefix_affinity", "sglang_cache_aware", "aibrix_prefix_cache", "aibrix_vtc", "lmetric", "consistent_hash"]),
            DYNAMO_COUNTS,
        ])])
        .doc("Requests counted by", "Whose number of requests of a replica the router compares: its own, of the requests that it sent and that have not ended; or the replica's, as it was at the last scrape.")),
    (Id::RouterScrape, row("fleet.router_view.scrape_ms", "rvs", "fleet", number(0.0, 3_600_000.0, 50.0)).unit("ms").log(1.0, 60_000.0, 1.0)
        .when(&[any(&[when_in(Id::Router, &["fewest_waiting", "least_kv", "llmd_weighted"]), when_in(Id::RouterCounts, &["scraped"])])])
        .doc("Scrape interval", "How often the router reads the metrics of each replica (waiting and running requests, KV memory); in between it decides by what it read last. 0 = the present. llm-d and AIBrix: 50 ms; production-stack: 30 s.")),
    (Id::RouterShards, row("fleet.router_view.shards", "rvh", "fleet", whole(1.0, 256.0, 1.0)).linear(1.0, 16.0, 1.0)
        .when(&[any(&[
            when_in(Id::Router, &["round_robin", "adapter_affinity", "prefix_affinity", "llmd", "dynamo_kv", "lmetric", "lpwl", "aibrix_vtc", "ps_kvaware", "ps_session"]),
            when_in(Id::RouterCounts, &["own"]),
            APPROXIMATE,
        ])])
        .doc("Routers", "How many routers share the requests in turn. Each knows its own requests only; events of caches and metrics reach all of them.")),

    (Id::LlmdAffinity, row("fleet.routers.llmd.affinity_threshold", "rla", "fleet", number(0.0, 1.0, 0.8)).linear(0.0, 1.0, 0.01)
        .when(&[when_in(Id::Router, &["llmd"]), MATCHES])
        .doc("Affinity threshold", "A replica that has at least this share of the prompt is preferred.")),
    (Id::LlmdExploration, row("fleet.routers.llmd.exploration", "rle", "fleet", number(0.0, 1.0, 0.0)).linear(0.0, 1.0, 0.01)
        .when(&[when_in(Id::Router, &["llmd"]), MATCHES])
        .doc("Exploration", "Probability that a request is routed without that preference.")),
    (Id::LlmdPeakPrefill, row("fleet.routers.llmd.peak_prefill_tokens_per_s", "rlp", "fleet", number(1.0, 100_000_000.0, 15_928.0)).unit("tokens/s").log(1000.0, 1_000_000.0, 1.0)
        .when(&[when_in(Id::Router, &["llmd"]), MATCHES])
        .doc("Peak prefill rate", "Prompt tokens that a replica is taken to compute in a second, from which the router estimates the time to first token.")),
    (Id::LlmdTtftPenalty, row("fleet.routers.llmd.max_ttft_penalty_ms", "rlt", "fleet", number(0.0, 10_000_000.0, 18_000.0)).unit("ms").log(1.0, 100_000.0, 1.0)
        .when(&[when_in(Id::Router, &["llmd"]), MATCHES])
        .doc("Largest TTFT penalty", "The preference is dropped where the best preferred replica would begin later than the best other one by more than this.")),
    (Id::LlmdLoadTokens, row("fleet.routers.llmd.max_load_tokens", "rll", "fleet", number(1.0, 1e12, 4_194_304.0)).unit("tokens").log(1000.0, 10_000_000.0, 1.0)
        .when(LLMD)
        .doc("Full load", "Replicas with at least this many prompt tokens to compute count as equally loaded.")),
    (Id::LlmdPrefixWeight, row("fleet.routers.llmd_weighted.prefix_weight", "rwp", "fleet", number(0.0, 1000.0, 3.0)).linear(0.0, 10.0, 0.1)
        .when(&[when_in(Id::Router, &["llmd_weighted"]), MATCHES])
        .doc("Prefix weight", "Weight of the share of the prompt that is cached.")),
    (Id::LlmdQueueWeight, row("fleet.routers.llmd_weighted.queue_weight", "rwq", "fleet", number(0.0, 1000.0, 2.0)).linear(0.0, 10.0, 0.1)
        .when(LLMD_WEIGHTED)
        .doc("Queue weight", "Weight of the waiting queue: 1 for the shortest, 0 for the longest.")),
    (Id::LlmdKvWeight, row("fleet.routers.llmd_weighted.kv_weight", "rwk", "fleet", number(0.0, 1000.0, 2.0)).linear(0.0, 10.0, 0.1)
        .when(LLMD_WEIGHTED)
        .doc("KV weight", "Weight of the share of KV memory that is not in use.")),
    (Id::DynamoOverlapCredit, row("fleet.routers.dynamo_kv.overlap_credit", "rdo", "fleet", number(0.0, 1000.0, 1.0)).linear(0.0, 4.0, 0.05)
        .when(&[when_in(Id::Router, &["dynamo_kv"]), MATCHES])
        .doc("Overlap credit", "How many blocks to compute one cached block takes off; 0 = the cache is not looked at.")),
    (Id::DynamoPrefillScale, row("fleet.routers.dynamo_kv.prefill_scale", "rdp", "fleet", number(0.0, 1000.0, 1.0)).linear(0.0, 4.0, 0.05)
        .when(DYNAMO)
        .doc("Prefill scale", "What a block to compute counts beside a block in use.")),
    (Id::DynamoActiveWeight, row("fleet.routers.dynamo_kv.active_weight", "rda", "fleet", number(0.0, 1_000_000.0, 0.0)).linear(0.0, 100.0, 1.0)
        .when(DYNAMO)
        .doc("Request weight", "What a request counts beside a block in use.")),
    (Id::DynamoTemperature, row("fleet.routers.dynamo_kv.temperature", "rdt", "fleet", number(0.0, 1000.0, 0.0)).linear(0.0, 2.0, 0.05)
        .when(DYNAMO)
        .doc("Router temperature", "0 = the replica with the least cost; above, it is drawn, the more evenly the higher.")),
    (Id::SglangCacheThreshold, row("fleet.routers.sglang_cache_aware.cache_threshold", "rsc", "fleet", number(0.0, 1.0, 0.5)).linear(0.0, 1.0, 0.01)
        .when(&[when_in(Id::Router, &["sglang_cache_aware"]), MATCHES])
        .doc("Cache threshold", "A match decides if it is more than this share of the prompt (--cache-threshold).")),
    (Id::SglangBalanceAbs, row("fleet.routers.sglang_cache_aware.balance_abs_threshold", "rsa", "fleet", number(0.0, 1_000_000.0, 32.0)).unit("requests").linear(0.0, 128.0, 1.0)
        .when(SGLANG)
        .doc("Balance, absolute", "Loads are out of balance if the largest is above the least by more than this and also by more than the ratio below (--balance-abs-threshold).")),
    (Id::SglangBalanceRel, row("fleet.routers.sglang_cache_aware.balance_rel_threshold", "rsr", "fleet", number(0.0, 1000.0, 1.1)).linear(1.0, 4.0, 0.05)
        .when(SGLANG)
        .doc("Balance, relative", "How many times the least load the largest may be (--balance-rel-threshold).")),
    (Id::SglangMiss, row("fleet.routers.sglang_cache_aware.miss", "rsm", "fleet", choice(choices::MISS_TARGET))
        .when(SGLANG)
        .doc("Without a match", "Where a prompt goes that matches nowhere well: to the replica with the smallest tree, as documented, or to the one with the fewest requests.")),
    (Id::AibrixImbalance, row("fleet.routers.aibrix_prefix_cache.imbalance", "rai", "fleet", number(0.0, 1_000_000.0, 8.0)).unit("requests").linear(0.0, 64.0, 1.0)
        .when(AIBRIX)
        .doc("Imbalance", "Where the numbers of requests differ by more than this, the least loaded replica is taken, whatever is cached.")),
    (Id::AibrixDeviations, row("fleet.routers.aibrix_prefix_cache.deviations", "rad", "fleet", number(0.0, 1000.0, 1.0)).linear(0.0, 4.0, 0.1)
        .when(&[when_in(Id::Router, &["aibrix_prefix_cache"]), MATCHES])
        .doc("Deviations", "How many standard deviations above the mean number of requests a replica with a match may have.")),
    (Id::VtcFairnessWeight, row("fleet.routers.aibrix_vtc.fairness_weight", "rvf", "fleet", number(0.0, 1000.0, 0.5)).linear(0.0, 2.0, 0.05)
        .when(VTC)
        .doc("Fairness weight", "Weight of the distance between a replica's number and the client's place, which rises with the tokens that the client was given.")),
    (Id::VtcUtilizationWeight, row("fleet.routers.aibrix_vtc.utilization_weight", "rvu", "fleet", number(0.0, 1000.0, 0.5)).linear(0.0, 2.0, 0.05)
        .when(VTC)
        .doc("Utilization weight", "Weight of the replica's load.")),
    (Id::VtcMaxLoad, row("fleet.routers.aibrix_vtc.max_load", "rvm", "fleet", number(1.0, 1_000_000.0, 100.0)).unit("requests").linear(1.0, 500.0, 1.0)
        .when(VTC)
        .doc("Full load", "Requests with which a replica counts as full.")),
    (Id::VtcWindow, row("fleet.routers.aibrix_vtc.window_s", "rvw", "fleet", number(0.001, 1_000_000.0, 300.0)).unit("s").log(1.0, 3600.0, 1.0)
        .when(VTC)
        .doc("Window", "For how long tokens that a client was given count.")),
    (Id::PsKvawareThreshold, row("fleet.routers.ps_kvaware.threshold", "rkt", "fleet", number(0.0, 10_000_000.0, 2000.0)).unit("tokens").linear(0.0, 10_000.0, 10.0)
        .when(&[when_in(Id::Router, &["ps_kvaware"]), MATCHES])
        .doc("Missing tokens", "The longest match decides where no more tokens of the prompt than this are missing; otherwise the session does.")),
    (Id::HashBound, row("fleet.routers.consistent_hash.bound", "rhb", "fleet", number(1.0, 1000.0, 1.25)).linear(1.0, 4.0, 0.05)
        .when(&[when_in(Id::Router, &["consistent_hash"])])
        .doc("Load bound", "How many times the mean number of requests a replica may have before the next one on the ring is taken.")),
];
