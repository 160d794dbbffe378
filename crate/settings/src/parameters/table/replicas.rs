//! Rows of GPUs, replicas, router, KV cache and adapter memory.

use crate::parameters::builder::{choice, number, row, whole};
use crate::parameters::choices::{self, GPU_NAMES, MODEL_NAMES};
use crate::parameters::conditions::{
    APART, BALANCES, BY_ISL, BY_OFFLOADING, BY_PREFILL_LOAD, BY_SIMPLE_CPU, COUNT_CHANGES, FORMATS,
    FORMS_AHEAD, HANDS_OVER, HARDWARE, HAS_ADAPTERS, HOST_CACHE, IN_LOCKSTEP, LINEAR, ON_HARDWARE, PAGED,
    SHARES_EXPERTS, SLOTS, SPLITS, SWAPS, above, any, when_in, when_not_in,
};
use crate::parameters::id::Id;
use crate::parameters::kind::{Kind, Parameter};

// A row is a paragraph of two to five lines; formatted it would be fifteen.
#[rustfmt::skip]
pub(super) const ROWS: &[(Id, Parameter)] = &[
    (Id::FleetGpu, row("fleet.gpu", "gpu", "fleet", Kind::Choice(&GPU_NAMES)).usual("h100_sxm")
        .when(HARDWARE)
        .doc("GPU", "GPU type of the replicas; “your own” is a GPU whose figures you set (gpu.*), for the roofline.")),
    (Id::FleetModel, row("fleet.model", "mdl", "fleet", Kind::Choice(&MODEL_NAMES)).usual("qwen3-8b")
        .when(HARDWARE)
        .doc("Model", "The model that the replicas serve; “your own” is a model whose dimensions you set under Your own model, or that come from a config.json of Hugging Face.")),
    (Id::TensorParallel, row("fleet.tensor_parallel", "tp", "fleet", whole(1.0, 64.0, 1.0)).unit("GPUs").linear(1.0, 8.0, 1.0)
        .when(HARDWARE)
        .doc("Tensor parallel", "How many GPUs share every layer; two all-reduces per layer.")),
    (Id::PipelineParallel, row("fleet.pipeline_parallel", "pp", "fleet", whole(1.0, 64.0, 1.0)).linear(1.0, 8.0, 1.0)
        .when(HARDWARE)
        .doc("Pipeline stages", "Into how many stages the layers are cut; each has its own GPUs and sends its activations to the next.")),
    (Id::PeerAccess, row("fleet.peer_access", "p2p", "fleet", Kind::Flag(true))
        .when(&[when_in(Id::CostKind, &["roofline", "kernels"]), above(Id::TensorParallel, 1.0)])
        .doc("Peer access", "GPUs of a node read each other's memory, over NVLink or PCIe. Off: all-reduces go through the memory of the host, as where a host of PCIe cards does not allow it (nvidia-smi topo -p2p r shows it).")),
    (Id::FleetNetwork, row("fleet.network", "net", "fleet", choice(choices::NodeNetwork::ID))
        .when(&[
            when_in(Id::CostKind, &["profile"]),
            when_in(Id::FleetGpu, &["a100_80_sxm", "h100_sxm"]),
            any(&[above(Id::TensorParallel, 1.0), above(Id::PipelineParallel, 1.0)]),
        ])
        .doc("Node network", "Where the times of messages between GPUs were taken: in the node of the profile (a DGX of 8 GPUs with NVLink between all of them), or in one of 4 GPUs with NVLink between two each, for 2 or 4 GPUs a layer.")),
    (Id::Weights, row("fleet.weights", "wt", "fleet", choice(choices::WEIGHTS))
        .when(FORMATS)
        .doc("Weights", "Format of the layers' matrices. Products run at FP8 where weights are FP8 and the GPU has it, else at 16 bits.")),
    (Id::Unquantized, row("fleet.unquantized_share", "unq", "fleet", number(0.0, 1.0, 0.0)).linear(0.0, 1.0, 0.01)
        .when(&[when_in(Id::CostKind, &["roofline", "kernels"]), when_not_in(Id::Weights, &["bf16"])])
        .doc("Share at 16 bits", "Which share of the layers' matrices stays at 16 bits though the weights are in a smaller format (modules_to_not_convert, ignore, exclude_modules); its default is that of the model's own checkpoint. Embedding, norms and routers always stay.")),
    (Id::QuantizedHead, row("fleet.quantized_head", "qhd", "fleet", Kind::Flag(false))
        .when(&[when_in(Id::CostKind, &["roofline", "kernels"]), when_not_in(Id::Weights, &["bf16"])])
        .doc("Quantized head", "Whether the output head has the format of the layers' matrices; most checkpoints keep it at 16 bits.")),
    (Id::KvFormat, row("fleet.kv_format", "kvf", "fleet", choice(choices::KV_FORMAT))
        .when(FORMATS)
        .doc("KV format", "Format of cached keys and values.")),
    (Id::KvPool, row("fleet.kv_pool", "kvp", "fleet", choice(choices::KvPool::ID))
        .when(HARDWARE)
        .doc("KV memory", "What weights, activations and what else the server takes leave of the GPU's memory; or the memory pool that you set.")),
    (Id::MemoryPlan, row("fleet.memory_plan", "mpl", "fleet", choice(choices::MemoryPlan::ID))
        .when(&[when_in(Id::KvPool, &["planned"])])
        .doc("Memory plan", "As the engine accounts: vLLM v1 as it does when it starts (weights, activations of its profiling run, CUDA graphs, LoRA slots), SGLang by its static share for weights and KV cache, TensorRT-LLM by its share of what weights and activations leave, other engines with a margin for what is not counted; or as Vidur plans: the layers' matrices only, and whole requests of the longest length.")),
    (Id::VllmVersion, row("fleet.vllm_version", "vve", "fleet", choice(choices::VLLM_VERSION))
        .when(&[when_in(Id::SchedulerKind, &["vllm_v1"]), when_in(Id::KvPool, &["planned"]), when_in(Id::MemoryPlan, &["whole"])])
        .doc("vLLM version", "Whose accounting of memory is followed. From 0.20 on vLLM takes .92 of the memory in place of .90 and counts its CUDA graphs; through 0.16 it sets apart 9.5 copies of the logits of all requests for sampling, later 3.5. The scheduler is that of 0.33 throughout.")),
    (Id::MemoryMargin, row("fleet.memory_margin", "mmg", "fleet", number(0.0, 0.9, 0.08)).linear(0.0, 0.5, 0.01)
        .when(&[
            when_in(Id::KvPool, &["planned"]),
            any(&[when_not_in(Id::MemoryPlan, &["whole"]), when_in(Id::KvCacheGib, &["0"])]),
        ])
        .doc("Memory margin", "Share of each GPU's memory that is not used; for vLLM v1 it is 1 - gpu_memory_utilization, whose default is .92 (.90 before version 0.20); for SGLang 1 - mem_fraction_static, whose default follows from the GPU, the GPUs of a replica and the chunked prefill size. For TensorRT-LLM it is 1 - free_gpu_memory_fraction (.90 by default), a share of what weights and activations leave free.")),
    (Id::KvCacheGib, row("fleet.kv_cache_gib", "kvg", "fleet", number(0.0, 100_000.0, 0.0)).unit("GiB").linear(0.0, 128.0, 0.5)
        .when(&[when_in(Id::MemoryPlan, &["whole"])])
        .doc("KV cache size", "Memory of each GPU for the KV cache (vLLM's --kv-cache-memory-bytes, which is per GPU, too); the number of tokens follows from the model's bytes per token, and the memory margin is not used. Amounts such as 5g (5,000,000,000 bytes), 512m or 5GiB can be typed, too. 0 = planned.")),
    (Id::Replicas, row("fleet.replicas", "rep", "fleet", whole(1.0, 1024.0, 1.0)).linear(1.0, 16.0, 1.0)
        .doc("Replicas", "How many equal servers share the traffic; each has its own waiting queue and memory pool.")),
    (Id::DataParallel, row("fleet.data_parallel_size", "dps", "fleet", whole(1.0, 256.0, 1.0)).linear(1.0, 16.0, 1.0)
        .doc("Data-parallel ranks", "Engines of a replica, each with GPUs, a waiting queue and a KV cache of its own (--data-parallel-size). Ranks of a dense model are independent; those of a mixture of experts share the experts and run every forward pass together.")),
    (Id::RankPasses, row("fleet.rank_passes", "dpp", "fleet", choice(choices::RankPasses::ID))
        .when(&[IN_LOCKSTEP])
        .doc("Forward passes of ranks", "Together: a pass takes as long as the slowest rank, and a rank without a batch runs a dummy one, as vLLM's ranks of a mixture of experts do, whose experts are spread over all of them. Apart: each rank runs by itself and has all weights, as those of a dense model. The default is by the model.")),
    (Id::SyncInterval, row("fleet.dp_sync_interval", "dsi", "fleet", whole(1.0, 100_000.0, 16.0)).unit("passes").linear(1.0, 64.0, 1.0)
        .when(&[IN_LOCKSTEP, when_in(Id::RankPasses, &["together"])])
        .doc("Sync interval", "Passes between two at which the ranks ask each other whether any has work (vLLM's dp_sync_interval; 32 before 0.33). Until then idle ranks run dummy batches.")),
    (Id::RankChoice, row("fleet.rank_choice", "drc", "fleet", choice(choices::RANK_CHOICE))
        .when(&[above(Id::DataParallel, 1.0)])
        .doc("Choice of the rank", "Which rank of a replica gets a request: by vLLM 0.33's rule from its front end's own requests and the coordinator's counts, which are up to 100 ms old; by the rule before it; in turn; to the rank with the fewest requests (SGLang's total_requests); or by the router, for which every rank is an address of its own (--data-parallel-external-lb).")),
    (Id::ApiServers, row("fleet.api_server_count", "asv", "fleet", whole(0.0, 256.0, 0.0)).linear(0.0, 16.0, 1.0)
        .when(&[above(Id::DataParallel, 1.0), when_not_in(Id::RankChoice, &["external"])])
        .doc("API servers", "Front ends of a replica that choose ranks by themselves and learn of each other's requests through the coordinator alone (--api-server-count). 0: as many as ranks, vLLM's default.")),
    (Id::ExpertParallel, row("fleet.enable_expert_parallel", "eep", "fleet", Kind::Flag(false))
        .when(&[when_in(Id::CostKind, &["roofline", "kernels"]), any(&[above(Id::DataParallel, 1.0), above(Id::TensorParallel, 1.0)])])
        .doc("Expert parallelism", "Whether each GPU has whole experts, in place of a part of every expert (--enable-expert-parallel).")),
    (Id::AllToAll, row("fleet.all2all_backend", "a2a", "fleet", choice(choices::ALL_TO_ALL))
        .when(&[when_in(Id::CostKind, &["roofline", "kernels"]), IN_LOCKSTEP, when_in(Id::RankPasses, &["together"])])
        .doc("All-to-all", "How tokens get to the experts of other ranks and back: all ranks gather all tokens and scatter the sums (vLLM's default), or DeepEP's kernels, those for few tokens or those for many, as timed within a node of Hopper or Blackwell GPUs; on other GPUs they are gathered.")),
    (Id::Eplb, row("fleet.enable_eplb", "epb", "fleet", Kind::Flag(false))
        .when(&[SHARES_EXPERTS])
        .doc("Rearrange experts by load (EPLB)", "Whether experts are put on GPUs by their loads (--enable-eplb). Loads follow the power law of the measured tables, and stay; the roofline takes them as even.")),
    (Id::EplbRedundant, row("fleet.eplb.num_redundant_experts", "epr", "fleet", whole(0.0, 4096.0, 0.0)).unit("experts").linear(0.0, 64.0, 1.0)
        .when(&[BALANCES])
        .doc("Redundant experts", "Further copies of the most loaded experts of each layer, which take memory; the GPUs share all evenly.")),
    (Id::EplbInterval, row("fleet.eplb.step_interval", "epi", "fleet", whole(1.0, 1_000_000.0, 3000.0)).unit("passes").log(10.0, 10_000.0, 1.0)
        .when(&[BALANCES])
        .doc("Passes between rearrangements", "Dummy passes included; the first rearrangement comes after a quarter of them.")),
    (Id::EplbAsync, row("fleet.eplb.use_async", "epa", "fleet", Kind::Flag(true))
        .when(&[BALANCES])
        .doc("Move experts beside passes", "Whether weights move beside passes, at no cost here. Otherwise a pass waits until all have moved.")),
    (Id::EplbRate, row("fleet.eplb.gb_per_s", "epg", "fleet", number(0.01, 10_000.0, 12.0)).unit("GB/s").log(0.1, 1000.0, 0.1)
        .when(&[BALANCES, when_in(Id::EplbAsync, &["false"])])
        .doc("Rate of moving experts", "How fast each GPU gets the weights of experts; nearly all move. The default was measured on 8 H100 (vLLM pull request 28369).")),
    (Id::Pools, row("fleet.pools", "pls", "fleet", Kind::Text { most: 4000 })
        .doc("More pools", "Replicas that differ from those above, behind the same router: a text for each pool, with a bar between pools and a comma between settings. Settings that a pool does not name are as above; without a number of replicas it has one.")),
    (Id::Disaggregation, row("fleet.disaggregation.kind", "dis", "fleet", choice(choices::DisaggregationKind::ID))
        .when(&[SPLITS])
        .doc("Prefill and decode apart", "Off: every replica serves whole requests. NIXL: prefill replicas compute prompts and keep their KV blocks, and decode replicas pull these and go on, as vLLM's NixlConnector does.")),
    (Id::PrefillReplicas, row("fleet.disaggregation.prefill_replicas", "dpn", "fleet", whole(0.0, 1023.0, 1.0)).linear(0.0, 15.0, 1.0)
        .when(&[APART])
        .doc("Prefill replicas", "How many of the replicas compute prompts; the others decode, one at least. 0: every replica serves whole requests. The number of GPUs stays.")),
    (Id::DecodePool, row("fleet.disaggregation.decode", "ddp", "fleet", Kind::Text { most: 1000 })
        .when(&[HANDS_OVER])
        .doc("Decode replicas differ in", "Settings in which decode replicas differ from prefill replicas, as PATH=VALUE with commas between them: another GPU, tensor parallelism, limits. Scheduler, model, KV format and block size are the same.")),
    (Id::DisaggregationPolicy, row("fleet.disaggregation.policy", "dpo", "fleet", choice(choices::DisaggregationPolicy::ID))
        .when(&[HANDS_OVER])
        .doc("Which prompts go to prefill", "All, none, those of which the decode replica has at least so many tokens not cached (llm-d, BLIS), or by Dynamo's rules: unless what is not cached is short (ISL bounding), unless the prefill replica has much to do (prefill load), or unless either holds. A request that stays is served by the decode replica alone. What is cached is known as it is at the moment.")),
    (Id::DisaggregationThreshold, row("fleet.disaggregation.threshold", "dth", "fleet", whole(0.0, 10_000_000.0, 16.0)).unit("tokens").log(1.0, 100_000.0, 1.0)
        .when(&[HANDS_OVER, when_in(Id::DisaggregationPolicy, &["threshold"])])
        .doc("Threshold", "From so many prompt tokens on that the decode replica has not cached, a prefill replica computes the prompt. BLIS takes 16; agents with long shared prompts 20,000.")),
    (Id::IslTokens, row("fleet.disaggregation.isl_tokens", "dit", "fleet", whole(0.0, 10_000_000.0, 2048.0)).unit("tokens").log(16.0, 100_000.0, 1.0)
        .when(&[BY_ISL])
        .doc("Short prompt", "A request stays where fewer prompt tokens than this, and a smaller share of the prompt than the next setting, are not cached.")),
    (Id::IslRatio, row("fleet.disaggregation.isl_ratio", "dir", "fleet", number(0.0, 1.0, 0.7)).linear(0.0, 1.0, 0.05)
        .when(&[BY_ISL])
        .doc("Small share", "The share of the prompt that is not cached from which on a prefill replica computes it.")),
    (Id::PrefillBusy, row("fleet.disaggregation.prefill_busy", "dpb", "fleet", number(0.0, 1000.0, 1.0)).unit("budgets").linear(0.0, 8.0, 0.25)
        .when(&[BY_PREFILL_LOAD])
        .doc("Busy prefill", "A request stays where prompts of more than so many token budgets wait at the prefill replica that was chosen.")),
    (Id::DecodeBusy, row("fleet.disaggregation.decode_busy", "ddb", "fleet", number(0.0, 1.0, 0.0)).linear(0.0, 1.0, 0.05)
        .when(&[HANDS_OVER, when_not_in(Id::DisaggregationPolicy, &["always", "never"])])
        .doc("Full decode memory", "Above this use of its KV memory a decode replica keeps no request for itself. 0: never.")),
    (Id::PrefillRouter, row("fleet.disaggregation.prefill_router", "drt", "fleet", choice(choices::PrefillRouter::ID))
        .when(&[HANDS_OVER, above(Id::PrefillReplicas, 1.0)])
        .doc("Router of prefill", "Which prefill replica computes a prompt. The decode replica is chosen first, by the router of the fleet.")),
    (Id::TransferRate, row("fleet.transfer.gb_per_s", "tgb", "fleet", number(0.01, 10_000.0, 50.0)).unit("GB/s").log(0.5, 1000.0, 0.01)
        .when(&[HANDS_OVER])
        .doc("Link of a GPU", "Gigabytes a second between the GPUs of two replicas, of each GPU: 8 x 200 Gbit/s RoCE 18 a GPU as measured, one 400 Gbit/s port 50, NVLink across a GB200 rack 450, 25 Gbit/s Ethernet 2.5.")),
    (Id::TransferBase, row("fleet.transfer.base_ms", "tbm", "fleet", number(0.0, 10_000.0, 0.4)).unit("ms").linear(0.0, 10.0, 0.1)
        .when(&[HANDS_OVER])
        .doc("Handshake", "From the beginning of a pull to its first byte; it takes no part of the link.")),
    (Id::TransferSharing, row("fleet.transfer.sharing", "tsh", "fleet", choice(choices::TransferSharing::ID))
        .when(&[HANDS_OVER])
        .doc("Links are shared", "Max-min fair: pulls that leave one prefill replica, or come to one decode replica, share its link. None: each takes as long as alone, as AISimulate has it.")),
    (Id::DecodeRoute, row("fleet.disaggregation.route_ms", "drm", "fleet", number(0.0, 10_000.0, 0.5)).unit("ms").linear(0.0, 10.0, 0.1)
        .when(&[HANDS_OVER])
        .doc("Way through the router", "From the answer of the prefill replica to the request at the decode replica.")),
    (Id::KvLoadFailure, row("fleet.disaggregation.kv_load_failure_policy", "dlf", "fleet", choice(choices::KvLoadFailure::ID))
        .when(&[HANDS_OVER, above(Id::FailingLoads, 0.0)])
        .doc("After a failed pull", "A request whose KV blocks could not all be pulled ends with an error, or the decode replica computes what is missing (vLLM's kv_load_failure_policy).")),
    (Id::FailingLoads, row("fleet.disaggregation.failing_loads", "dfl", "fleet", number(0.0, 1.0, 0.0)).linear(0.0, 0.5, 0.01)
        .when(&[HANDS_OVER])
        .doc("Failed pulls", "The share of pulls that fail at one of their blocks, drawn by the seed.")),
];

