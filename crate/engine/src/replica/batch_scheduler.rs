//! Continuous batching: what a batch scheduler is, and what it works on: a replica, and beside it the trace, the state of each
//! request, the record and the clock. The two refer to each other: a replica calls the scheduler, which changes the replica.

use std::sync::Arc;

use servescope_cost::BatchCost;
use servescope_workload::{RequestId, Trace};

use super::Replica;
use super::iteration::ScheduledBatch;
use super::peak_memory::PeakKvEstimator;
use super::requests::Requests;
use crate::block_numbers::BlockNumbers;
use crate::client::ClientId;
use crate::config::PoolConfig;
use crate::config::adapters::AdapterConfig;
use crate::record::EventLog;
use crate::record::observer::Watch;
use crate::record::request_timings::PrefixLookups;
use crate::replica::adapters::pool::AdapterPool;
use crate::replica::queue::QueueConfig;
use crate::replica::queue::waiting_queue::WaitingQueue;
use crate::request::{BlockReason, Outcome, Rejection};

/// Where requests come in at the engine.
pub(crate) trait EngineArrivals {
    /// When each request came in, microseconds, where that is not as the trace says.
    fn sent_us(&self) -> Option<&[f64]>;
}

/// What a replica works on beside its own state.
pub(crate) struct ScheduleContext<'a> {
    pub(crate) config: &'a PoolConfig,
    pub(crate) facts: &'a SchedulerFacts,
    pub(crate) trace: &'a Trace,
    pub(crate) requests: &'a mut Requests,
    pub(crate) record: &'a mut EventLog,
    pub(crate) cost: &'a dyn BatchCost,
    pub(crate) watch: &'a mut Watch,
    /// Whether iterations are charged one by one and each decision taken by itself.
    pub(crate) steps_singly: bool,
    pub(crate) arrivals: &'a dyn EngineArrivals,
    pub(crate) now_us: f64,
    /// Whether what ends now has ended: at equal times arrivals come before it.
    pub(crate) ends_are_over: bool,
}

/// What a new scheduler gets.
pub(crate) struct SchedulerSetup<'a> {
    pub(crate) config: &'a PoolConfig,
    pub(crate) trace: &'a Trace,
    /// By which policy requests wait.
    pub(crate) queueing: &'a QueueConfig,
    /// Where prefixes are cached, the numbers of the blocks of the trace's requests, of each size that is asked for.
    pub(crate) block_numbers: &'a [Arc<BlockNumbers>],
}

/// What is known of a kind of batch scheduler: facts, what it can never serve, and how one begins.
pub(crate) trait SchedulerRules: std::fmt::Debug + Send + Sync {
    /// A new scheduler for an empty replica.
    fn scheduler(&self, setup: &SchedulerSetup<'_>) -> Box<dyn BatchScheduler>;

    /// What holds of it with these settings, whatever happens.
    fn facts(&self, config: &PoolConfig) -> SchedulerFacts;

    /// Why a request can never be served where this many blocks are free of other requests; `None`: it can. `tokens`: of its prompt, and of
    /// its prompt and longest output together.
    fn refuses(&self, config: &PoolConfig, blocks: u32, tokens: [u32; 2]) -> Option<Rejection>;
}

/// The batch scheduler of one replica: it forms iterations, and owns what it keeps between them. While it works on its replica the
/// replica is without it.
pub(crate) trait BatchScheduler: std::fmt::Debug + Send + Sync {
    /// A copy that goes on by itself.
    fn boxed(&self) -> Box<dyn BatchScheduler>;

    /// Fills `batch`, which is empty, with the next iteration; it stays empty where there is none.
    fn schedule(
        &mut self,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
    ) -> QueueScan;

    /// For how many of the next `most` iterations the plan stays what it is, each request that decodes getting a token, if no
    /// request arrives, joins or leaves and no block is short. Fewer than it could be is always right.
    fn steady_for(&self, _replica: &mut Replica, _context: &ScheduleContext<'_>, most: u32) -> Steady {
        Steady::up_to(most)
    }

