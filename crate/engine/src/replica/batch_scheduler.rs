//! Continuous batching: what a batch scheduler is, and what it works on: a replica, and beside it the trace, the state of each
//! request, the record and the clock. The two refer to each other: a replica calls the scheduler, which changes the replica.

use servescope_cost::BatchCost;
use servescope_workload::{RequestId, Trace};

use super::Replica;
use super::iteration::{Scheduled, ScheduledBatch};
use super::peak_memory::PeakKvEstimator;
use super::requests::Requests;
use crate::client::ClientId;
use crate::config::PoolConfig;
use crate::config::adapters::AdapterConfig;
use crate::record::EventLog;
use crate::record::observer::Watch;
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
    pub(crate) policy: &'static dyn SchedulerRules,
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

/// What is known of a kind of batch scheduler: facts, what it can never serve, and how one begins.
pub(crate) trait SchedulerRules: std::fmt::Debug + Sync {
    /// A new scheduler for an empty replica.
    fn scheduler(&self, config: &PoolConfig, trace: &Trace) -> Box<dyn BatchScheduler>;

    /// What holds of it with these settings, whatever happens.
    fn facts(&self, config: &PoolConfig) -> SchedulerFacts;

    /// Why a request can never be served where so many blocks are free of other requests; `None`: it can. `tokens`: of its prompt, and of
    /// its prompt and longest output together.
    fn refuses(&self, config: &PoolConfig, blocks: u32, tokens: [u32; 2]) -> Option<Rejection>;

    /// The most tokens that a request can have whose prompt and longest output have `total_tokens`, or why it is rejected as
    /// too long.
    fn longest_request(
        &self,
        config: &PoolConfig,
        _input_tokens: u32,
        total_tokens: u32,
    ) -> Result<u32, Rejection> {
        if total_tokens > config.max_request_tokens {
            return Err(Rejection::RequestTooLong);
        }
        Ok(total_tokens)
    }

    /// Blocks that a request gives back which is done with this many tokens.
    fn blocks_at_end(&self, context: &ScheduleContext<'_>, id: RequestId, tokens: u32) -> u32 {
        if context.facts.allocates_on_demand {
            context.config.blocks_for(tokens - 1)
        } else {
            context.blocks_reserved(id)
        }
    }

    /// The settings as the scheduler takes them.
    fn configured(&self, config: PoolConfig) -> PoolConfig {
        config
    }
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

    /// Where batches are not mixed: whether none waits for its next iteration.
    fn has_no_other_batch(&self) -> bool {
        true
    }

    /// The requests of a batch that has ended on several stages are in no batch, and decode on in one that is formed again.
    fn takes_apart(&mut self, replica: &mut Replica, batch: &ScheduledBatch) {
        replica.running.extend_from_slice(&batch.members);
    }

    /// For how many of the next `most` iterations this batch stays valid, if no request joins or leaves.
    fn fast_forward_limit(&self, replica: &Replica, context: &ScheduleContext<'_>, most: u32) -> u32 {
        if context.facts.allocates_on_demand {
            // The blocks of its first iteration are taken.
            replica.decode_batch.iterations_within(replica.kv.available(), most)
        } else {
            most
        }
    }

    /// Whether memory alone keeps a waiting request out of this batch, whose requests decode: then a request that another batch could
    /// not admit for lack of memory need not be looked at again for this one.
    fn lacks_only_memory(&self, _replica: &Replica, _config: &PoolConfig, _batch: &ScheduledBatch) -> bool {
        false
    }

    /// Whether an adapter of `blocks` may be loaded ahead. Every request that decodes may need a block before its request is
    /// admitted.
    fn has_room_ahead(&self, replica: &Replica, context: &ScheduleContext<'_>, blocks: u32) -> bool {
        let spare = u64::from(context.config.watermark_blocks) + u64::from(replica.num_running);
        u64::from(replica.kv.available()) >= u64::from(blocks) + spare
    }

    /// Blocks that the iterations under way take after the first one of them, where `begun` have begun.
    fn later_blocks(&self, replica: &Replica, config: &PoolConfig, begun: u32) -> u32 {
        let grows = config.facts().allocates_on_demand;
        if grows { replica.decode_batch.new_blocks_over(1, begun - 1) } else { 0 }
    }