/// Rows of the router, KV cache and adapter memory.
#[rustfmt::skip]
pub(super) const SERVING: &[(Id, Parameter)] = &[
    (Id::Router, row("fleet.router", "rt", "fleet", choice(choices::ROUTER))
        .when(&[any(&[
            above(Id::Replicas, 1.0),
            when_not_in(Id::Pools, &[""]),
            COUNT_CHANGES,
        ])])
        .doc("Router", "Load-balancing policy; requests do not migrate. One with the name of a system decides by that system's rule, and by what its router knows. Prefix affinity takes the replica that was sent the longest matching prefix, adapter affinity one that was sent the adapter, unless it is overloaded; what many requests share is kept on many replicas.")),
    (Id::ChunkTokens, row("scheduler.chunk_tokens", "chk", "queue", whole(1.0, 1_000_000.0, 512.0)).unit("tokens").log(16.0, 8192.0, 1.0)
        .when(&[when_in(Id::SchedulerKind, &["sarathi"])])
        .doc("Chunk size", "Chunked prefill: decode tokens and chunks of prompts together are at most this many tokens an iteration.")),

    (Id::BlockSize, row("scheduler.block_size", "blk", "memory", whole(1.0, 4096.0, 16.0)).unit("tokens").log(1.0, 256.0, 1.0)
        .when(&[when_in(Id::SchedulerKind, &["static", "orca", "vllm", "sarathi", "vllm_v1", "sglang", "trtllm"])])
        .doc("KV block size", "KV memory is allocated in blocks of this many tokens; S-LoRA and LightLLM allocate it token by token, and so does SGLang by default (--page-size 1). TensorRT-LLM's blocks have 32 (tokens_per_block).")),
    (Id::Allocation, row("scheduler.allocation", "alc", "memory", choice(choices::Allocation::ID))
        .when(&[when_in(Id::SchedulerKind, PAGED)])
        .doc("Allocation", "How KV blocks are allocated: as requests grow, with or without a share left free at an admission; or all that the longest output may need at once, so that no request is preempted. vLLM v1 allocates as requests grow.")),
    (Id::Watermark, row("scheduler.watermark", "wmk", "memory", number(0.0, 1.0, 0.0)).linear(0.0, 0.2, 0.005)
        .when(&[any(&[when_in(Id::Allocation, &["watermark"]), when_in(Id::SchedulerKind, &["vllm_v1"])])])
        .doc("Watermark", "The share of KV blocks that an admission leaves free for the outputs of the running requests. vLLM v1's default is 0.")),
    (Id::Preemption, row("scheduler.preemption", "evi", "memory", choice(choices::Preemption::ID))
        .when(&[when_in(Id::Allocation, &["watermark", "on_demand"])])
        .doc("Preemption", "What becomes of a preempted request: its prompt and output so far are recomputed, or swapped to the host and back, or the output is generated again token by token (where prompts are prefilled in chunks). vLLM v1 recomputes.")),
    (Id::SwapRate, row("fleet.swap_gb_per_s", "swr", "memory", number(0.001, 100_000.0, 31.5)).unit("GB/s").log(1.0, 1000.0, 0.5)
        .when(SWAPS)
        .doc("Link to the host", "How fast each GPU copies KV blocks to its host and back; PCIe 4.0 with 16 lanes carries 31.5 GB/s.")),
    (Id::SwapSpace, row("fleet.swap_space_gib", "sws", "memory", number(0.0, 1_000_000.0, 4.0)).unit("GiB").linear(0.0, 64.0, 0.5)
        .when(SWAPS)
        .doc("Swap space", "Host memory for preempted requests, for each GPU (vLLM: 4 GiB); requests that do not fit are recomputed.")),
    (Id::KvBytesPerToken, row("fleet.kv_bytes_per_token", "kvb", "memory", whole(1.0, 100_000_000.0, 524_288.0)).unit("bytes").log(10_000.0, 2_000_000.0, 1.0)
        .when(&[any(&[when_in(Id::Preemption, &["swap"]), HOST_CACHE]), when_in(Id::CostKind, &["linear"])])
        .doc("KV bytes a token", "Keys and values of one token on one GPU; a 7B Llama has 2 x 32 layers x 4096 numbers of 2 bytes.")),
    (Id::PrefixCache, row("scheduler.prefix_cache", "pfx", "memory", Kind::Flag(true))
        .also(&["scheduler.enable_prefix_caching"])
        .when(FORMS_AHEAD)
        .doc("Prefix caching", "Full KV blocks of prompts and outputs are kept, for requests with shared prefixes, where the traffic has prefix data, and for preempted requests (vLLM's --enable-prefix-caching); SGLang keeps them in a radix tree (off: --disable-radix-cache); TensorRT-LLM keeps full blocks (enable_block_reuse).")),
    (Id::HostCacheGib, row("fleet.host_cache.gib", "hcg", "memory", number(0.0, 1_000_000.0, 0.0)).unit("GiB").linear(0.0, 512.0, 4.0)
        .also(&["fleet.kv_offloading_size"])
        .when(&[when_in(Id::SchedulerKind, &["vllm_v1"]), when_in(Id::PrefixCache, &["true"])])
        .doc("Host KV cache", "Host memory of a replica, of all its GPUs together, in which KV blocks are kept beyond their time on the GPU (vLLM's --kv-offloading-size). A request whose blocks are there loads them and does not compute them again. 0: none.")),
    (Id::HostCacheConnector, row("fleet.host_cache.connector", "hcc", "memory", choice(choices::HOST_CONNECTOR))
        .when(&[HOST_CACHE])
        .doc("Offloading connector", "Which of vLLM's connectors keeps the host KV cache: OffloadingConnector, its default, stores blocks as they are computed, of prompts alone unless set otherwise, and lets a request wait whose block is being copied; SimpleCPUOffloadConnector stores blocks of outputs, too, and holds a block on the GPU until its copy has ended.")),
    (Id::HostCacheEviction, row("fleet.host_cache.eviction", "hce", "memory", choice(choices::HOST_EVICTION))
        .when(&[BY_OFFLOADING])
        .doc("Eviction from the host", "Which block leaves a full host KV cache: the least recently used one, or by vLLM's adaptive replacement cache, which keeps blocks that a second request used.")),
    (Id::HostCacheThreshold, row("fleet.host_cache.store_threshold", "hct", "memory", whole(0.0, 1000.0, 0.0)).linear(0.0, 8.0, 1.0)
        .when(&[BY_OFFLOADING])
        .doc("Store threshold", "A block is stored on the host when it is computed for this many times; 0 and 1: the first time.")),
    (Id::HostCachePrompts, row("fleet.host_cache.offload_prompt_only", "hcp", "memory", Kind::Flag(true))
        .when(&[BY_OFFLOADING])
        .doc("Prompts only", "Blocks of outputs are not stored on the host, as by vLLM's default: the next turn of a session that has left the GPU computes the output before it again.")),
    (Id::HostCacheLazy, row("fleet.host_cache.lazy_offload", "hcl", "memory", Kind::Flag(false))
        .when(&[BY_SIMPLE_CPU])
        .doc("Lazy offload", "Only blocks near their eviction from the GPU are stored on the host, not every block when it is computed.")),
    (Id::HostCacheRate, row("fleet.host_cache.gb_per_s", "hcr", "memory", number(0.001, 100_000.0, 32.0)).unit("GB/s").log(1.0, 1000.0, 0.5)
        .when(&[HOST_CACHE])
        .doc("Host link", "How fast each GPU copies KV blocks from its host, and as fast to it at the same time; PCIe 5.0 measured 50 GB/s one way on an H100, a GH200 450.")),
    (Id::HostCacheBase, row("fleet.host_cache.base_ms", "hcb", "memory", number(0.0, 10_000.0, 0.05)).unit("ms").linear(0.0, 5.0, 0.01)
        .when(&[HOST_CACHE])
        .doc("Time of a copy", "How long a copy takes beside its blocks, whichever way it goes.")),
    (Id::MaxTotalTokens, row("scheduler.max_total_tokens", "pool", "memory", whole(16.0, 100_000_000.0, 14_500.0)).unit("tokens").log(1000.0, 200_000.0, 1.0)
        .when(&[any(&[LINEAR, when_in(Id::KvPool, &["given"])])])
        .doc("Memory pool", "KV cache and adapters share this many token slots (max_total_token_num): S-LoRA's rule is largest batch × (input + output tokens of a request), 6,000 = 12 × (250 + 250); LoRA slots and resident adapters are taken from it when the server starts. Where KV memory is planned from the GPU, it sets only the default of the token budget.")),

    (Id::AdapterMemory, row("adapters.memory", "am", "memory", choice(choices::ADAPTER_MEMORY)).usual("slots")
        .when(&[HAS_ADAPTERS])
        .doc("Adapter memory", "Unified (S-LoRA, LightLLM): in the KV pool while in use. Slots (vLLM and the others): a fixed number of slots of one size; the least recently used adapter is replaced. Resident: all in GPU memory from the start.")),
    (Id::LoraKernels, row("adapters.kernels", "lok", "memory", choice(choices::LoraKernels::ID))
        .when(&[HAS_ADAPTERS, SLOTS, ON_HARDWARE])
        .doc("LoRA kernels", "Which kernels compute adapters in slots: vLLM's from 0.8 on, whose time grows with slots, distinct adapters and tokens, or those of 2024 (0.5 to 0.7), which take as long for every batch; or those of S-LoRA, Punica and SGLang, which take as long as what they read. Experts have no adapters here.")),
    (Id::MaxLoras, row("adapters.max_loras", "aml", "memory", whole(1.0, 100_000.0, 8.0)).linear(1.0, 64.0, 1.0)
        .when(&[SLOTS])
        .doc("LoRA slots", "Most distinct adapters of running requests (vLLM's --max-loras, SGLang's --max-loras-per-batch, where requests without an adapter count as one more); a waiting request whose adapter would be one more is skipped. The default of 8 is our choice: vLLM's is 1.")),
    (Id::MaxLoraRank, row("adapters.max_lora_rank", "amr", "memory", whole(0.0, 4096.0, 0.0)).linear(0.0, 512.0, 8.0)
        .when(&[SLOTS])
        .doc("Largest LoRA rank", "Rank for which each slot has memory and to which LoRA operators pad (vLLM's --max-lora-rank); a request whose adapter has a larger one is rejected. 0 is the largest rank of the workload.")),
    (Id::MaxCpuLoras, row("adapters.max_cpu_loras", "amc", "memory", whole(0.0, 100_000.0, 0.0)).linear(0.0, 400.0, 1.0)
        .when(&[SLOTS, ON_HARDWARE])
        .doc("LoRAs on the host", "Adapters that the host keeps, those in slots counted (vLLM's --max-cpu-loras); others are read from the disk. 0 is as many as slots, vLLM's default.")),
    (Id::HostRate, row("adapters.host_gb_per_s", "ahr", "memory", number(0.001, 100_000.0, 31.5)).unit("GB/s").log(1.0, 1000.0, 0.5)
        .when(&[when_in(Id::AdapterMemory, &["unified", "slots"]), ON_HARDWARE])
        .doc("Adapters from the host", "How fast an adapter is copied to each GPU; PCIe 4.0 with 16 lanes carries 31.5 GB/s. The linear model has its own two times of an adapter load instead.")),
    (Id::DiskRate, row("adapters.disk_gb_per_s", "adr", "memory", number(0.001, 100_000.0, 3.5)).unit("GB/s").log(0.1, 100.0, 0.1)
        .when(&[SLOTS, ON_HARDWARE])
        .doc("Adapters from the disk", "How fast an adapter that the host does not keep is read; an NVMe disk on PCIe 3.0 gives 3.5 GB/s.")),
];
