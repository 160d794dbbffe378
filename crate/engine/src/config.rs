//! What a fleet is made of: pools of replicas behind one router.

pub(crate) mod adapters;
pub(crate) mod disaggregation;
pub(crate) mod failures;
pub(crate) mod host_cache;
pub(crate) mod kv_groups;
pub(crate) mod ranks;
pub(crate) mod routing;
pub(crate) mod scaling;
pub(crate) mod sglang;
pub(crate) mod speculation;
pub(crate) mod trtllm;

use std::sync::Arc;

use adapters::{AdapterConfig, AdapterMemory, TOKENS_PER_RANK};
use disaggregation::{Disaggregation, KvRole, KvTransfer};
use failures::Failures;
use host_cache::HostCache;
use kv_groups::KvGroups;
use ranks::DataParallel;
use servescope_cost::BatchCost;

use crate::custom_scheduler::CustomScheduler;
use routing::{RouterConstants, RouterView};
use scaling::{Autoscaling, ColdStart, DrainChoice};
use sglang::SglangRules;
use speculation::Speculation;
use trtllm::TrtllmRules;

/// How requests are spread over the replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouterKind {
    /// Each replica after the one before.
    RoundRobin,
    /// At random.
    Random,
    /// The replica with the fewest requests that wait or run.
    LeastOutstanding,
    /// The replica with the shortest waiting queue, as Vidur's `lor` counts.
    FewestWaiting,
    /// The better of two drawn at random, by requests that wait or run.
    PowerOfTwo,
    /// The replica with the fewest KV blocks in use or promised to its waiting queue.
    LeastKv,
    /// Requests of one adapter go to one replica, unless it is far busier than the others.
    AdapterAffinity,
    /// Requests that share the start of their prompts go to one replica, unless it is far busier than the others.
    PrefixAffinity,
    /// llm-d: to a replica with most of the prompt, unless it would take too long; there the fewest prompt tokens to compute.
    Llmd,
    /// llm-d before August 2026: weighted scores of prefix, queue and KV memory.
    LlmdWeighted,
    /// Dynamo: the fewest blocks to compute and in use.
    DynamoKv,
    /// SGLang: the best match, unless loads are out of balance.
    SglangCacheAware,
    /// `AIBrix`: the best match among replicas that are not busier than usual.
    AibrixPrefixCache,
    /// `AIBrix`: clients by the tokens that they were given.
    AibrixVtc,
    /// production-stack: the longest match, else the session.
    PsKvaware,
    /// production-stack: any replica with the longest match.
    PsPrefixaware,
    /// production-stack: the session.
    PsSession,
    /// The least product of prompt tokens to compute and requests.
    Lmetric,
    /// The fewest prompt tokens to compute.
    Lpwl,
    /// The session's place on a ring, with bounded loads.
    ConsistentHash,
}

/// How the requests of the next iteration are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchedulerKind {
    /// FasterTransformer: a batch runs until its last member is done.
    Static,
    /// Orca: whole prompts beside decoding, memory reserved for the longest request.
    Orca,
    /// vLLM of 2023: prompts first, then decoding; a request that finds no block is preempted.
    Vllm,
    /// Sarathi-Serve: prompts in chunks beside decoding.
    Sarathi,
    /// LightLLM: prompts are admitted where the batch will fit at its worst moment.
    LightLlm,
    /// vLLM since 2025: one token budget for prompts and decoding alike.
    VllmV1,
    /// S-LoRA: prefill-only iterations; a request is admitted where the batch and its adapters will fit at their worst moment.
    Slora,
    /// SGLang: batches of prompts before batches of decodes, a radix tree of prefixes.
    Sglang,
    /// TensorRT-LLM: a capacity scheduler for the KV memory, then a micro-batch scheduler for the token budget.
    Trtllm,
}

impl SchedulerKind {
    /// Every one.
    pub const ALL: [Self; 9] = [
        Self::Static,
        Self::Orca,
        Self::Vllm,
        Self::Sarathi,
        Self::LightLlm,
        Self::VllmV1,
        Self::Slora,
        Self::Sglang,
        Self::Trtllm,
    ];
}