    /// Something has happened at the replica; says what that can change.
    fn happened(
        &mut self,
        _replica: &mut Replica,
        _context: &mut ScheduleContext<'_>,
        _event: BatchEvent<'_>,
    ) -> Effect {
        Effect::None
    }

    /// When a replica that formed nothing looks again, microseconds; infinite: when something happens.
    fn wakes_us(&self) -> f64 {
        f64::INFINITY
    }

    /// Whether memory alone keeps a waiting request out of this batch, whose requests decode: then a request that another batch could
    /// not admit for lack of memory need not be looked at again for this one.
    fn lacks_only_memory(&self, _replica: &Replica, _config: &PoolConfig, _batch: &ScheduledBatch) -> bool {
        false
    }

    /// What it counts beside the books of the replica.
    fn counts(&self) -> SchedulerCounts<'_> {
        SchedulerCounts::default()
    }

    /// The waiting queue that it keeps itself, in place of the replica's ([`SchedulerFacts::keeps_queue`]).
    fn queue_mut(&mut self) -> Option<&mut dyn OwnQueue> {
        None
    }
}

impl Clone for Box<dyn BatchScheduler> {
    fn clone(&self) -> Self {
        self.boxed()
    }
}

/// A waiting queue that a scheduler keeps itself, in place of the replica's.
pub(crate) trait OwnQueue {
    /// Whether it counts service.
    fn keeps_counters(&self) -> bool {
        false
    }

    /// Charges the clients of requests that decode for iterations.
    fn charge(&mut self, _iterations: u32) {}

    /// Every client's counter.
    fn counters(&mut self) -> Vec<(ClientId, f64)> {
        Vec::new()
    }

    /// The queue with what came in since the last iteration, as the replica keeps its own.
    fn as_seen(&self, trace: &Trace) -> WaitingQueue;
}

/// What something that happened can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing that the replica does next.
    None,
    /// What it does after those iterations under way that an arrival does not cut short.
    Later,
    /// What it does after the iteration under way.
    Next,
}

/// For how long a plan stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Steady {
    /// This many iterations.
    pub(crate) most: u32,
    /// This many of them whichever request arrives, unless that has [`Effect::Next`].
    pub(crate) sure: u32,
}

impl Steady {
    /// It stays for this many iterations; an arrival may change it at any time.
    pub(crate) fn up_to(most: u32) -> Self {
        Self { most, sure: 0 }
    }
}

/// How the requests of a scheduler get blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockAllocation {
    /// They take them as they grow.
    OnDemand,
    /// Blocks for its prompt and longest output are reserved for each at its admission.
    ForRequest,
    /// Blocks for the longest request are reserved for each at its admission.
    ForLongest,
    /// The blocks belong to the batch and not to its requests.
    ForBatch,
}

