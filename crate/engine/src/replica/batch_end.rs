//! The end of a batch in the last pipeline stage. Nothing is written for its requests while they decode together: what they
//! got is made up for when one of them is done, a client goes away or another request may join.
// PERF: a third fewer instructions a run of four stages, and half the time; guarded by the test `leaps_equal_steps`.

use crate::record::timeline::IterationRun;
use crate::record::work_time::WorkTime;
use crate::replica::kv_cache::within_block;
use servescope_workload::RequestId;

use super::Replica;
use super::batch_scheduler::{BatchEvent, ScheduleContext};
use super::iteration::{HeadBlocked, ScheduledBatch, Unwritten};
use super::longest_gap::longer_of;
use super::requests::Requests;
use super::run::{busy_us, written};
use crate::record::request_phases::{SharedIteration, prefill_in_iteration_us};
use crate::record::request_state::{RequestState, RequestStatus};
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
    let ends = may_end_alike(replica, context, batch)
        && (batch.unwritten.next_is_not_last() || goes_on_in_part(context, batch));
    if ends {
        end_unwritten(replica, context, batch);
    }
    ends
}

/// Whether the requests of a batch that are done with the iteration under way may leave it, and others go on in it.
fn goes_on_in_part(context: &ScheduleContext<'_>, batch: &ScheduledBatch) -> bool {
    batch.unwritten.first_done < batch.unwritten.last_done
        && context.facts.mixes_batches
        && !batch.any_adapter
        && !context.record.decisions.is_on()
}

/// How many requests of a batch had a token when it was formed.
fn fresh(context: &ScheduleContext<'_>, batch: &ScheduledBatch) -> u32 {
    batch.members.iter().filter(|&&id| context.requests[id].updated_us == batch.formed_us).count() as u32
}

/// Writes the gaps between tokens down that ended with the first iteration of a batch, of those that had none when it was formed.
fn write_gaps(context: &mut ScheduleContext<'_>, batch: &ScheduledBatch, fresh: u32) {
    if fresh == batch.decodes {
        return;
    }
    // Those that had their last token together stand together.
    let (mut since_us, mut count) = (batch.formed_us, 0);
    for &id in &batch.members {
        let request = &mut context.requests[id];
        let token_us = request.updated_us;
        if token_us != batch.formed_us {
            request.longest_gap_us = longer_of(request.longest_gap_us, context.now_us - token_us);
        }
        if token_us != since_us {
            write_gap(context, since_us, count);
            (since_us, count) = (token_us, 0);
        }
        count += u32::from(token_us != batch.formed_us);
    }
    write_gap(context, since_us, count);
}

fn write_gap(context: &mut ScheduleContext<'_>, token_us: f64, count: u32) {
    if count > 0 {
        context.record.gap(token_us, context.now_us, count);
    }
}

/// Whether the batch can be one whose requests are written down later: each gets a token.
fn may_end_alike(replica: &mut Replica, context: &ScheduleContext<'_>, batch: &mut ScheduledBatch) -> bool {
    let is_told_at_once = context.steps_singly
        || context.record.first_tokens.is_some()
        || replica.waiting.keeps_counters()
        || context.facts.lists_running;
    let is_plain = batch.chunks.is_empty() && batch.copied_blocks == 0 && batch.load_us == 0.0;
    let may_end = !is_told_at_once
        && is_plain
        && replica.pending_aborts.is_empty()
        && !replica.adapters.is_ahead()
        && (context.facts.mixes_batches || replica.admits_none_beside(context, batch));
    if may_end && batch.unwritten.iterations == 0 {
        begin_unwritten(context, batch);
    }
    may_end
}