    /// How many of the iterations under way, `most` at the most, may end as one, of a replica of one stage that keeps no
    /// decode batch: before the last one of them ends they, and those that are formed meanwhile, differ by a token of each
    /// request only, if nothing arrives.
    fn iterations_alike(
        &mut self,
        _replica: &mut Replica,
        _context: &mut ScheduleContext<'_>,
        _most: u32,
    ) -> u32 {
        1
    }

    /// This many of those have ended, the last one now. Returns the blocks taken by the iteration that was formed then.
    fn end_alike(
        &mut self,
        _replica: &mut Replica,
        _context: &mut ScheduleContext<'_>,
        _iterations: u32,
    ) -> u32 {
        0
    }

    /// Something has happened to the requests of a replica.
    fn happened(
        &mut self,
        _replica: &mut Replica,
        _context: &mut ScheduleContext<'_>,
        _event: BatchEvent<'_>,
    ) {
    }

    /// What it counts beside the books of the replica, for a debugger.
    fn counts(&self) -> SchedulerCounts<'_> {
        SchedulerCounts::default()
    }

    /// Puts requests that end together in the order in which they leave; they come by their numbers.
    fn order_ended(&self, _context: &ScheduleContext<'_>, _ended: &mut [RequestId]) {}

    /// Iterations of those under way that an arrival does not cut short.
    fn least_leap(&self) -> u32 {
        0
    }

    /// When a replica that formed nothing looks again, microseconds; infinite: when it is notified of something.
    fn wakes_us(&self) -> f64 {
        f64::INFINITY
    }

    /// The first stage takes a batch, of a replica that keeps no decode batch.
    fn begins(
        &mut self,
        _replica: &mut Replica,
        _context: &mut ScheduleContext<'_>,
        _batch: &ScheduledBatch,
    ) {
    }

    /// A batch has left the last stage, of a replica that keeps no decode batch: its requests are further. Says whether that is
    /// done; otherwise the replica does it as for all.
    fn end_batch(
        &mut self,
        _replica: &mut Replica,
        _context: &mut ScheduleContext<'_>,
        _batch: &mut ScheduledBatch,
    ) -> bool {
        false
    }

    /// A request that holds memory goes away. Says whether that is done; otherwise the replica does it as for all.
    fn release_aborted(
        &mut self,
        _replica: &mut Replica,
        _context: &mut ScheduleContext<'_>,
        _id: RequestId,
    ) -> bool {
        false
    }

    /// Writes down what was put off while only tokens were made.
    fn settle(&mut self, _replica: &mut Replica, _context: &mut ScheduleContext<'_>) {}

    /// The requests of a batch in the order in which they were chosen, where the scheduler keeps it.
    fn members(&self, _context: &ScheduleContext<'_>, batch: &ScheduledBatch) -> Vec<Scheduled> {
        batch.scheduled.clone()
    }

    /// Tokens that a request has got and that are not written down, of a replica that keeps no decode batch; `None`: all are.
    fn unwritten_tokens(&self, _requests: &Requests, _id: RequestId) -> Option<u32> {
        None
    }

    /// What requests hold, where the scheduler keeps it itself.
    fn held_blocks(&self, _replica: &Replica, _block_size: u32) -> Option<HeldBlocks> {
        None
    }

    /// Something has happened between two iterations that it learns of at its next one; says whether that can change what the
    /// replica does next. `None`: it sees the waiting queue of the replica itself.
    fn notify(&mut self, _message: SchedulerMessage) -> Option<bool> {
        None
    }

    /// The waiting queue of a scheduler that has its own.
    fn own_queue(&self) -> Option<&dyn OwnQueue> {
        None
    }

    /// The same, to change it.
    fn own_queue_mut(&mut self) -> Option<&mut dyn OwnQueue> {
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
    /// Keeps it, empty, under a policy.
    fn set_policy(&mut self, queueing: &QueueConfig, config: &PoolConfig, trace: &Trace);

    /// Whether it counts service.
    fn keeps_counters(&self) -> bool;

    /// Charges the clients of requests that decode for iterations.
    fn charge(&mut self, iterations: u32);

    /// Every client's counter.
    fn counters(&mut self) -> Vec<(ClientId, f64)>;

    /// The queue with what came in since the last iteration, as the replica keeps its own.
    fn as_seen(&self, trace: &Trace) -> WaitingQueue;
}

/// What a scheduler with an inbox is told of between two iterations.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SchedulerMessage {
    /// A request came in, at this time in microseconds.
    Arrived(RequestId, f64),
    /// A request came in that was over its client's rate limit.
    Rejected(RequestId),
    /// A waiting request was dropped, or a request was cancelled by its client.
    Ended(RequestId, Outcome),
}

/// What holds of a scheduler under the settings of a pool, whatever happens: by these facts the engine runs its replicas.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct SchedulerFacts {
    /// The implementation that it follows accepts requests that it can never serve, and lets them block the queue.
    pub(crate) reference_accepts_all: bool,
    /// A request that with its adapter never fits is accepted all the same, and then blocks the queue.
    pub(crate) may_block_queue: bool,
    /// Tokens of prompt and output at which every output is cut.
    pub(crate) cuts_outputs_at: u32,
    /// Requests are rejected while prompts that have no first token yet have this many tokens or more; `None` = no limit.
    pub(crate) max_queued_tokens: Option<u32>,
    /// Blocks of the KV cache are kept for requests with the same prefix, where that is asked for.
    pub(crate) caches_prefixes: bool,
    /// Requests take blocks as they grow; otherwise all are reserved at admission.
    pub(crate) allocates_on_demand: bool,
    /// The blocks belong to the batch and not to its requests.
    pub(crate) allocates_by_batch: bool,
    /// Requests that decode on several stages are picked from the list of all; otherwise they stay in their batch.
    pub(crate) mixes_batches: bool,
    /// A request that arrives at a busy replica with an empty queue can change what follows the present iteration.
    pub(crate) arrival_changes_plan: bool,
    /// Every iteration looks at the head of the queue.
    pub(crate) looks_at_queue: bool,
    /// The adapters that the replica manages for it.
    pub(crate) managed_adapters: AdapterConfig,
    /// Requests that end together leave in an order of its own ([`BatchScheduler::order_ended`]).
    pub(crate) orders_ended: bool,
    /// The requests that decode may be kept in one decode batch, where a replica has one stage: all of them are then in every
    /// iteration that decodes.
    pub(crate) keeps_decode_batch: bool,
    /// Batches that may be formed and not yet done beyond one for each stage, of a replica that keeps no decode batch.
    pub(crate) batches_ahead: u32,
    /// An empty batch takes the place of another one until those formed before it are done.
    pub(crate) queues_empty_batches: bool,
    /// What a request waits for at a replica that is busy and whose last scan of the queue found nothing in the way: while the
    /// iteration under way at that scan lasts, and afterwards.
    pub(crate) awaits: [Awaited; 2],
}

