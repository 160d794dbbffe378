//! One replica: its waiting queue, the requests that hold memory, its KV blocks.
//!
//! A replica of one pipeline stage keeps the requests that decode in a [`DecodeBatch`]; one of several stages keeps them in
//! a list, from which up to as many batches as it has stages are in the pipeline. For schedulers that give tokens to requests one by
//! one it has a [`RunningList`], and only those requests in the decode batch that decode in every iteration.

mod adapter_loading;
pub(crate) mod adapter_users;
pub mod adapters;
pub(crate) mod batch_end;
pub(crate) mod batch_scheduler;
pub(crate) mod context;
mod decisions;
pub(crate) mod decode_batch;
mod decodes;
mod departures;
pub(crate) mod holding;
pub(crate) mod iteration;
pub(crate) mod kv_cache;
pub(crate) mod kv_connector;
pub(crate) mod longest_gap;
pub mod peak_memory;
mod pinned;
mod preemption;
mod prefill_end;
pub mod queue;
pub(crate) mod requests;
pub(crate) mod run;
pub(crate) mod running_list;
pub(crate) mod scheduler;
pub mod snapshot;
mod stage_times;
mod streamed_input;

use std::sync::Arc;

use crate::block_numbers::BlockNumbers;
use crate::client::ClientId;
use crate::replica_index::ReplicaIndex;
use servescope_cost::BatchCost;
use servescope_workload::{RequestId, Trace};

use crate::config::PoolConfig;
use crate::record::decisions::{Compared, Test, Verdict};
use crate::record::replica_life::ReplicaLife;
use crate::record::request_state::RequestStatus;
use crate::record::request_timings::PrefixLookups;
use crate::record::timeline::{IterationRun, QueueBlockage};
use crate::replica::adapters::Adapters;
use crate::replica::batch_scheduler::{
    BatchEvent, BatchScheduler, Effect, OwnQueue, ScheduleContext, SchedulerFacts,
};
use crate::replica::decode_batch::DecodeBatch;
use crate::replica::holding::Holding;
use crate::replica::iteration::{HeadBlocked, ScheduledBatch};
use crate::replica::kv_cache::KvCache;
use crate::replica::kv_connector::KvConnector;
use crate::replica::longest_gap::{SharedGaps, longer_of};
use crate::replica::pinned::PinnedBlocks;
use crate::replica::queue::waiting_queue::WaitingQueue;
use crate::replica::run::BatchRun;
use crate::replica::running_list::RunningList;
use crate::replica::snapshot::ReplicaCamera;
use crate::request::{BlockReason, Outcome};