/// A batch ends whose requests are written down later.
fn end_unwritten(replica: &mut Replica, context: &mut ScheduleContext<'_>, batch: &mut ScheduledBatch) {
    let (start_us, end_us) = (batch.formed_us, context.now_us);
    if let Some(before) = &batch.unwritten.record {
        let run = IterationRun {
            start_us,
            end_us,
            first_us: end_us - start_us,
            busy_us: busy_us(replica, batch.busy_us),
            kv_tokens: batch.decode_kv_tokens as f64,
            blocks: replica.kv.used(),
            resident_adapters: batch.in_memory.0,
            adapter_tokens: batch.in_memory.1,
            ..*before
        };
        context.record.iterations.push(&run, &[]);
    } else {
        write_first(replica, context, batch);
    }
    let unwritten = &mut batch.unwritten;
    unwritten.iterations += 1;
    unwritten.execution += WorkTime::of_us(batch.busy_us);
    unwritten.ended_us = end_us;
    unwritten.longest_us = longer_of(unwritten.longest_us, end_us - start_us);
    replica.in_flight -= 1;
    if unwritten.iterations == unwritten.first_done {
        leave_in_part(replica, context, batch);
    }
}

/// Writes the first iteration of certain requests down.
fn write_first(replica: &Replica, context: &mut ScheduleContext<'_>, batch: &mut ScheduledBatch) {
    let is_first = batch.unwritten.iterations == 0;
    let fresh = if is_first { batch.unwritten.fresh } else { batch.decodes };
    let run = written(replica, context, batch, batch.formed_us, fresh);
    context.record.iterations.push(&run, &[]);
    batch.unwritten.record = Some(IterationRun { fresh: batch.decodes, ..run });
    write_gaps(context, batch, fresh);
}

/// The requests of a batch that are done with the iteration that has ended leave it.
fn leave_in_part(replica: &mut Replica, context: &mut ScheduleContext<'_>, batch: &mut ScheduledBatch) {
    let (ended, size) = (batch.unwritten.first_done, context.config.block_size as usize);
    debug_assert!(batch.members.len() == batch.unwritten.done_with.len(), "none left unseen");
    let mut from = 0;
    while let Some(behind) =
        batch.unwritten.done_with[from..].iter().position(|&done_with| done_with <= ended)
    {
        from += behind;
        batch.unwritten.done_with.remove(from);
        let id = batch.members.remove(from);
        let (total, done) = (context.total(id), context.requests[id].done);
        batch.decodes -= 1;
        batch.decode_tokens -= 1;
        batch.decode_kv_tokens -= u64::from(total - 1);
        if let Some(count) = batch.unwritten.phases.get_mut(within_block(done - 1, size)) {
            *count -= 1;
        }
        batch.unwritten.write_down(context.requests, id);
        let blocks = context.blocks_held_at(id, total);
        replica.finish(context, id, total, blocks);
    }
    batch.unwritten.first_done = batch.unwritten.done_with.iter().copied().min().unwrap_or(u32::MAX);
    batch.unwritten.record = None;
    (batch.constants, batch.line, batch.times_hold, batch.refused) = (None, None, 0, None);
    replica.adapters.offload_unused(&mut replica.kv);
}

/// Whether the iteration under way of a batch can end, and the next one of the same requests be formed, until one of them is
/// done or blocks run short, which [`form_next_alike`] says, or something arrives. What several replicas write down of gaps is in the
/// order of their times.
pub(crate) fn may_charge_rounds(
    replica: &mut Replica,
    context: &ScheduleContext<'_>,
    batch: &mut ScheduledBatch,
    is_alone: bool,
) -> bool {
    replica.shares_refusal(context, batch);
    let is_known = |stop: BlockReason| replica.stop == Some(stop);
    (replica.num_waiting == 0
        || !context.facts.mixes_batches
        || batch.refused.is_some_and(|refused| is_known(refused.stop)))
        && replica.admits_none_beside(context, batch)
        && may_end_alike(replica, context, batch)
        && (is_alone || batch.unwritten.iterations > 0 || batch.unwritten.fresh == batch.decodes)
}

/// The iteration under way of a batch that [`may_charge_rounds`] ends at a time, and the next one of the same requests is formed.
/// Says whether that can be; otherwise nothing is changed. `is_first`: of those of this batch, one after the other.
#[inline]
pub(crate) fn form_next_alike(
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    batch: &mut ScheduledBatch,
    (end_us, is_alone, is_first): (f64, bool, bool),
) -> bool {
    let unwritten = &batch.unwritten;
    let leave_some = !unwritten.next_is_not_last();
    let may_leave = || is_alone && context.record.ended.is_none() && replica.num_waiting == 0;
    if leave_some && !(may_leave() && goes_on_in_part(context, batch)) {
        return false;
    }
    let Some(mut blocks) = unwritten.new_blocks(unwritten.iterations + 1, replica.kv.available()) else {
        return false;
    };
    context.now_us = end_us;
    end_unwritten(replica, context, batch);
    if leave_some {
        // Those that go on take no more blocks than all of them would.
        let unwritten = &batch.unwritten;
        blocks = unwritten.new_blocks(unwritten.iterations, u32::MAX).unwrap_or(blocks);
    }
    if leave_some || is_first {
        form_unwritten(replica, context, batch, blocks);
    } else {
        form_next(replica, batch, end_us, blocks);
    }
    true
}