/// Settings of vLLM's engine that no other scheduler has, under vLLM's names and with its defaults (vllm/config/scheduler.py).
/// Its `max_num_seqs` is [`PoolConfig::max_requests`], its `max_model_len` [`PoolConfig::max_request_tokens`], its
/// `max_num_queued_reqs` [`FleetConfig::max_in_system`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of vLLM's")]
pub struct VllmRules {
    /// Whether a waiting request is admitted only where the blocks of all its tokens are free, though it takes those of its
    /// first chunk only.
    pub scheduler_reserve_full_isl: bool,
    /// Whether an iteration is formed when the one before it begins.
    pub async_scheduling: bool,
    /// Whether the first of several pipeline stages waits, under asynchronous scheduling, until the tokens of the iteration as
    /// many schedules ago as there are stages have left the last stage. vLLM's workers do (vllm/v1/worker/gpu/pp_utils.py,
    /// `get_prev_sampled_outputs`); its scheduler, run without workers, does not know of it.
    pub stages_wait_for_tokens: bool,
    /// Most tokens of one prompt in an iteration, unless its request is alone.
    pub long_prefill_token_threshold: LongPrefill,
    /// Whether a prompt that does not fit the rest of the budget is cut; otherwise it waits.
    pub enable_chunked_prefill: bool,
    /// Iterations from one with prompts to the next while requests decode.
    pub prefill_schedule_interval: u32,
    /// Most requests that run, where that is less than `max_num_seqs`.
    pub max_num_active_seqs: Option<u32>,
    /// A request is rejected while prompts of this many tokens have no first token.
    pub max_num_queued_tokens: Option<u32>,
    /// Which one is preempted of running requests that are equally urgent.
    pub equals: Equals,
}

/// Which one of running requests of the same priority and arrival is preempted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Equals {
    /// The one that was admitted first, as vLLM does. Where memory is short such requests may preempt each other in turn for
    /// ever.
    FirstAdmitted,
    /// The one that was admitted last, so that the first one gets on and every run ends.
    LastAdmitted,
}

/// How many tokens of one prompt an iteration may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LongPrefill {
    /// As many as the budget allows (a threshold of 0).
    Unbounded,
    /// This many.
    Tokens(u32),
    /// This many, or the budget divided by the number of requests where that is more
    /// (`long_prefill_token_threshold_adaptive`).
    Share(u32),
}

impl Default for VllmRules {
    fn default() -> Self {
        Self {
            scheduler_reserve_full_isl: true,
            async_scheduling: true,
            stages_wait_for_tokens: true,
            long_prefill_token_threshold: LongPrefill::Unbounded,
            enable_chunked_prefill: true,
            prefill_schedule_interval: 1,
            max_num_active_seqs: None,
            max_num_queued_tokens: None,
            equals: Equals::FirstAdmitted,
        }
    }
}

/// What becomes of a request that is preempted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Preemption {
    /// Its prompt and the answer so far are recomputed, as one prompt (vLLM).
    Recompute,
    /// Its prompt is recomputed, and the answer so far again token by token: one an iteration. Only schedulers that
    /// read prompts in chunks do so.
    Regenerate,
    /// What it has is copied to the host and back (vLLM). Partly prefilled prompts, and those for which the host has no room, are
    /// recomputed.
    Swap {
        /// KV blocks that the host of a replica has room for.
        host_blocks: u32,
        /// How long the link takes for a block, microseconds.
        us_per_block: f64,
    },
}

/// The settings of a fleet beside those of its pools.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FleetConfig {
    /// The load-balancing policy: which replica gets an arriving request.
    pub router: RouterKind,
    /// What it sees of the replicas.
    pub view: RouterView,
    /// The constants of its rule.
    pub constants: RouterConstants,
    /// Seed of routers that draw.
    pub seed: u64,
    /// Whether the random router draws what Python's `random` draws from this seed, as Vidur's does.
    pub draws_as_python: bool,
    /// Most requests waiting and running together in the whole fleet; another one is rejected.
    pub max_in_system: u32,
    /// How long a request waits for its first iteration before it times out, microseconds; infinite = for ever.
    pub queue_timeout_us: f64,
    /// How requests go from the pool of producers to that of consumers ([`PoolConfig::kv_transfer`]); `None`: every replica
    /// serves whole requests.
    pub disaggregation: Option<Disaggregation>,
    /// How often the router sends a request again whose replica failed, from the beginning; then it ends with an error.
    pub failure_retries: u32,
}

