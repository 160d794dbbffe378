//! Continuous batching: which requests join the next iteration of a replica. One scheduler a file, behind one trait. What
//! a scheduler keeps of a replica between iterations is in its own file, too.

mod lightllm;
mod orca;
mod sarathi;
mod seen;
pub(crate) mod slora;
mod static_batch;
mod vllm;
mod vllm_v1;

use super::adapters::pool::AdapterPool;
use super::context::ScheduleContext;
use super::decode_groups::DecodeGroups;
use super::iteration::{Scheduled, ScheduledBatch};
use super::peak_memory::PeakKvEstimator;
use super::queue::QueueConfig;
use super::requests::Requests;
use super::{Replica, batch_end, snapshot};
use crate::config::adapters::{AdapterConfig, AdapterMemory};
use crate::config::{FleetConfig, SchedulerKind};
use crate::replica::queue::client::ClientId;
use crate::request::{BlockReason, Outcome, Rejection};
use servescope_cost::Chunk;
use servescope_workload::{RequestId, Trace};

/// Requests that hold memory.
pub(crate) struct HeldBlocks {
    /// Each with its tokens and its blocks.
    pub(crate) requests: Vec<(RequestId, u32, u32)>,
    /// Blocks that are counted more than once because requests share them.
    pub(crate) shared: u32,
}

/// A batch scheduler: it forms iterations, and says what memory its requests hold. It has no state of its own; what it keeps
/// of a replica is in [`State`].
pub(crate) trait BatchScheduler: std::fmt::Debug + Sync {
    /// Fills `batch`, which is empty, with the next iteration; it stays empty where there is none.
    fn schedule(
        &self,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
    ) -> QueueScan;

    /// Why a request can never be served whose prompt has `input_tokens` and whose prompt and longest output together have
    /// `total_tokens`; `None` if it can.
    fn refuses(&self, config: &FleetConfig, input_tokens: u32, total_tokens: u32) -> Option<Rejection>;

    /// Whether Vidur has it, and lets requests that it can never serve block the queue.
    fn is_of_vidur(&self) -> bool {
        true
    }

    /// Whether a request that with its adapter never fits is accepted all the same, and then blocks the queue.
    fn may_block_queue(&self, _config: &FleetConfig) -> bool {
        false
    }

    /// The most tokens that a request can have whose prompt and longest output have `total_tokens`, or why it is rejected as
    /// too long.
    fn longest_request(
        &self,
        config: &FleetConfig,
        _input_tokens: u32,
        total_tokens: u32,
    ) -> Result<u32, Rejection> {
        if total_tokens > config.max_request_tokens {
            return Err(Rejection::RequestTooLong);
        }
        Ok(total_tokens)
    }

    /// Tokens of prompt and output at which every output is cut.
    fn cuts_outputs_at(&self, _config: &FleetConfig) -> u32 {
        u32::MAX
    }

    /// Requests are rejected while prompts that have no first token yet have this many tokens or more; `None` = no limit.
    fn max_queued_tokens(&self, _config: &FleetConfig) -> Option<u32> {
        None
    }

    /// Whether blocks of the KV cache are kept for requests with the same prefix, where that is asked for.
    fn caches_prefixes(&self) -> bool {
        false
    }

    /// Whether requests take blocks as they grow; otherwise all are reserved at admission.
    fn allocates_on_demand(&self, config: &FleetConfig) -> bool {
        !config.reserve
    }

    /// Whether the blocks belong to the batch and not to its requests.
    fn allocates_by_batch(&self) -> bool {
        false
    }

    /// Blocks that a request which is done gives back.
    fn blocks_at_end(&self, context: &ScheduleContext<'_>, id: RequestId) -> u32 {
        if self.allocates_on_demand(context.config) {
            context.config.blocks_for(context.total(id) - 1)
        } else {
            context.blocks_reserved(id)
        }
    }

    /// Whether requests that decode on several stages are picked from the list of all; otherwise they stay in their batch.
    fn mixes_batches(&self) -> bool {
        true
    }

    /// Where batches are not mixed: whether none waits for its next iteration.
    fn has_no_other_batch(&self, _replica: &Replica) -> bool {
        true
    }