/// The state of one replica.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a state of its own")]
pub(crate) struct Replica {
    pub(crate) index: ReplicaIndex,
    pub(crate) life: ReplicaLife,
    pub(crate) stages: u32,
    keeps_decode_batch: bool,
    facts: SchedulerFacts,
    /// Whether the scheduler writes down each iteration's tokens by itself.
    pub(crate) writes_every_iteration: bool,
    pub(crate) waiting: WaitingQueue,
    /// How many wait.
    pub(crate) num_waiting: u32,
    /// Whether memory became free after the last scan of the waiting queue, by preemptions that left nothing to do: the next
    /// arrival has the replica look again.
    pub(crate) looks_again: bool,
    /// What held the head of the waiting queue at the last look, as written down.
    pub(crate) stop: Option<BlockReason>,
    /// Why the batch that was formed last with a look at the queue was formed without its head, in a pipeline.
    pub(crate) refused: Option<HeadBlocked>,
    /// Requests whose clients went away and that are part of what the replica works on.
    pub(crate) pending_aborts: Vec<RequestId>,
    /// Requests that decode and are in no batch, in the order of the policy. Of one stage: all that decode, and possibly
    /// some that are gone.
    pub(crate) running: Vec<RequestId>,
    /// Of one stage: partly prefilled prompts that the last iteration had no room for; they stand before `running`.
    pub(crate) deferred_prefills: Vec<RequestId>,
    /// Of one stage: partly prefilled prompts of the last iteration; they stand behind `running`.
    pub(crate) partial_prefills: Vec<RequestId>,
    /// Partly prefilled prompts set aside while an iteration is formed.
    pub(crate) prefills_this_step: Vec<RequestId>,
    scratch: Vec<RequestId>,
    /// Requests whose last token came with the iteration that ends; empty in between.
    pub(crate) ended: Vec<RequestId>,
    pub(crate) decode_batch: DecodeBatch,
    /// The requests that run, where the scheduler gives tokens to them one by one.
    pub(crate) running_list: RunningList,
    pub(crate) kv: KvCache,
    /// The tier below it.
    pub(crate) kv_connector: Option<Box<KvConnector>>,
    /// Requests that hold blocks and wait.
    pub(crate) holding: Holding,
    /// Blocks of prompts that were computed here for decode replicas.
    pub(crate) pinned: PinnedBlocks,
    pub(crate) adapters: Adapters,
    /// Whether the last scan of the waiting queue passed over requests for whose adapters there is no LoRA slot.
    pub(crate) passes_over: bool,
    /// Requests that run: those that hold KV memory.
    pub(crate) num_running: u32,
    /// Requests that wait or hold memory.
    pub(crate) outstanding: u32,
    /// Blocks that the prompts of the waiting queue will take.
    pub(crate) waiting_prompt_blocks: u64,
    /// Batches in the pipeline.
    pub(crate) in_flight: u32,
    /// Which pass of a wave it forms a batch for, of a rank that runs passes together with others.
    pub(crate) pass_step: Option<u32>,
    /// Batches formed so far, of a replica that keeps no decode batch.
    pub(crate) formed: u64,
    /// The scheduler, which is out while it works on this replica.
    scheduler: Option<Box<dyn BatchScheduler>>,
    /// How long requests that decode stood still while prompts alone were processed, so far.
    pub(crate) stall_us: f64,
    /// Requests in the decode batch by the time of their last token: (how many, when).
    pub(crate) last_token_groups: Vec<(u32, f64)>,
    /// Gaps between tokens of the decode batch.
    pub(crate) shared_gaps: SharedGaps,
    /// Requests that came back to the decode batch and have no token since: (which, last token).
    pub(crate) resumed: Vec<(RequestId, f64)>,
    /// End of the last iteration in which the decode batch decoded.
    pub(crate) decoded_us: f64,
    /// The iterations since the batch last changed, the batch they share, how many are under way.
    pub(crate) run: Option<BatchRun>,
    /// Iterations that are over and not yet written down, of one stage without a decode batch: others may follow them.
    pub(crate) open: Option<IterationRun>,
    /// The iteration under way, of one that keeps a decode batch.
    pub(crate) batch: Option<Box<ScheduledBatch>>,
    pub(crate) fast_forwarded: u32,
    /// So many of the iterations under way are not cut short by an arrival.
    pub(crate) sure_iterations: u32,
    /// Iterations under way whose tokens are charged.
    pub(crate) charged: u32,
    /// What a debugger keeps of the replica while it looks.
    camera: Option<Box<ReplicaCamera>>,
}

impl Replica {
    pub(crate) fn new(
        index: ReplicaIndex,
        life: ReplicaLife,
        (config, block_numbers): (&PoolConfig, &[Arc<BlockNumbers>]),
        facts: SchedulerFacts,
        trace: &Trace,
        cost: &dyn BatchCost,
    ) -> Self {
        let stages = cost.stages().max(1);
        let adapters = Adapters::new(&facts.managed_adapters, config.block_size, trace);
        let keeps_decode_batch = stages == 1 && !facts.lists_running;
        Self {
            index,
            life,
            stages,
            keeps_decode_batch,
            facts,
            writes_every_iteration: false,
            waiting: WaitingQueue::default().listing_by_adapter(trace, adapters.has_short_slots(trace)),
            num_waiting: 0,
            looks_again: false,
            stop: None,
            refused: None,
            pending_aborts: Vec::new(),
            running: Vec::new(),
            deferred_prefills: Vec::new(),
            partial_prefills: Vec::new(),
            prefills_this_step: Vec::new(),
            scratch: Vec::new(),
            ended: Vec::new(),
            decode_batch: DecodeBatch::new(config.block_size, cost.reads_lora()),
            running_list: RunningList::default(),
            kv: KvCache::new(config, block_numbers, stages + facts.batches_ahead),
            kv_connector: KvConnector::new(index, config, block_numbers.first()),
            holding: Holding::default(),
            pinned: PinnedBlocks::default(),
            adapters,
            passes_over: false,
            num_running: 0,
            outstanding: 0,
            waiting_prompt_blocks: 0,
            in_flight: 0,
            pass_step: None,
            formed: 0,
            scheduler: None,
            stall_us: 0.0,
            last_token_groups: Vec::new(),
            shared_gaps: SharedGaps::default(),
            resumed: Vec::new(),
            decoded_us: f64::NEG_INFINITY,
            run: None,
            open: None,
            batch: keeps_decode_batch.then(Box::default),
            fast_forwarded: 0,
            sure_iterations: 0,
            charged: 0,
            camera: None,
        }
    }

