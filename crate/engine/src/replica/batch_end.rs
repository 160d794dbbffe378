//! The end of a batch in the last pipeline stage. Nothing is written for its requests while they decode together: what they
//! got is made up for when one of them is done, a client goes away or another request may join.
// PERF: a third fewer instructions a run of four stages, and half the time; guarded by the test `leaps_equal_steps`.

use servescope_workload::RequestId;

use super::Replica;
use super::batch_scheduler::ScheduleContext;
use super::iteration::{HeadBlocked, ScheduledBatch, Unwritten};
use super::requests::RequestStatus;
use super::run::{busy_us, written};
use crate::config::FleetConfig;
use crate::record::request_phases::{SharedIteration, prefill_in_iteration_us};
use crate::request::BlockReason;

/// Notes what a batch that ends held beside its requests that decode, where that is asked for.
pub(crate) fn share_iteration(context: &mut ScheduleContext<'_>, batch: &ScheduledBatch, start_us: f64) {
    let copying_us = context.config.copying_us(batch.copied_blocks);
    let is_plain = batch.chunks.is_empty() && copying_us == 0.0 && batch.load_us == 0.0;
    if is_plain || !context.record.phases.is_on() {
        return;
    }
    let prefill_us = prefill_in_iteration_us(context.cost, &batch.batch());
    let (end_us, load_us) = (context.now_us, batch.load_us);
    let iteration =
        SharedIteration { request: RequestId::default(), start_us, end_us, load_us, copying_us, prefill_us };
    context.record.phases.share(&batch.members, iteration);
}

/// Whether a batch ends in which every request gets a token and goes on; its requests are to be written down later.
pub(crate) fn ends_alike(
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    batch: &mut ScheduledBatch,
) -> bool {
    let ends = may_end_alike(replica, context, batch) && batch.unwritten.next_is_not_last();
    if ends {
        end_unwritten(replica, context, batch);
    }
    ends
}

/// Whether the batch can be one whose requests are written down later: each gets a token, and none joins them.
fn may_end_alike(replica: &mut Replica, context: &ScheduleContext<'_>, batch: &mut ScheduledBatch) -> bool {
    let policy = context.policy;
    let is_told_at_once = context.steps_singly
        || context.record.first_tokens.is_some()
        || replica.waiting.keeps_counters()
        || policy.queues_empty_batches();
    let is_plain = batch.chunks.is_empty() && batch.copied_blocks == 0 && batch.load_us == 0.0;
    !is_told_at_once
        && is_plain
        && replica.admits_none_beside(context, batch)
        && (batch.unwritten.iterations > 0 || begin_unwritten(context, batch))
}

/// A batch ends whose requests are written down later.
fn end_unwritten(replica: &mut Replica, context: &mut ScheduleContext<'_>, batch: &mut ScheduledBatch) {
    let (start_us, end_us) = (batch.formed_us, context.now_us);
    if batch.unwritten.iterations == 0 {
        batch.unwritten.record = Some(written(replica, context, batch, start_us, batch.decodes));
    } else if let Some(run) = &mut batch.unwritten.record {
        (run.start_us, run.end_us, run.first_us) = (start_us, end_us, end_us - start_us);
        run.busy_us = busy_us(replica, batch.busy_us, end_us);
        run.kv_tokens = batch.decode_kv_tokens as f64;
        run.blocks = replica.kv.used();
        (run.resident_adapters, run.adapter_tokens) = batch.in_memory;
    }
    let unwritten = &mut batch.unwritten;
    unwritten.iterations += 1;
    unwritten.execution_us.push(batch.busy_us);
    unwritten.ended_us = end_us;
    unwritten.longest_us = unwritten.longest_us.max(end_us - start_us);
    replica.in_flight -= 1;
    if let Some(run) = &unwritten.record {
        context.record.iterations.push(run, &[]);
    }
}

/// Whether batches take turns that end and are formed again alike, where this is one of those under way: until one of its
/// requests is done or blocks run short, which [`next_turn`] says, or something arrives.
pub(crate) fn takes_turns(
    replica: &mut Replica,
    context: &ScheduleContext<'_>,
    batch: &mut ScheduledBatch,
) -> bool {
    let is_told = |stop: BlockReason| replica.stop == Some(stop);
    (replica.num_waiting == 0
        || !context.policy.mixes_batches()
        || batch.refused.is_some_and(|refused| is_told(refused.stop)))
        && may_end_alike(replica, context, batch)
}

/// Marks a batch that does not take turns as one with whose end they are over; says whether it can be.
pub(crate) fn ends_once(batch: &mut ScheduledBatch) -> bool {
    let can_be = batch.unwritten.iterations == 0;
    if can_be {
        batch.unwritten.first_done = 0;
    }
    can_be
}

