//! Requests of a replica whose clients went away, or that waited longer than they may.

use servescope_workload::RequestId;

use super::Replica;
use super::batch_scheduler::{BatchEvent, ScheduleContext};
use super::iteration::ScheduledBatch;
use crate::record::request_state::RequestStatus;

impl Replica {
    /// Takes the head out of the queue.
    pub(crate) fn pop_waiting(&mut self, context: &ScheduleContext<'_>) -> Option<RequestId> {
        let id = self.waiting.pop(context.trace, |id| context.is_gone(id))?;
        self.leaves_queue(context, id);
        Some(id)
    }

    /// A request waits no more.
    pub(crate) fn leaves_queue(&mut self, context: &ScheduleContext<'_>, id: RequestId) {
        self.adapters.waits_no_more(context.adapter(id).0);
        self.num_waiting -= 1;
        self.waiting_prompt_blocks -= u64::from(self.kv.blocks_for_whole(0, context.requests[id].prompt));
    }

    /// A waiting request holds blocks from now on, and still waits.
    pub(crate) fn holds_blocks(&mut self, context: &mut ScheduleContext<'_>, id: RequestId) {
        self.waiting.pop(context.trace, |id| context.is_gone(id));
        let prompt = context.requests[id].prompt;
        self.waiting_prompt_blocks -= u64::from(self.kv.blocks_for_whole(0, prompt));
        context.requests[id].status = RequestStatus::Loading;
    }

    /// A request that waited with blocks waits no more.
    pub(crate) fn holder_leaves(&mut self, context: &ScheduleContext<'_>, id: RequestId) {
        self.adapters.waits_no_more(context.adapter(id).0);
        self.num_waiting -= 1;
    }

    /// A request that was admitted counts among those that wait again.
    pub(crate) fn waits_again(&mut self, context: &ScheduleContext<'_>, id: RequestId) {
        self.waiting_prompt_blocks += u64::from(self.kv.blocks_for_whole(0, context.requests[id].prompt));
        self.num_waiting += 1;
        self.adapters.waits(context.adapter(id).0);
    }

    /// The same, and it stands in the waiting queue again.
    pub(crate) fn requeue(&mut self, context: &ScheduleContext<'_>, id: RequestId) {
        self.waits_again(context, id);
        self.waiting.come_back(context.trace, id, context.arrival_us(id), false);
    }

    /// So many tokens of a waiting request are to be computed from now on.
    pub(crate) fn changes_prompt(&mut self, context: &mut ScheduleContext<'_>, id: RequestId, tokens: u32) {
        let before = std::mem::replace(&mut context.requests[id].prompt, tokens);
        self.waiting_prompt_blocks += u64::from(self.kv.blocks_for_whole(0, tokens));
        self.waiting_prompt_blocks -= u64::from(self.kv.blocks_for_whole(0, before));
    }

    /// A waiting request goes away; says whether others may be next now: it was the head of the queue, or requests are skipped.
    pub(crate) fn drop_waiting(&mut self, context: &mut ScheduleContext<'_>, id: RequestId) -> bool {
        self.charge_ended(context);
        let was_head = self.head(context) == Some(id);
        self.close_waiting(context, id);
        was_head || self.passes_over
    }

    /// What becomes of a waiting request that goes away.
    pub(crate) fn close_waiting(&mut self, context: &mut ScheduleContext<'_>, id: RequestId) {
        let i = id.index();
        self.outstanding -= 1;
        if let Self { kv, kv_connector: Some(tier), .. } = self {
            tier.forget(kv, context.trace, (id, context.requests[i].prompt));
        }
        if !context.requests[i].leg.scheduled_us.is_nan() {
            self.close_result(context, id);
        }
        self.free_swap(context, id);
        context.requests[i].status = RequestStatus::Finished;
        context.record.ends(id);
        self.leave_waiting(context, id);
    }

    /// A waiting request, wherever it stands in the queue, is no longer there.
    pub(crate) fn leave_waiting(&mut self, context: &mut ScheduleContext<'_>, id: RequestId) {
        self.leaves_queue(context, id);
        context.requests.token_us.remove(&id);
        self.waiting.forget(context.trace, id, |id| context.is_gone(id));
    }

    /// What became of a request that was begun and goes away now.
    pub(crate) fn close_result(&mut self, context: &mut ScheduleContext<'_>, id: RequestId) {
        let i = id.index();
        let is_decoding = context.requests[i].status == RequestStatus::Decoding;
        let kept = context.swapped(id).max(context.requests[i].prompt);
        let tokens = if is_decoding { self.tokens(context, id) } else { kept };
        let result = &mut context.record.results[i];
        result.finish_us = Some(context.now_us);
        result.produced = tokens.saturating_sub(context.trace.input_tokens[i]);
        // In the decode batch requests stall only as the replica counts.
        if !(is_decoding && self.is_single()) {
            context.requests[i].stalled_us += context.now_us - context.requests[i].updated_us;
        }
        let produced = context.record.results[i].produced;
        self.waiting.ended(context.trace, id, produced, false);
    }

    /// A request that holds memory goes away.
    pub(crate) fn release_aborted(&mut self, context: &mut ScheduleContext<'_>, id: RequestId) {
        let i = id.index();
        let is_decoding = context.requests[i].status == RequestStatus::Decoding;
        self.close_result(context, id);
        let decoded_to = is_decoding.then(|| self.tokens(context, id));
        self.happened(context, BatchEvent::Left(id, decoded_to));
        let blocks = self.blocks_of(context, id);
        self.leave_batch(context, id, blocks);
        self.adapters.offload_unused(&mut self.kv);
        self.outstanding -= 1;
        context.requests.token_us.remove(&id);
        context.requests[i].status = RequestStatus::Finished;
        context.record.ends(id);
        if !(is_decoding && self.is_single()) {
            for list in [&mut self.deferred_prefills, &mut self.partial_prefills, &mut self.running] {
                list.retain(|&other| other != id);
            }
        }
    }

    /// Releases requests that were part of `batch`, which has ended, and whose clients have gone.
    pub(crate) fn abort_pending(&mut self, context: &mut ScheduleContext<'_>, batch: &ScheduledBatch) {
        let mut leaving = std::mem::take(&mut self.pending_aborts);
        leaving.retain(|&id| {
            let is_here = self.is_single() || batch.prompts.contains(&id) || batch.members.contains(&id);
            if is_here && context.requests[id].status != RequestStatus::Finished {
                self.release_aborted(context, id);
            }
            !is_here
        });
        self.pending_aborts = leaving;
    }
}