/// Looks at every request of a batch whose tokens are to be written down later.
fn begin_unwritten(context: &ScheduleContext<'_>, batch: &mut ScheduledBatch) {
    let ScheduledBatch { unwritten, members, formed_us, .. } = batch;
    let Unwritten { phases, done_with, .. } = unwritten;
    let size = context.config.block_size as usize;
    phases.clear();
    phases.resize(if context.facts.allocates_on_demand() { size } else { 0 }, 0);
    let (mut first_done, mut last_done, mut fresh) = (u32::MAX, 0, 0);
    done_with.clear();
    done_with.extend(members.iter().map(|&id| {
        let &RequestState { total, done, updated_us, .. } = &context.requests[id];
        let left = total - done;
        (first_done, last_done) = (first_done.min(left), last_done.max(left));
        fresh += u32::from(updated_us == *formed_us);
        if let Some(count) = phases.get_mut(within_block(done - 1, size)) {
            *count += 1;
        }
        left
    }));
    (unwritten.first_done, unwritten.last_done, unwritten.fresh) = (first_done, last_done, fresh);
    unwritten.record = None;
}

/// Forms a batch of the requests of the one that has just ended, if they decode on and no other request may join.
pub(crate) fn forms_alike(
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    batch: &mut ScheduledBatch,
) -> bool {
    let Some(blocks) = batch.unwritten.new_blocks(batch.unwritten.iterations, replica.kv.available()) else {
        return false;
    };
    replica.shares_refusal(context, batch);
    if !replica.admits_none_beside(context, batch) {
        return false;
    }
    let looks_at_queue = context.facts.mixes_batches && replica.num_waiting > 0;
    if let (Some(refused), true) = (batch.refused, looks_at_queue) {
        replica.set_blocked_on(context, Some(refused.stop));
    }
    form_unwritten(replica, context, batch, blocks);
    true
}

/// The next iteration of the same requests takes this many blocks.
fn form_unwritten(
    replica: &mut Replica,
    context: &ScheduleContext<'_>,
    batch: &mut ScheduledBatch,
    blocks: u32,
) {
    form_next(replica, batch, context.now_us, blocks);
    replica.looks_again = false;
    replica.passes_over = replica.num_waiting > 0
        && context.facts.mixes_batches
        && batch.refused.is_some_and(|refused| refused.stop == BlockReason::LoraSlots);
}

/// The same where that follows such an iteration, and the queue stays as it is.
#[inline]
fn form_next(replica: &mut Replica, batch: &mut ScheduledBatch, now_us: f64, blocks: u32) {
    replica.kv.allocate(blocks);
    replica.in_flight += 1;
    replica.formed += 1;
    batch.number = replica.formed;
    batch.formed_us = now_us;
    batch.forms_again();
    batch.in_memory = replica.adapters_in_memory();
}

/// Writes down what the requests of a batch got.
pub(crate) fn write_down(context: &mut ScheduleContext<'_>, batch: &mut ScheduledBatch) {
    let unwritten = &mut batch.unwritten;
    if unwritten.iterations == 0 {
        return;
    }
    batch.members.iter().for_each(|&id| unwritten.write_down(context.requests, id));
    unwritten.iterations = 0;
    unwritten.longest_us = 0.0;
    unwritten.execution = WorkTime::default();
}

/// The requests of a batch that ended are written down, and in no batch.
pub(crate) fn take_apart(
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    batch: &mut ScheduledBatch,
) {
    write_down(context, batch);
    if context.facts.mixes_batches {
        replica.running.extend_from_slice(&batch.members);
    }
    replica.happened(context, BatchEvent::TakenApart(batch));
}