    /// The requests of a batch that has ended on several stages are in no batch, and decode on in one that is formed again.
    fn takes_apart(&self, replica: &mut Replica, batch: &ScheduledBatch) {
        replica.running.extend_from_slice(&batch.members);
    }

    /// Whether a request that arrives at a busy replica with an empty queue can change what follows the present iteration.
    fn arrival_invalidates_decision(&self) -> bool {
        true
    }

    /// Whether every iteration looks at the head of the queue.
    fn looks_at_queue(&self) -> bool {
        true
    }

    /// For how many of `most` iterations, in which no request joins or leaves, the formed one is right.
    fn fast_forward_limit(&self, replica: &Replica, context: &ScheduleContext<'_>, most: u32) -> u32 {
        if self.allocates_on_demand(context.config) {
            // The blocks of its first iteration are taken.
            replica.decode_batch.iterations_within(replica.kv.available(), most)
        } else {
            most
        }
    }

    /// Whether an adapter of `blocks` may be loaded ahead. Every request that decodes may need a block before its request is
    /// admitted.
    fn has_room_ahead(&self, replica: &Replica, context: &ScheduleContext<'_>, blocks: u32) -> bool {
        let spare = u64::from(context.config.watermark_blocks) + u64::from(replica.num_running);
        u64::from(replica.kv.available()) >= u64::from(blocks) + spare
    }

    /// Blocks that the iterations under way take after the first one of them, where `begun` have begun.
    fn later_blocks(&self, replica: &Replica, config: &FleetConfig, begun: u32) -> u32 {
        if self.allocates_on_demand(config) { replica.decode_batch.new_blocks_over(1, begun - 1) } else { 0 }
    }

    /// How many of the iterations under way, `most` at the most, may end as one, of a replica of one stage that keeps no
    /// decode batch: before the last one of them ends they, and those that are formed meanwhile, differ by a token of each
    /// request only, if nothing arrives.
    fn iterations_alike(
        &self,
        _replica: &mut Replica,
        _context: &mut ScheduleContext<'_>,
        _most: u32,
    ) -> u32 {
        1
    }

    /// This many of those have ended, the last one now. Returns the blocks taken by the iteration that was formed then.
    fn end_alike(&self, _replica: &mut Replica, _context: &mut ScheduleContext<'_>, _iterations: u32) -> u32 {
        0
    }