    /// The scheduler. It is there whenever it does not work itself.
    pub(crate) fn scheduler(&self) -> &dyn BatchScheduler {
        self.scheduler.as_deref().expect("the scheduler is asked while it does not work")
    }

    /// Lets the scheduler work on the replica.
    pub(crate) fn with_scheduler<T>(
        &mut self,
        work: impl FnOnce(&mut dyn BatchScheduler, &mut Self) -> T,
    ) -> T {
        let mut scheduler = self.scheduler.take().expect("a scheduler works on one thing at a time");
        let result = work(&mut *scheduler, self);
        self.scheduler = Some(scheduler);
        result
    }

    /// Gives it its scheduler, before anything happens.
    pub(crate) fn set_scheduler(&mut self, scheduler: Box<dyn BatchScheduler>) {
        self.scheduler = Some(scheduler);
    }

    /// Tells the scheduler of something that has happened; says what that can change.
    pub(crate) fn happened(&mut self, context: &mut ScheduleContext<'_>, event: BatchEvent<'_>) -> Effect {
        let effect = self.with_scheduler(|own, replica| own.happened(replica, context, event));
        if effect == Effect::Next {
            self.sure_iterations = 0;
        }
        effect
    }

    /// Whether no request waits with blocks, and nothing changes for a connector while requests that run decode.
    pub(crate) fn is_quiet(&self) -> bool {
        self.holding.is_empty() && self.kv_connector.as_ref().is_none_or(|tier| tier.is_quiet())
    }

    /// What admitted requests asked the prefix cache for; none without one.
    pub(crate) fn prefix_lookups(&self) -> Option<PrefixLookups> {
        self.kv.prefix_lookups().or_else(|| self.scheduler().counts().prefix_lookups)
    }

    /// The waiting queue that the scheduler keeps itself.
    fn own_queue(&mut self) -> Option<&mut dyn OwnQueue> {
        self.scheduler.as_mut().and_then(|own| own.queue_mut())
    }

    /// Blocks that the iterations under way take after the first one of them, where `begun` have begun.
    pub(crate) fn later_blocks(&self, begun: u32) -> u32 {
        if self.facts.lists_running {
            self.decode_batch.new_blocks_over(0, begun - 1) * self.kv.blocks_at_border()
        } else if self.facts.allocates_on_demand() {
            self.decode_batch.new_blocks_over(1, begun - 1)
        } else {
            0
        }
    }

    /// Requests that decode in the iterations under way.
    pub(crate) fn decodes(&self) -> u32 {
        self.batch.as_ref().map_or(0, |batch| batch.decodes)
    }

    /// Whether it has one pipeline stage and keeps requests that decode in a decode batch.
    pub(crate) fn is_single(&self) -> bool {
        self.keeps_decode_batch
    }

    /// KV blocks in use at a time within the iterations under way.
    pub(crate) fn used_at(&self, now_us: f64) -> u32 {
        match &self.run {
            Some(run) if self.in_flight > 0 && self.fast_forwarded > 1 => {
                let begun = run.first_end_from(now_us, run.done + self.fast_forwarded) - run.done;
                self.kv.used() + self.later_blocks(begun) - self.running_list.skipped_later(self, begun - 1)
            }
            _ => self.kv.used(),
        }
    }

    /// Tokens in KV memory before an iteration: of one stage all, otherwise those of its own requests and those that stand still
    /// for it.
    pub(crate) fn kv_tokens(&self, batch: &ScheduledBatch) -> u64 {
        let prompts: u64 = batch.chunks.iter().map(|c| u64::from(c.kv_tokens)).sum();
        let others = batch.idle_kv_tokens;
        prompts + others + if self.is_single() { self.decode_batch.kv_tokens } else { batch.decode_kv_tokens }
    }

    /// Most requests in one batch: the stages share the cap. In Vidur a cap below their number serves no request.
    pub(crate) fn batch_cap(&self, config: &PoolConfig) -> u32 {
        (config.max_requests / self.stages).max(u32::from(!config.reference_quirks))
    }