impl Unwritten {
    /// Writes down what one of the requests got.
    fn write_down(&self, requests: &mut Requests, id: RequestId) {
        let request = &mut requests[id];
        request.done += self.iterations;
        request.updated_us = self.ended_us;
        request.longest_gap_us = longer_of(request.longest_gap_us, self.longest_us);
        requests.execution[id] += self.execution;
    }

    /// Whether no request is done with the next iteration.
    fn next_is_not_last(&self) -> bool {
        self.iterations + 1 < self.first_done
    }

    /// Blocks that the iteration takes which comes after this many of them, where this many are free, and one more; otherwise
    /// it may not be formed.
    #[inline]
    fn new_blocks(&self, iterations: u32, free: u32) -> Option<u32> {
        let size = self.phases.len();
        if size == 0 {
            return Some(0);
        }
        let rest = within_block(iterations, size);
        let blocks = self.phases[if rest == 0 { 0 } else { size - rest }];
        (free > blocks).then_some(blocks)
    }
}

impl Replica {
    /// The requests of a batch that left the last stage are further.
    pub(crate) fn end_batch(&mut self, context: &mut ScheduleContext<'_>, batch: &mut ScheduledBatch) {
        self.in_flight -= 1;
        let now_us = context.now_us;
        let before = self.num_running;
        let fresh = fresh(context, batch);
        let run = written(self, context, batch, batch.formed_us, fresh);
        context.record.iterations.push(&run, &batch.chunks);
        share_iteration(context, batch, batch.formed_us);
        write_gaps(context, batch, fresh);
        let (worked, mixes_batches) = (WorkTime::of_us(batch.busy_us), context.facts.mixes_batches);
        for &id in &batch.members {
            let request = &mut context.requests[id];
            request.longest_gap_us = longer_of(request.longest_gap_us, now_us - request.updated_us);
            request.updated_us = now_us;
            request.done += 1;
            let (total, is_done) = (request.total, request.done >= request.total);
            context.requests.execution[id] += worked;
            self.waiting.made_token(context.trace, id, false);
            if is_done {
                let blocks = context.blocks_held_at(id, total);
                self.finish(context, id, total, blocks);
            } else if mixes_batches {
                self.running.push(id);
            }
        }
        self.finish_prefill_chunks(context, batch);
        if self.num_running < before {
            for &id in batch.members.iter().chain(&batch.prompts) {
                if context.requests[id].status == RequestStatus::Decoding {
                    self.waiting.finishing_beside(context.trace, id);
                }
            }
        }
        if !self.pending_aborts.is_empty() {
            self.abort_pending(context, batch);
        }
        let finished = before - self.num_running;
        self.happened(context, BatchEvent::Ended(batch, finished));
        self.adapters.offload_unused(&mut self.kv);
    }

    /// Notes why a batch was formed without the head of the queue.
    pub(crate) fn refuses_head(&mut self, context: &ScheduleContext<'_>, batch: &mut ScheduledBatch) {
        self.refused = None;
        let is_looked_at_anew = batch.changes_again || self.waiting.is_round_robin() || context.loads_ahead();
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
            self.refused = batch.refused;
        }
    }

    /// What the head of the queue lacked when another batch was formed it lacks in this one, too, where that is memory.
    fn shares_refusal(&mut self, context: &ScheduleContext<'_>, batch: &mut ScheduledBatch) {
        let Some(refused) = self.refused.filter(|refused| refused.stop == BlockReason::Memory) else {
            return;
        };
        if self.num_waiting > 0
            && batch.refused != self.refused
            && self.kv.host_used() == 0
            && self.scheduler().lacks_only_memory(self, context.config, batch)
            && self.refuses_again(context, refused)
        {
            batch.refused = self.refused;
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
        if !context.facts.mixes_batches {
            // The queue is not looked at, unless for the adapter of its head.
            let looks_at_queue = self.num_waiting > 0 && context.loads_ahead();
            let stays = self.with_scheduler(|own, replica| own.steady_for(replica, context, 2)).most > 1;
            return stays && !looks_at_queue && self.pending_aborts.is_empty() && !self.adapters.is_ahead();
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