/// What holds of a scheduler under the settings of a pool, whatever happens: by these facts the engine runs its replicas.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct SchedulerFacts {
    /// The implementation that it follows accepts requests that it can never serve, and lets them block the queue.
    pub(crate) reference_accepts_all: bool,
    /// A request that with its adapter never fits is accepted all the same, and then blocks the queue.
    pub(crate) may_block_queue: bool,
    /// What becomes of a request that is longer than others may be.
    pub(crate) lengths: LengthRule,
    /// Requests are rejected while prompts that have no first token yet have this many tokens or more; `None` = no limit.
    pub(crate) max_queued_tokens: Option<u32>,
    /// How prefixes are kept for requests that have the same, where that is asked for.
    pub(crate) caches_prefixes: PrefixCaching,
    /// Others find a block when the batch that filled it has ended, not when that was formed.
    pub(crate) caches_when_computed: bool,
    /// Layers of different attention form groups with blocks of their own, and those with a window keep its tokens only
    /// ([`PoolConfig::kv_groups`]). Otherwise every token of every layer is kept.
    pub(crate) groups_layers: bool,
    /// How requests get blocks.
    pub(crate) allocation: BlockAllocation,
    /// Its memory counts tokens, whatever the size of the blocks is, and it leaves none free.
    pub(crate) counts_tokens: bool,
    /// Its memory test counts the blocks of adapters, so that an adapter may be loaded ahead wherever the test still passes.
    pub(crate) tests_adapters: bool,
    /// It keeps a waiting queue of its own.
    pub(crate) keeps_queue: bool,
    /// It learns of clients that go away at its next iteration only.
    pub(crate) cancels_late: bool,
    /// Requests that decode on several stages are picked from the list of all; otherwise they stay in their batch.
    pub(crate) mixes_batches: bool,
    /// A request that arrives at a busy replica with an empty queue can change what follows the present iteration.
    pub(crate) arrival_changes_plan: bool,
    /// Every iteration looks at the head of the queue.
    pub(crate) looks_at_queue: bool,
    /// The adapters that the replica manages for it.
    pub(crate) managed_adapters: AdapterConfig,
    /// Requests that end together leave in the order in which they joined; otherwise by their numbers.
    pub(crate) ends_as_joined: bool,
    /// It gives tokens to its running requests one by one, from a list ([`crate::replica::running_list`]). Otherwise a replica of one
    /// stage keeps those that decode in one decode batch: all of them are then in every iteration that decodes.
    pub(crate) lists_running: bool,
    /// A session whose input comes in chunks keeps its blocks from the end of an answer to the next chunk (`replica::streamed_input`).
    /// Otherwise each chunk is a request by itself.
    pub(crate) keeps_sessions: bool,
    /// Batches that may be formed and not yet done beyond one for each stage, of a replica that lists its running requests.
    pub(crate) batches_ahead: u32,
    /// An empty batch takes the place of another one until those formed before it are done.
    pub(crate) queues_empty_batches: bool,
    /// A token that was under way when its request was preempted is dropped, and made again.
    pub(crate) drops_tokens_of_preempted: bool,
    /// What a request waits for at a replica that is busy and whose last scan of the queue found nothing in the way: while the
    /// iteration under way at that scan lasts, and afterwards.
    pub(crate) awaits: [Awaited; 2],
}

impl SchedulerFacts {
    /// Whether requests take blocks as they grow.
    pub(crate) fn allocates_on_demand(&self) -> bool {
        self.allocation == BlockAllocation::OnDemand
    }

    /// Those of continuous batching with requests that grow block by block, as vLLM's first scheduler has it.
    pub(crate) fn of_iterations(config: &PoolConfig) -> Self {
        Self {
            reference_accepts_all: true,
            may_block_queue: false,
            lengths: LengthRule::Rejected,
            max_queued_tokens: None,
            caches_prefixes: PrefixCaching::None,
            caches_when_computed: false,
            groups_layers: false,
            allocation: if config.reserve { BlockAllocation::ForRequest } else { BlockAllocation::OnDemand },
            counts_tokens: false,
            tests_adapters: false,
            keeps_queue: false,
            cancels_late: false,
            mixes_batches: true,
            arrival_changes_plan: true,
            looks_at_queue: true,
            managed_adapters: config.adapters,
            ends_as_joined: false,
            lists_running: false,
            keeps_sessions: false,
            batches_ahead: 0,
            queues_empty_batches: false,
            drops_tokens_of_preempted: false,
            awaits: [Awaited::Iteration; 2],
        }
    }
}

/// What becomes of a request whose prompt and longest output are longer than [`PoolConfig::max_request_tokens`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LengthRule {
    /// It is rejected on arrival.
    Rejected,
    /// Its output is cut at so many tokens of both; only the prompt has to leave room for one.
    CutAt(u32),
    /// The scheduler decides when it learns of it: it rejects a prompt of so many tokens, and cuts outputs.
    OfScheduler {
        /// Tokens of the shortest prompt that is rejected.
        rejects_from: u32,
    },
}