    /// This many iterations have decoded.
    fn decoded(&self, _replica: &mut Replica, _context: &mut ScheduleContext<'_>, _iterations: u32) {}

    /// Puts requests that end together in the order in which they leave; they come by their numbers.
    fn order_ended(&self, _context: &ScheduleContext<'_>, _ended: &mut [RequestId]) {}

    /// A request that holds memory leaves: it decodes and has this many tokens, or `None`: it has not begun to decode.
    fn left(
        &self,
        _replica: &mut Replica,
        _context: &mut ScheduleContext<'_>,
        _id: RequestId,
        _decoded_to: Option<u32>,
    ) {
    }

    /// The settings as the scheduler takes them.
    fn configured(&self, config: FleetConfig) -> FleetConfig {
        config
    }

    /// The adapters that the replica manages for it.
    fn managed_adapters(&self, config: &FleetConfig) -> AdapterConfig {
        config.adapters
    }

    /// Whether requests that end together leave in an order of its own ([`Self::order_ended`]).
    fn orders_ended(&self) -> bool {
        false
    }

    /// Iterations of those under way that an arrival does not cut short.
    fn least_leap(&self, _replica: &Replica) -> u32 {
        0
    }

    /// When a replica that formed nothing looks again, microseconds; infinite: when it is notified of something.
    fn wakes_us(&self, _replica: &Replica) -> f64 {
        f64::INFINITY
    }

    /// The prompts of an iteration are processed; afterwards those that are whole join or leave, in their order.
    fn prompts_end(
        &self,
        _replica: &mut Replica,
        _context: &mut ScheduleContext<'_>,
        _batch: &ScheduledBatch,
    ) {
    }

    /// A request decodes from now on.
    fn joined(&self, _replica: &mut Replica, _context: &mut ScheduleContext<'_>, _id: RequestId) {}

    /// Whether the requests that decode may be kept in one decode batch, where a replica has one stage: all of them are then in
    /// every iteration that decodes.
    fn keeps_decode_batch(&self) -> bool {
        true
    }

    /// How many batches may be formed and not yet done, of a replica that keeps no decode batch.
    fn batches_under_way(&self, _config: &FleetConfig, stages: u32) -> u32 {
        stages
    }

    /// Whether an empty batch takes the place of another one until those formed before it are done.
    fn queues_empty_batches(&self) -> bool {
        false
    }

    /// Finds the requests that decode in the same iterations, of a replica of several stages whose empty batches take places;
    /// says whether until a group may not go on nothing changes but that each of its requests gets a token.
    fn find_groups(
        &self,
        _replica: &mut Replica,
        _context: &mut ScheduleContext<'_>,
        _groups: &mut DecodeGroups,
    ) -> bool {
        false
    }

    /// Iterations of groups were formed and have ended: writes down what their requests got.
    fn settle_groups(
        &self,
        _replica: &mut Replica,
        _context: &mut ScheduleContext<'_>,
        _groups: &mut DecodeGroups,
    ) {
    }

    /// The first stage takes a batch, of a replica that keeps no decode batch.
    fn begins(&self, _replica: &mut Replica, _context: &mut ScheduleContext<'_>, _batch: &ScheduledBatch) {}

    /// A batch has left the last stage, of a replica that keeps no decode batch: its requests are further.
    fn end_batch(
        &self,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
    ) {
        batch_end::end_batch(replica, context, batch);
    }

    /// A request that holds memory goes away.
    fn release_aborted(&self, replica: &mut Replica, context: &mut ScheduleContext<'_>, id: RequestId) {
        replica.release_aborted(context, id);
    }

    /// Writes down what was put off while only tokens were made.
    fn settle(&self, _replica: &mut Replica, _context: &mut ScheduleContext<'_>) {}

    /// The requests of a batch in the order in which they were chosen, where the scheduler keeps it.
    fn members(
        &self,
        _replica: &Replica,
        _context: &ScheduleContext<'_>,
        batch: &ScheduledBatch,
    ) -> Vec<Scheduled> {
        batch.scheduled.clone()
    }

    /// Tokens that a request has got and that are not written down, of a replica that keeps no decode batch; `None`: all are.
    fn unwritten_tokens(&self, _replica: &Replica, _requests: &Requests, _id: RequestId) -> Option<u32> {
        None
    }

    /// What requests hold, where the scheduler keeps it itself.
    fn held_blocks(&self, _replica: &Replica, _block_size: u32) -> Option<HeldBlocks> {
        None
    }

    /// The batch as the memory test knows it, where there is one.
    fn estimate<'a>(&self, _replica: &'a Replica) -> Option<&'a PeakKvEstimator> {
        None
    }

    /// Decode iterations since the last prefill, where that is a rule.
    fn decode_steps(&self, _replica: &Replica) -> Option<u32> {
        None
    }

    /// What a request waits for at a replica that is busy and whose last scan of the queue found nothing in the way: while the
    /// iteration under way at that scan lasts (`is_first`), or afterwards.
    fn awaits(&self, _is_first: bool) -> Awaited {
        Awaited::Iteration
    }

    /// The state of an empty replica.
    fn state(&self, _config: &FleetConfig, _trace: &Trace) -> State {
        State::default()
    }

    /// KV blocks in use counted from the scheduler's own state, where it keeps them itself, of single steps.
    fn audit(&self, _replica: &Replica) -> Option<u32> {
        None
    }

    /// An iteration has ended in which this many requests finished.
    fn ended(
        &self,
        _replica: &mut Replica,
        _context: &mut ScheduleContext<'_>,
        _batch: &mut ScheduledBatch,
        _finished: u32,
    ) {
    }
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

impl SchedulerKind {
    /// The scheduler.
    pub(crate) fn policy(self) -> &'static dyn BatchScheduler {
        match self {
            Self::Static => &static_batch::Static,
            Self::Orca => &orca::Orca,
            Self::Vllm => &vllm::Vllm,
            Self::Sarathi => &sarathi::Sarathi,
            Self::LightLlm => &lightllm::LightLlm,
            Self::VllmV1 => &vllm_v1::VllmV1,
            Self::Slora => &slora::Slora,
        }
    }
}

impl FleetConfig {
    /// The batch scheduler of every replica.
    pub(crate) fn policy(&self) -> &'static dyn BatchScheduler {
        self.scheduler.policy()
    }

    /// Whether requests take blocks as they grow.
    pub fn allocates_on_demand(&self) -> bool {
        self.policy().allocates_on_demand(self)
    }

    /// Whether replicas load the adapters of waiting requests ahead.
    pub(crate) fn loads_ahead(&self) -> bool {
        self.adapters.loads_ahead() && self.policy().managed_adapters(self).loads_ahead()
    }
}

/// What schedulers keep of a replica between iterations.
#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    light: lightllm::State,
    fixed: static_batch::State,
    vllm: vllm_v1::State,
    slora: Option<Box<slora::State>>,
}

impl State {
    /// Keeps the queue of a scheduler that has its own under this policy; says whether it has one.
    pub(crate) fn with_queue_policy(
        &mut self,
        queueing: &QueueConfig,
        config: &FleetConfig,
        trace: &Trace,
    ) -> bool {
        if let Some(slora) = &mut self.slora {
            slora.with_queue_policy(queueing, config, trace);
        }
        self.slora.is_some()
    }