    /// Whether `blocks` can be given to the head of the queue, beside its adapter. What would never fit above the watermark may
    /// use it when no other request holds memory, unless Vidur's behaviour is selected.
    pub(crate) fn has_room(&self, context: &ScheduleContext<'_>, id: RequestId, blocks: u32) -> bool {
        let config = context.config;
        let Some(free) = self.free_beside_adapter(context, id) else { return false };
        let need = u64::from(blocks) + u64::from(config.watermark_blocks);
        u64::from(free) >= need || (!config.reference_quirks && self.num_running == 0 && free >= blocks)
    }

    /// Blocks that are free once the adapter of a waiting request is in memory; `None` where it does not fit.
    pub(crate) fn free_beside_adapter(&self, context: &ScheduleContext<'_>, id: RequestId) -> Option<u32> {
        self.kv.available().checked_sub(self.adapters.blocks_to_load(context.adapter(id).0))
    }

    /// Why a request, which is the first of those that may be admitted, does not join the iteration; `None`: it does. As many
    /// requests run as may (`max_num_seqs`), or the token budget is used up, or its KV cache does not fit. What the tests
    /// compared is asked for where decisions are kept.
    pub(crate) fn admission_block_reason(
        &self,
        context: &mut ScheduleContext<'_>,
        batch: &ScheduledBatch,
        (id, has_budget, has_room): (RequestId, bool, bool),
        compared: impl FnOnce(&ScheduleContext<'_>, bool) -> Compared,
    ) -> Option<BlockReason> {
        let config = context.config;
        // Memory comes last: while one batch runs nothing else changes, and the answer stays the same.
        let stop = if self.num_running >= config.max_requests || batch.size() >= self.batch_cap(config) {
            Some(BlockReason::RunningCap)
        } else if self.head_is_swapped_out(context) {
            Some(BlockReason::Memory)
        } else if !has_budget {
            Some(BlockReason::PromptBudget)
        } else if !has_room {
            Some(BlockReason::Memory)
        } else {
            None
        };
        if context.record.decisions.is_on() {
            self.record_decision(context, batch, id, stop, compared);
        }
        stop
    }

    /// From now on the waiting queue stands for `stop`, or for no more than the next look at it.
    pub(crate) fn set_blocked_on(&mut self, context: &mut ScheduleContext<'_>, stop: Option<BlockReason>) {
        if stop != self.stop {
            self.stop = stop;
            context.record.holds.push(QueueBlockage { start_us: context.now_us, replica: self.index, stop });
        }
    }

    /// The next request that may be admitted: the head of the waiting queue, or behind it the first for whose adapter there is
    /// a LoRA slot. Those before it are passed over and go back to their places when the iteration is formed.
    pub(crate) fn candidate(&mut self, context: &mut ScheduleContext<'_>) -> Option<RequestId> {
        let id = self.head(context)?;
        if self.adapters.admits(context.adapter(id).0) { Some(id) } else { self.pass_over(context) }
    }

    /// Passes the head of the queue over, for whose adapter there is no LoRA slot, and those behind it of which this is true,
    /// too; the request that comes after them is the head until the iteration is formed.
    pub(crate) fn pass_over(&mut self, context: &mut ScheduleContext<'_>) -> Option<RequestId> {
        let mut skipped = context.record.decisions.is_on().then(Vec::new);
        let head = if self.adapters.admits_none() {
            if let Some(skipped) = &mut skipped {
                skipped.extend(self.head(context));
            }
            None
        } else {
            let is_gone = |id| context.is_gone(id);
            self.waiting.skip_to_slots(context.trace, self.adapters.in_use(), is_gone, skipped.as_mut())
        };
        self.passes_over = true;
        for id in skipped.into_iter().flatten() {
            self.record_no_slot(context, id);
        }
        head
    }

    /// A request is skipped, for whose adapter there is no LoRA slot.
    pub(crate) fn record_no_slot(&mut self, context: &mut ScheduleContext<'_>, id: RequestId) {
        self.passes_over = true;
        let (in_use, slots) = (self.adapters.in_use().len(), self.adapters.max_loras());
        let compared = || Compared::new(Test::LoraSlots, in_use + 1, slots);
        context.decided(self.index, id, Verdict::Skipped, compared);
    }

    /// The head of the waiting queue.
    #[inline]
    pub(crate) fn head(&mut self, context: &ScheduleContext<'_>) -> Option<RequestId> {
        self.waiting.head(|id| context.is_gone(id))
    }

    /// A request joins the waiting queue; says whether that can change what the replica does next. A queue that stands still
    /// behind its head does so until something ends, whichever request joins, unless memory became free after the last look.
    pub(crate) fn enqueue(&mut self, context: &mut ScheduleContext<'_>, id: RequestId) -> bool {
        // Those that wait with blocks are not in the queue.
        let with_blocks = self.holding.waiting().filter(|holder| !holder.awaits_input()).count();
        let was_empty = self.num_waiting as usize == with_blocks;
        self.charge_ended(context);
        context.requests[id].leg.replica = self.index;
        self.num_waiting += 1;
        self.outstanding += 1;
        // Behind a head that stays: the next look may be many iterations away, and is not waited for.
        let head_stays = self.stop.is_some_and(|stop| stop != BlockReason::LoraSlots);
        context.record.had_choice |= self.num_waiting > 1 && head_stays;
        self.waiting_prompt_blocks += u64::from(self.kv.blocks_for_whole(0, context.requests[id].prompt));
        let adapter = context.adapter(id).0;
        self.adapters.waits(adapter);
        let effect = self.happened(context, BatchEvent::Arrived(id));
        if self.facts.keeps_queue {
            return effect != Effect::None;
        }
        let head = if self.waiting.is_ranked() { self.head(context) } else { None };
        let is_unsteady = self.waiting.push(context.trace, id, context.now_us);
        // Where the whole queue was scanned, or it is sorted, others than the head may be next.
        let may_pass = self.passes_over
            && self.adapters.admits(adapter)
            && (self.waiting.is_ranked() || self.stop == Some(BlockReason::LoraSlots));
        let has_other_head = was_empty || (self.waiting.is_ranked() && self.head(context) != head);
        if has_other_head {
            self.set_blocked_on(context, None);
        }
        // Whether its adapter has a slot is a decision: it is taken when the next iteration is formed, also in a fast-forward.
        let is_told = self.stages == 1 && self.passes_over && context.record.decisions.is_on();
        has_other_head || is_unsteady || self.looks_again || may_pass || is_told
    }

    /// Charges the clients of requests that decode for the iterations under way that are over.
    pub(crate) fn charge_ended(&mut self, context: &ScheduleContext<'_>) {
        let Some(run) = &self.run else { return };
        if self.keeps_counters() && self.in_flight > 0 && self.decodes() > 0 {
            let next = run.first_end_from(context.now_us, run.done + self.fast_forwarded);
            let is_over = context.ends_are_over && run.time_after(next) <= context.now_us;
            let over = next - run.done - u32::from(!is_over);
            self.charge(over.saturating_sub(self.charged));
            self.charged = self.charged.max(over);
        }
    }

    /// Charges the clients of requests that decode for this many iterations.
    pub(crate) fn charge(&mut self, iterations: u32) {
        match self.own_queue() {
            Some(queue) => queue.charge(iterations),
            None => self.waiting.decoded(iterations),
        }
    }

    /// Whether clients are charged for what they are served.
    pub(crate) fn keeps_counters(&self) -> bool {
        let own = self.scheduler().counts().queue;
        own.map_or_else(|| self.waiting.keeps_counters(), OwnQueue::keeps_counters)
    }

    /// Every client's counter.
    pub(crate) fn counters(&mut self) -> Vec<(ClientId, f64)> {
        match self.own_queue() {
            Some(queue) => queue.counters(),
            None => self.waiting.counters(),
        }
    }

    /// The head of the waiting queue gets `blocks` and its first chunk of `tokens`.
    pub(crate) fn admit(
        &mut self,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
        blocks: u32,
        tokens: u32,
    ) {
        if let Some(id) = self.pop_waiting(context) {
            self.start(context, batch, id, blocks, tokens);
        }
    }

    /// A request that has left the queue gets `blocks` and its first chunk of `tokens`.
    pub(crate) fn start(
        &mut self,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
        id: RequestId,
        blocks: u32,
        tokens: u32,
    ) {
        self.acquire_adapter(context, batch, id);
        self.kv.allocate(blocks);
        self.num_running += 1;
        context.holds_memory(id, RequestStatus::Prefilling);
        let request = &mut context.requests[id];
        if request.leg.scheduled_us.is_nan() {
            request.leg.scheduled_us = context.now_us;
            request.updated_us = context.now_us;
        } else {
            context.resume(id);
        }
        context.add_chunk(batch, id, tokens);
    }

    /// Tokens processed so far.
    pub(crate) fn tokens(&self, context: &ScheduleContext<'_>, id: RequestId) -> u32 {
        if self.is_single() { context.tokens_in(&self.decode_batch, id) } else { context.requests[id].done }
    }

    /// Blocks that a request holds.
    pub(crate) fn blocks_of(&self, context: &ScheduleContext<'_>, id: RequestId) -> u32 {
        match context.requests[id].status {
            _ if !context.facts.allocates_on_demand() => context.blocks_at_end(id),
            RequestStatus::Prefilling => context.config.blocks_for(context.requests[id].prompt),
            _ => context.config.blocks_for(self.tokens(context, id) - 1),
        }
    }

    /// A request that holds memory and is not done leaves the batch and gives its blocks back. Returns its tokens so far.
    pub(crate) fn leave_batch(
        &mut self,
        context: &mut ScheduleContext<'_>,
        id: RequestId,
        blocks: u32,
    ) -> u32 {
        self.close_run(context, &[]);
        let i = id.index();
        let tokens = self.tokens(context, id);
        if context.requests[i].status == RequestStatus::Decoding {
            if self.is_single() {
                self.decode_batch.leave(context.member(id, tokens));
                self.waiting.decodes(context.trace, id, false);
                let token_us = self.decoded_us.max(context.requests[i].updated_us);
                self.remove_last_token_group(token_us);
                self.share_gaps(context, id);
                self.resumed.retain(|&(other, _)| other != id);
                context.requests.token_us.insert(id, token_us);
                context.requests[i].stalled_us += self.stall_us;
                context.requests[i].updated_us = context.now_us;
            } else {
                context.requests.token_us.insert(id, context.requests[i].updated_us);
            }
        }
        self.kv.free(blocks);
        let (adapter, rank) = context.adapter(id);
        self.adapters.release(adapter, rank);
        self.num_running -= 1;
        tokens
    }

    pub(crate) fn remove_last_token_group(&mut self, token_us: f64) {
        if let Some(place) = self.last_token_groups.iter().position(|s| s.1 == token_us) {
            self.last_token_groups[place].0 -= 1;
            if self.last_token_groups[place].0 == 0 {
                self.last_token_groups.remove(place);
            }
        }
    }

    /// A request that leaves the decode batch has had the gaps of the batch.
    #[inline]
    fn share_gaps(&mut self, context: &mut ScheduleContext<'_>, id: RequestId) {
        let request = &mut context.requests[id];
        let gap_us = self.shared_gaps.longest_from(request.updated_us);
        request.longest_gap_us = longer_of(request.longest_gap_us, gap_us);
        if self.decode_batch.count == 0 {
            self.shared_gaps.clear();
        }
    }

    /// The last token of a request in the decode batch is there.
    pub(crate) fn finish_decoding(&mut self, context: &mut ScheduleContext<'_>, id: RequestId) {
        let tokens = context.total(id);
        self.decode_batch.leave(context.member(id, tokens));
        self.waiting.decodes(context.trace, id, false);
        self.remove_last_token_group(context.now_us);
        self.share_gaps(context, id);
        context.requests[id].stalled_us += self.stall_us;
        self.happened(context, BatchEvent::Left(id, Some(tokens)));
        let blocks = context.blocks_held_at(id, tokens);
        self.finish(context, id, tokens, blocks);
    }

    /// A request is done with this many tokens and gives `blocks` back.
    pub(crate) fn finish(
        &mut self,
        context: &mut ScheduleContext<'_>,
        id: RequestId,
        tokens: u32,
        blocks: u32,
    ) {
        self.complete(context, id, tokens);
        self.kv.free(blocks);
        let (adapter, rank) = context.adapter(id);
        self.adapters.release(adapter, rank);
        self.num_running -= 1;
        if self.is_single() && self.running.len() > 2 * self.decode_batch.count as usize + 64 {
            let requests = &context.requests;
            self.running.retain(|&id| requests[id].status != RequestStatus::Finished);
        }
    }

    /// A request has its whole answer: with the prompt this many tokens.
    pub(crate) fn complete(&mut self, context: &mut ScheduleContext<'_>, id: RequestId, tokens: u32) {
        let produced = tokens - context.trace.input_tokens[id];
        context.requests[id].status = RequestStatus::Finished;
        let result = &mut context.record.results[id];
        result.finish_us = Some(context.now_us);
        result.produced = produced;
        if result.outcome == Outcome::Unfinished {
            result.outcome = Outcome::Completed;
        }
        context.record.ends(id);
        self.waiting.ended(context.trace, id, produced, true);
        self.outstanding -= 1;
    }
}