impl LengthRule {
    /// Tokens of prompt and output at which the engine cuts every output.
    pub(crate) fn cut(self) -> Option<u32> {
        match self {
            Self::CutAt(tokens) => Some(tokens),
            Self::Rejected | Self::OfScheduler { .. } => None,
        }
    }
}

/// How prefixes of requests are kept for others that have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PrefixCaching {
    /// They are not.
    None,
    /// The KV cache keeps whole blocks.
    Blocks,
    /// The scheduler keeps them, as the blocks of the trace tell them apart.
    OfScheduler,
}

/// What happens at a replica: to its requests, in the order of the events of an iteration, and to its queue.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BatchEvent<'a> {
    /// The prompts of an iteration are processed; afterwards those that are whole join or leave, in their order.
    PromptsEnded(&'a ScheduledBatch),
    /// A request decodes from now on.
    Joined(RequestId),
    /// This many iterations have decoded.
    Decoded(u32),
    /// A request that holds memory leaves: it decodes and has this many tokens, or `None`: it has not begun to decode.
    Left(RequestId, Option<u32>),
    /// An iteration has ended in which this many requests finished.
    Ended(&'a ScheduledBatch, u32),
    /// A batch that left the last of several stages will not be formed again as it is.
    TakenApart(&'a ScheduledBatch),
    /// A request came to the waiting queue.
    Arrived(RequestId),
    /// A request came that was over its client's rate limit.
    Rejected(RequestId),
    /// A waiting request was dropped, or a client cancelled its request.
    Dropped(RequestId, Outcome),
}

/// What a scheduler counts beside the books of its replica.
#[derive(Default)]
pub(crate) struct SchedulerCounts<'a> {
    /// The batch as the memory test knows it, where there is one.
    pub(crate) estimate: Option<&'a PeakKvEstimator>,
    /// Decode iterations since the last prefill, where that is a rule.
    pub(crate) decode_steps: Option<u32>,
    /// The adapters of the batch, of a scheduler that counts them itself.
    pub(crate) batch_adapters: Option<&'a AdapterPool>,
    /// The adapters in GPU memory, where they are those.
    pub(crate) adapters_in_memory: Option<&'a AdapterPool>,
    /// Its own waiting queue.
    pub(crate) queue: Option<&'a dyn OwnQueue>,
    /// The radix tree that it keeps beside its requests' own memory.
    pub(crate) radix: Option<RadixState>,
    /// What admitted requests asked its own prefix cache for.
    pub(crate) prefix_lookups: Option<PrefixLookups>,
}

/// KV memory of a scheduler that keeps a radix tree of prefixes (SGLang), in tokens, and by what it lets requests in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RadixState {
    /// Tokens of pages that are free.
    pub free: u32,
    /// Tokens of the tree that no running request uses.
    pub evictable: u32,
    /// Tokens of the tree that running requests use.
    pub locked: u32,
    /// Tokens that were evicted so far.
    pub evicted: u64,
    /// Decisions so far, those without a batch among them.
    pub decisions: u64,
    /// Which share of its further tokens a running request is expected to need (`new_token_ratio`).
    pub new_token_ratio: f64,
    /// The request whose prompt is prefilled in part.
    pub chunked_request: Option<RequestId>,
    /// Requests that decode, but for those of a batch of prompts that has just been decided.
    pub running: u32,
}

/// What a request waits for where nothing is in its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// The end of the iteration that runs.
    Iteration,
    /// The next time at which prompts may join those that decode.
    InterleavingRule,
    /// The end of the whole batch that runs.
    Batch,
}

/// What forming an iteration found at the waiting queue.
#[derive(Debug, Clone, Copy)]
pub(crate) enum QueueScan {
    /// No request looked at it.
    Skipped,
    /// What its head stays for; `None`: no request stays, or requests that do were not looked at for lack of anything but time.
    Stopped(Option<BlockReason>),
}