/// The iteration under way of a batch that [`takes_turns`] ends at a time, and the next one of the same requests is formed.
/// Says whether that can be; otherwise nothing is changed.
#[inline]
pub(crate) fn next_turn(
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    batch: &mut ScheduledBatch,
    end_us: f64,
) -> bool {
    let unwritten = &batch.unwritten;
    if !unwritten.next_is_not_last() {
        return false;
    }
    let blocks = unwritten.new_blocks(context.config, unwritten.iterations + 1);
    if !has_room(replica, context, blocks) {
        return false;
    }
    context.now_us = end_us;
    end_unwritten(replica, context, batch);
    form_unwritten(replica, context, batch, blocks);
    true
}

/// Looks at every request of a batch whose tokens are to be written down later; says whether each follows the one before it.
fn begin_unwritten(context: &ScheduleContext<'_>, batch: &mut ScheduledBatch) -> bool {
    let ScheduledBatch { unwritten, members, formed_us, .. } = batch;
    let size = context.config.block_size;
    unwritten.first_done = u32::MAX;
    unwritten.phases.clear();
    unwritten.phases.resize(size as usize, 0);
    for &id in &*members {
        let done = context.requests.done[id];
        unwritten.first_done = unwritten.first_done.min(context.total(id) - done);
        unwritten.phases[((done - 1) % size) as usize] += 1;
        if context.requests.seen_us[id] != *formed_us {
            return false;
        }
    }
    true
}

/// Forms a batch of the requests of the one that has just ended, if they decode on and no other request may join.
pub(crate) fn forms_alike(
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    batch: &mut ScheduledBatch,
) -> bool {
    let blocks = batch.unwritten.new_blocks(context.config, batch.unwritten.iterations);
    if !replica.admits_none_beside(context, batch) || !has_room(replica, context, blocks) {
        return false;
    }
    let looks_at_queue = context.policy.mixes_batches() && replica.num_waiting > 0;
    if let (Some(refused), true) = (batch.refused, looks_at_queue) {
        replica.set_blocked_on(context, Some(refused.stop));
    }
    form_unwritten(replica, context, batch, blocks);
    true
}

/// Whether this many blocks are free, and one more: where requests take them as they grow.
#[inline]
fn has_room(replica: &Replica, context: &ScheduleContext<'_>, blocks: u32) -> bool {
    !context.config.allocates_on_demand() || replica.kv.available() > blocks
}

/// The next iteration of the same requests takes this many blocks.
fn form_unwritten(
    replica: &mut Replica,
    context: &ScheduleContext<'_>,
    batch: &mut ScheduledBatch,
    blocks: u32,
) {
    replica.kv.allocate(blocks);
    replica.in_flight += 1;
    replica.formed += 1;
    replica.looks_again = false;
    replica.passes_over = replica.num_waiting > 0
        && context.policy.mixes_batches()
        && batch.refused.is_some_and(|refused| refused.stop == BlockReason::LoraSlots);
    batch.number = replica.formed;
    batch.formed_us = context.now_us;
    batch.decode_kv_tokens += u64::from(batch.decodes);
    batch.busy_us = 0.0;
    batch.inner_us = None;
    batch.last_us = None;
    batch.in_memory = replica.adapters_in_memory();
}

/// Writes down what the requests of a batch got.
pub(crate) fn write_down(context: &mut ScheduleContext<'_>, batch: &mut ScheduledBatch) {
    let unwritten = &mut batch.unwritten;
    if unwritten.iterations == 0 {
        return;
    }
    for &id in &batch.members {
        let i = id.index();
        context.requests.done[i] += unwritten.iterations;
        context.requests.seen_us[i] = unwritten.ended_us;
        context.requests.waited_for_token(id, unwritten.longest_us);
        let execution_us = &mut context.requests.execution_us[i];
        unwritten.execution_us.iter().for_each(|us| *execution_us += us);
    }
    unwritten.iterations = 0;
    unwritten.longest_us = 0.0;
    unwritten.execution_us.clear();
}

/// The requests of a batch that ended are written down, and in no batch.
pub(crate) fn take_apart(
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    batch: &mut ScheduledBatch,
) {
    write_down(context, batch);
    context.policy.takes_apart(replica, batch);
}

impl Unwritten {
    /// Whether no request is done with the next iteration.
    fn next_is_not_last(&self) -> bool {
        self.iterations + 1 < self.first_done
    }

    /// Blocks that the iteration takes which comes after this many of them.
    fn new_blocks(&self, config: &FleetConfig, iterations: u32) -> u32 {
        if !config.allocates_on_demand() {
            return 0;
        }
        let size = self.phases.len();
        self.phases[(size - iterations as usize % size) % size]
    }
}