impl Default for FleetConfig {
    fn default() -> Self {
        Self {
            router: RouterKind::RoundRobin,
            view: RouterView::default(),
            constants: RouterConstants::default(),
            seed: 42,
            draws_as_python: false,
            max_in_system: u32::MAX,
            queue_timeout_us: f64::INFINITY,
            disaggregation: None,
            failure_retries: 3,
        }
    }
}

/// A pool: replicas that are equal, as many as there are at a time.
#[derive(Debug, Clone)]
pub struct Pool {
    /// What it is called.
    pub name: String,
    /// Its settings.
    pub config: PoolConfig,
    /// How long iterations of one of its replicas take.
    pub cost: Arc<dyn BatchCost>,
    /// Other numbers of replicas, each from a time on, in order of time.
    pub schedule: Vec<CountChange>,
    /// When replicas fail.
    pub failures: Failures,
    /// The rule that chooses the number of replicas; `None`: the schedule alone does.
    pub autoscaling: Option<Autoscaling>,
    /// How long a replica takes to start.
    pub cold_start: ColdStart,
    /// Which replica drains where there are to be fewer.
    pub drain_choice: DrainChoice,
    /// A batch scheduler from outside, in place of [`PoolConfig::scheduler`].
    pub scheduler: Option<Arc<dyn CustomScheduler>>,
}

/// A pool has another number of replicas from a time on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CountChange {
    /// When, microseconds.
    pub time_us: f64,
    /// How many; at least 1.
    pub replicas: u32,
}

impl Pool {
    /// A pool without a name that stays as it is.
    pub fn new(config: PoolConfig, cost: Box<dyn BatchCost>) -> Self {
        let cost = cost.into();
        Self {
            name: String::new(),
            config,
            cost,
            schedule: Vec::new(),
            failures: Failures::NONE,
            autoscaling: None,
            cold_start: ColdStart::fixed(0.0),
            drain_choice: DrainChoice::default(),
            scheduler: None,
        }
    }

    /// The same with a batch scheduler from outside: of the settings those of memory, of adapters and the bounds
    /// [`PoolConfig::max_requests`] and [`PoolConfig::max_batch_tokens`] hold on.
    pub fn with_scheduler(self, scheduler: Box<dyn CustomScheduler>) -> Self {
        Self { scheduler: Some(scheduler.into()), ..self }
    }
}