    /// Whether the scheduler learns of arrivals between two iterations.
    pub(crate) fn reads_mail(&self) -> bool {
        self.slora.is_some()
    }

    /// A request comes in at `at_us`; says whether that can change what the replica does next.
    pub(crate) fn hears_of_arrival(&mut self, id: RequestId, at_us: f64) -> bool {
        self.slora.as_mut().is_some_and(|slora| slora.hears_of_arrival(id, at_us))
    }

    /// A request came in and was rejected; says whether the scheduler is notified.
    pub(crate) fn hears_of_refusal(&mut self, id: RequestId) -> bool {
        if let Some(slora) = &mut self.slora {
            slora.hears_of_refusal(id);
        }
        self.reads_mail()
    }

    /// A request is over that waited, or whose client has gone; says whether the scheduler is notified.
    pub(crate) fn hears_of_end(&mut self, id: RequestId, outcome: Outcome) -> bool {
        if let Some(slora) = &mut self.slora {
            slora.hears_of_end(id, outcome);
        }
        self.reads_mail()
    }

    /// Charges the clients of requests that decode for iterations, where the scheduler does that.
    pub(crate) fn charge(&mut self, iterations: u32) -> bool {
        if let Some(slora) = &mut self.slora {
            slora.charge(iterations);
        }
        self.slora.is_some()
    }

    /// Whether the scheduler's own queue counts service.
    pub(crate) fn keeps_counters(&self) -> bool {
        self.slora.as_ref().is_some_and(|slora| slora.keeps_counters())
    }

    /// The counters of the scheduler's own queue.
    pub(crate) fn counters(&mut self) -> Option<Vec<(ClientId, f64)>> {
        self.slora.as_mut().map(|slora| slora.counters())
    }