impl Replica {
    /// The requests of a batch that left the last stage are further.
    pub(crate) fn end_batch(&mut self, context: &mut ScheduleContext<'_>, batch: &mut ScheduledBatch) {
        self.in_flight -= 1;
        let scheduler = context.policy;
        let now_us = context.now_us;
        let before = self.num_running;
        let is_fresh =
            |id: RequestId, context: &ScheduleContext<'_>| context.requests.seen_us[id] == batch.formed_us;
        let fresh = batch.members.iter().filter(|&&id| is_fresh(id, context)).count() as u32;
        let run = written(self, context, batch, batch.formed_us, fresh);
        context.record.iterations.push(&run, &batch.chunks);
        share_iteration(context, batch, batch.formed_us);
        for &id in &batch.members {
            let i = id.index();
            if !is_fresh(id, context) {
                context.record.gap(context.requests.seen_us[i], now_us, 1);
            }
            let gap_us = now_us - context.requests.seen_us[i];
            context.requests.waited_for_token(id, gap_us);
            context.requests.seen_us[i] = now_us;
            context.requests.done[i] += 1;
            context.requests.execution_us[i] += batch.busy_us;
            self.waiting.made_token(context.trace, id, false);
            let total = context.total(id);
            if context.requests.done[i] >= total {
                let blocks = scheduler.blocks_at_end(context, id, total);
                self.finish(context, id, total, blocks);
            } else if scheduler.mixes_batches() {
                self.running.push(id);
            }
        }
        self.finish_prefill_chunks(context.policy, context, batch);
        if self.num_running < before {
            for &id in batch.members.iter().chain(&batch.prompts) {
                if context.requests.status[id] == RequestStatus::Decoding {
                    self.waiting.finishing_beside(context.trace, id);
                }
            }
        }
        if !self.pending_aborts.is_empty() {
            self.abort_pending(context, batch);
        }
        let finished = before - self.num_running;
        scheduler.ended(self, context, batch, finished);
        self.adapters.offload_unused(&mut self.kv);
    }

    /// Notes why a batch was formed without the head of the queue.
    pub(crate) fn refuses_head(&mut self, context: &ScheduleContext<'_>, batch: &mut ScheduledBatch) {
        let is_looked_at_anew =
            batch.changes_again || self.waiting.takes_turns() || context.config.loads_ahead();
        if self.num_waiting == 0 || is_looked_at_anew {
            return;
        }
        // Where some are passed over, others may be next than the head, unless no one is.
        let lacks_slots = self.stop == Some(BlockReason::LoraSlots);
        if self.passes_over != lacks_slots || lacks_slots && !self.skips_all() {
            return;
        }
        if let (Some(stop), Some(head)) = (self.stop, self.head(context)) {
            let (num_running, free) = (self.num_running, self.free_beside_adapter(context, head));
            batch.refused = Some(HeadBlocked { head, stop, num_running, free });
        }
    }

    /// Whether every waiting request is passed over for want of a LoRA slot, whichever comes first.
    pub(crate) fn skips_all(&self) -> bool {
        self.adapters.admits_none() && self.kv.host_used() == 0
    }

    /// Whether the head of the queue stays where it is, for what it lacked when a batch was formed.
    fn refuses_again(&mut self, context: &ScheduleContext<'_>, refused: HeadBlocked) -> bool {
        if self.num_running != refused.num_running {
            return false;
        }
        if refused.stop == BlockReason::LoraSlots {
            return self.skips_all();
        }
        self.head(context) == Some(refused.head)
            && self.free_beside_adapter(context, refused.head) <= refused.free
    }

    /// Whether no request joins those of a batch that ends, goes away or is in no batch.
    fn admits_none_beside(&mut self, context: &ScheduleContext<'_>, batch: &ScheduledBatch) -> bool {
        if !context.policy.mixes_batches() {
            // The queue is not looked at, unless for the adapter of its head.
            let looks_at_queue = self.num_waiting > 0 && context.config.loads_ahead();
            let is_alone = context.policy.has_no_other_batch(self);
            return is_alone
                && !looks_at_queue
                && self.pending_aborts.is_empty()
                && !self.adapters.is_ahead();
        }
        // Batches that are formed in turn may find different reasons: where decisions are kept, each one looks.
        let looks = context.record.decisions.is_on();
        let is_refused = |own: &mut Self, refused| !looks && own.refuses_again(context, refused);
        (self.num_waiting == 0 || batch.refused.is_some_and(|refused| is_refused(self, refused)))
            && self.pending_aborts.is_empty()
            && self.running.is_empty()
            && self.deferred_prefills.is_empty()
            && self.partial_prefills.is_empty()
            && !self.adapters.is_ahead()
    }
}