/// The settings of a pool of equal replicas.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct PoolConfig {
    /// How many replicas at the beginning; at least 1.
    pub replicas: u32,
    /// The data-parallel ranks of each: engines of their own, for each of which the settings below hold.
    pub data_parallel: DataParallel,
    /// The scheduler: which requests join an iteration.
    pub scheduler: SchedulerKind,
    /// KV blocks of a replica; those of adapters in the pool are taken from them.
    pub blocks: u32,
    /// Tokens in a block; at least 1.
    pub block_size: u32,
    /// The groups of the model's layers in the KV cache (vLLM v1). Every other scheduler keeps all tokens of all layers, and its
    /// blocks are of all layers.
    pub kv_groups: KvGroups,
    /// The watermark: blocks that an admission leaves free.
    pub watermark_blocks: u32,
    /// Most requests that hold memory at once.
    pub max_requests: u32,
    /// Most requests of the longest length that fit: bounds static and Orca batches.
    pub max_slots: u32,
    /// Longest request, prompt and output: what static and Orca batches reserve for each.
    pub max_request_tokens: u32,
    /// Token budget (`max_num_batched_tokens`): most prompt tokens in one iteration (vLLM: padded to the longest), or all
    /// tokens (vLLM v1).
    pub max_batch_tokens: u32,
    /// Tokens in an iteration of Sarathi-Serve.
    pub chunk_tokens: u32,
    /// Decode iterations between two attempts of LightLLM to let prompts in.
    pub decode_steps_between_prefills: u32,
    /// Whether the faults of the reference implementations are kept. A request that S-LoRA or Vidur can never admit stays in
    /// the waiting queue and blocks it (otherwise it is rejected). Vidur's static batches leak the memory of early finishers,
    /// its preemption restarts partly prefilled prompts, and its token gaps leave out those across a preemption.
    pub reference_quirks: bool,
    /// Whether prefixes of prompts are cached and shared, where the trace has them (vLLM v1).
    pub prefix_cache: bool,
    /// The settings of vLLM v1, whose requests grow and are preempted by its own rules, whatever `reserve` and `preemption` say.
    pub vllm: VllmRules,
    /// The settings of SGLang's scheduler.
    pub sglang: SglangRules,
    /// The settings of TensorRT-LLM's scheduler.
    pub trtllm: TrtllmRules,
    /// Speculative decoding (vLLM v1); `None`: requests decode a token each.
    pub speculation: Option<Speculation>,
    /// Whether a request is admitted only with memory for its prompt and longest output, so that no request is ever preempted
    /// (vLLM, Sarathi-Serve, vLLM v1; static and Orca batches always do so, for the longest request).
    pub reserve: bool,
    /// What becomes of a request that is preempted.
    pub preemption: Preemption,
    /// Longest prompt that is accepted (S-LoRA).
    pub max_input_tokens: u32,
    /// Sleep of an idle router, microseconds; 0 = woken by the arrival (S-LoRA).
    pub idle_poll_us: f64,
    /// Whether adapters are loaded and cost time. S-LoRA counts their memory either way, as Vidur does.
    pub lora_compute: bool,
    /// Where adapters are kept.
    pub adapters: AdapterConfig,
    /// A tier of host memory below the KV cache of vLLM v1, which needs [`Self::prefix_cache`] and a model whose layers all keep
    /// every token ([`KvGroups::FULL`]); `None`: there is none.
    pub host_cache: Option<HostCache>,
    /// The pool's part in handing requests over, under vLLM v1 and with a model whose layers all keep every token; `None`: its replicas
    /// serve whole requests.
    pub kv_transfer: Option<KvTransfer>,
}

impl PoolConfig {
    /// KV memory of a replica, tokens within every window.
    pub(crate) fn kv_tokens(&self) -> u32 {
        self.tokens_in(self.blocks.into()).min(u32::MAX.into()) as u32
    }

    /// Tokens within every window that so many blocks hold.
    pub(crate) fn tokens_in(&self, blocks: u64) -> u64 {
        self.kv_groups.tokens(blocks, self.block_size)
    }

    /// The tier of host memory, where it works.
    pub(crate) fn host_tier(&self) -> Option<HostCache> {
        self.host_cache
            .filter(|_| self.prefix_cache && self.kv_groups == KvGroups::FULL && self.kv_transfer.is_none())
    }

    /// Whether its replicas have this part in handing requests over.
    pub(crate) fn has_role(&self, role: KvRole) -> bool {
        self.kv_transfer.is_some_and(|own| own.role == role)
    }

    /// Speculative decoding, where the scheduler has it and it makes drafts.
    pub(crate) fn drafting(&self) -> Option<&Speculation> {
        let is_on = self.scheduler == SchedulerKind::VllmV1;
        self.speculation.as_ref().filter(|own| is_on && own.num_speculative_tokens > 0)
    }

    /// Tokens for which a running request has KV slots that has so many scheduled: behind them the drafter writes.
    pub(crate) fn slots_for(&self, tokens: u32) -> u32 {
        let ahead = self.drafting().map_or(0, Speculation::lookahead_tokens);
        if ahead == 0 {
            tokens
        } else {
            tokens.saturating_add(ahead).min(self.max_request_tokens.max(tokens))
        }
    }