    /// The adapters of a scheduler that counts them itself.
    pub(crate) fn adapter_pool(&self) -> Option<&AdapterPool> {
        self.slora.as_ref().and_then(|slora| slora.adapter_pool())
    }
}

/// Forms the next iteration. Where nothing was formed because the only request that held memory was preempted, it is
/// admitted again at once; Vidur waits for the next arrival.
pub(crate) fn schedule_or_retry(
    policy: &(impl BatchScheduler + ?Sized),
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    batch: &mut ScheduledBatch,
) {
    let loads = snapshot::begins(replica, context);
    let preempted_before = context.record.preemptions.len();
    let waiting = replica.num_waiting;
    let mut scan = schedule(policy, replica, context, batch);
    let has_preempted = context.record.preemptions.len() > preempted_before;
    let only_preempted = has_preempted && batch.is_empty();
    if only_preempted
        && replica.num_running == 0
        && !context.config.reference_quirks
        && !policy.queues_empty_batches()
    {
        scan = schedule(policy, replica, context, batch);
    }
    replica.looks_again = only_preempted && batch.is_empty();
    batch.changes_again |= has_preempted;
    if let QueueScan::Stopped(stop) = scan {
        let stop = stop.or(replica.passes_over.then_some(BlockReason::LoraSlots));
        // Where every waiting request is skipped for want of a LoRA slot, any policy skips them all.
        let skips_all = stop == Some(BlockReason::LoraSlots) && replica.num_waiting == waiting;
        if waiting > 1 && !skips_all && !context.record.had_choice {
            context.record.had_choice = replica.num_waiting > 0 || leaves_prompt(context, batch);
        }
        if replica.num_waiting > 0 {
            replica.set_blocked_on(context, stop);
        }
    }
    if context.config.loads_ahead() && !batch.is_empty() {
        replica.prefetch(context);
    }
    snapshot::ends(replica, context, loads);
    if batch.any_adapter {
        batch.lora = replica.adapters.batch(context.trace, &replica.decode_batch, batch);
    }
    batch.in_memory = replica.adapters_in_memory();
}

/// Whether a part of some prompt is left for a later iteration.
fn leaves_prompt(context: &ScheduleContext<'_>, batch: &ScheduledBatch) -> bool {
    let is_left =
        |(&id, chunk): (&RequestId, &Chunk)| chunk.kv_tokens + chunk.tokens < context.requests.prompt[id];
    batch.prompts.iter().zip(&batch.chunks).any(is_left)
}

/// Forms an iteration; requests that were skipped for want of a LoRA slot are back in place then.
#[inline]
fn schedule(
    policy: &(impl BatchScheduler + ?Sized),
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    batch: &mut ScheduledBatch,
) -> QueueScan {
    replica.passes_over = false;
    replica.keep_ahead(context);
    let scan = policy.schedule(replica, context, batch);
    replica.waiting.put_back();
    scan
}

/// What forming an iteration found at the waiting queue.
#[derive(Debug, Clone, Copy)]
pub(crate) enum QueueScan {
    /// No request looked at it.
    Skipped,
    /// What its head stays for; `None`: no request stays, or requests that do were not looked at for lack of anything but time.
    Stopped(Option<BlockReason>),
}

/// For how many iterations in a row the formed one is right, if no request arrives: until a request is done, memory runs
/// short, or the policy looks again.
pub(crate) fn fast_forward(
    policy: &(impl BatchScheduler + ?Sized),
    replica: &mut Replica,
    context: &ScheduleContext<'_>,
    batch: &ScheduledBatch,
) -> u32 {
    // A preempted request may be admitted again by the next iteration, and others behind those that came back.
    if !batch.chunks.is_empty() || batch.changes_again {
        return 1;
    }
    let most = replica.decode_batch.until_end().min(steady(policy, replica, context));
    policy.fast_forward_limit(replica, context, most)
}

/// For how many iterations the head of the waiting queue stays the same, where that matters to the scheduler. A full batch lets
/// no request in, but round robin gives quanta when it is looked at.
fn steady(
    policy: &(impl BatchScheduler + ?Sized),
    replica: &mut Replica,
    context: &ScheduleContext<'_>,
) -> u32 {
    let config = context.config;
    let loads_ahead = config.loads_ahead();
    let looks = policy.looks_at_queue() || loads_ahead;
    if looks && replica.passes_over && replica.waiting.keeps_counters() {
        // The head is not the next request. Where none is, none will be before the batch changes, whichever the head is; but
        // round robin gives quanta when it is looked at, and that the head is skipped is a decision.
        let is_none = replica.adapters.admits_none()
            && !replica.waiting.takes_turns()
            && !context.record.decisions.is_on();
        return if is_none { u32::MAX } else { 1 };
    }
    // That the head is skipped before the cap is found is a decision, too.
    let tells_skipped = context.record.decisions.is_on() && config.adapters.memory == AdapterMemory::Slots;
    let is_full = replica.stop == Some(BlockReason::RunningCap)
        && !replica.waiting.takes_turns()
        && !loads_ahead
        && !tells_skipped;
    if looks && replica.num_waiting > 0 && !is_full { replica.waiting.steady() } else { u32::MAX }
}