impl SchedulerFacts {
    /// Those of continuous batching with requests that grow block by block, as vLLM's first scheduler has it.
    pub(crate) fn of_iterations(config: &PoolConfig) -> Self {
        Self {
            reference_accepts_all: true,
            may_block_queue: false,
            cuts_outputs_at: u32::MAX,
            max_queued_tokens: None,
            caches_prefixes: false,
            allocates_on_demand: !config.reserve,
            allocates_by_batch: false,
            mixes_batches: true,
            arrival_changes_plan: true,
            looks_at_queue: true,
            managed_adapters: config.adapters,
            orders_ended: false,
            keeps_decode_batch: true,
            batches_ahead: 0,
            queues_empty_batches: false,
            awaits: [Awaited::Iteration; 2],
        }
    }
}

/// What happens to the requests of a replica, in the order of the events of an iteration.
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
}

/// What a scheduler counts beside the books of its replica.
#[derive(Debug, Default)]
pub(crate) struct SchedulerCounts<'a> {
    /// The batch as the memory test knows it, where there is one.
    pub(crate) estimate: Option<&'a PeakKvEstimator>,
    /// Decode iterations since the last prefill, where that is a rule.
    pub(crate) decode_steps: Option<u32>,
    /// The adapters of the batch, of a scheduler that counts them itself.
    pub(crate) batch_adapters: Option<&'a AdapterPool>,
    /// The adapters in GPU memory, where they are those.
    pub(crate) adapters_in_memory: Option<&'a AdapterPool>,
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

/// Requests that hold memory.
pub(crate) struct HeldBlocks {
    /// Each with its tokens and its blocks.
    pub(crate) requests: Vec<(RequestId, u32, u32)>,
    /// Blocks that are counted more than once because requests share them.
    pub(crate) shared: u32,
}