    /// Tokens for which a prompt that is being read needs slots until it decodes (`_request_remaining_blocks`).
    pub(crate) fn tokens_to_end(&self, known: u32) -> u32 {
        let drafts = |own: &Speculation| 1 + own.num_speculative_tokens + own.lookahead_tokens();
        known + self.drafting().map_or(0, drafts)
    }

    /// How many of the known tokens of a request can be in blocks that other requests find.
    pub(crate) fn findable_tokens(&self, known: u32) -> u32 {
        known - u32::from(self.hashes_look_ahead() && known > 0)
    }

    /// Whether the last block that a request finds is computed again, for the drafter's KV memory.
    pub(crate) fn drops_last_found(&self) -> bool {
        self.drafting().is_some_and(Speculation::reads_ahead) && !self.hashes_look_ahead()
    }

    /// Whether a block's hash covers the token behind it, too. A KV connector knows blocks by plain hashes.
    fn hashes_look_ahead(&self) -> bool {
        self.drafting().is_some_and(|own| own.reads_ahead() && own.lookahead_block_hashes)
            && self.host_tier().is_none()
            && self.kv_transfer.is_none()
    }

    /// LoRA slots of a replica; none where adapters are not kept in slots, or no request has one.
    pub(crate) fn lora_slots(&self) -> Option<u32> {
        (self.lora_compute && self.adapters.memory == AdapterMemory::Slots).then_some(self.adapters.max_loras)
    }

    /// Blocks of one group that `tokens` take.
    #[inline]
    pub fn blocks_for(&self, tokens: u32) -> u32 {
        tokens.div_ceil(self.block_size)
    }

    /// How long the link to the host takes for `blocks`, microseconds.
    pub(crate) fn copying_us(&self, blocks: u64) -> f64 {
        match self.preemption {
            Preemption::Swap { us_per_block, .. } => blocks as f64 * us_per_block,
            _ => 0.0,
        }
    }

    /// The server of S-LoRA's experiments on an A10G (Sheng et al., MLSys 2024).
    pub fn slora() -> Self {
        Self {
            scheduler: SchedulerKind::Slora,
            blocks: 14_500,
            block_size: 1,
            watermark_blocks: 0,
            max_requests: 1_000,
            max_batch_tokens: 3_072,
            max_request_tokens: 3_072,
            max_input_tokens: 2_048,
            decode_steps_between_prefills: 10,
            idle_poll_us: 10_000.0,
            adapters: AdapterConfig {
                memory: AdapterMemory::Unified,
                tokens_per_rank: f64::from(TOKENS_PER_RANK),
                ..AdapterConfig::FREE
            },
            ..Self::default()
        }
    }

    /// S-LoRA's default for `batch_max_tokens`: max(floor(total/6), max_request_tokens).
    pub fn default_batch_max_tokens(max_total_tokens: u32, max_request_tokens: u32) -> u32 {
        (max_total_tokens / 6).max(max_request_tokens)
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

impl Default for PoolConfig {
    /// One replica of Llama-2-7b on an A100 80 GB under Vidur's defaults, with vLLM's scheduler of 2023.
    fn default() -> Self {
        Self {
            replicas: 1,
            data_parallel: DataParallel::ONE,
            scheduler: SchedulerKind::Vllm,
            blocks: 7_424,
            block_size: 16,
            kv_groups: KvGroups::FULL,
            watermark_blocks: 74,
            max_requests: 128,
            max_slots: 29,
            max_request_tokens: 4_096,
            max_batch_tokens: 4_096,
            chunk_tokens: 512,
            decode_steps_between_prefills: 10,
            reference_quirks: false,
            prefix_cache: false,
            vllm: VllmRules::default(),
            sglang: SglangRules::default(),
            trtllm: TrtllmRules::default(),
            speculation: None,
            reserve: false,
            preemption: Preemption::Recompute,
            max_input_tokens: u32::MAX,
            idle_poll_us: 0.0,
            lora_compute: true,
            adapters: AdapterConfig::FREE,
            host_cache: None,
            kv_transfer: None,
        }
    }
}
