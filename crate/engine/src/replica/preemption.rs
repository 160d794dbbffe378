//! Preemption by recomputation or swapping (Kwon et al., SOSP 2023, section 4.5): requests that make room for others wait at the head
//! of the waiting queue, and are recomputed, or are swapped out to the host and in again. vLLM v1 preempts in its own file.
//!
//! The link carries the blocks before the iteration begins, which is so much longer. While a request waits to come back
//! no request new is admitted.

use servescope_workload::RequestId;

use super::Replica;
use super::batch_scheduler::ScheduleContext;
use super::iteration::ScheduledBatch;
use crate::config::Preemption;
use crate::record::decisions::{Compared, Test, Verdict};
use crate::record::request_state::RequestStatus;
use crate::record::timeline::{PreemptionEvent, PreemptionInterval};

impl ScheduleContext<'_> {
    /// A request that was preempted joins a batch again.
    pub(crate) fn resume(&mut self, id: RequestId) {
        let (start_us, end_us) = (self.requests[id].updated_us, self.now_us);
        self.record.preemption_intervals.push(PreemptionInterval { request: id, start_us, end_us });
    }

    /// Tokens of a prompt that an iteration may read after the first `done`: all that are left, of an answer that is
    /// generated again one.
    pub(crate) fn chunk_after(&self, id: RequestId, done: u32) -> u32 {
        let input = self.trace.input_tokens[id];
        let left = self.requests[id].prompt - done;
        match self.config.preemption {
            Preemption::Regenerate if done >= input => left.min(1),
            Preemption::Regenerate => left.min(input - done),
            _ => left,
        }
    }

    /// The same after what is done.
    pub(crate) fn next_chunk(&self, id: RequestId) -> u32 {
        self.chunk_after(id, self.requests[id].done)
    }

    /// Tokens that the host keeps of a waiting request.
    pub(crate) fn swapped(&self, id: RequestId) -> u32 {
        self.requests.swapped.get(id.index()).copied().unwrap_or(0)
    }
}

impl Replica {
    /// A request loses its memory and waits at the head of the waiting queue.
    /// Another request needs this many blocks, or this one does itself.
    pub(crate) fn preempt(
        &mut self,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
        id: RequestId,
        (needs, blocks_needed): (RequestId, u32),
    ) {
        let i = id.index();
        let free = self.kv.available();
        // No request may come between those that were skipped and those behind them.
        self.waiting.put_back();
        let was_decoding = context.requests[i].status == RequestStatus::Decoding;
        let blocks = self.blocks_of(context, id);
        let tokens = self.leave_batch(context, id, blocks);
        self.adapters.keep_ahead(&mut self.kv, None);
        self.adapters.offload_unused(&mut self.kv);
        let mut lost_tokens = if was_decoding { tokens - 1 } else { tokens };
        let swaps = matches!(context.config.preemption, Preemption::Swap { .. });
        if swaps && was_decoding && self.kv.swap_out(blocks) {
            batch.copied_blocks += u64::from(blocks);
            context.requests.swapped[i] = tokens;
            lost_tokens = 0;
            self.record_preemption(context, id, Verdict::SwappedOut, (needs, blocks_needed, free));
        } else {
            self.record_preemption(context, id, Verdict::Preempted, (needs, blocks_needed, free));
            // Vidur's restart takes what was read for the whole prompt; the rest of it is then generated.
            if was_decoding || context.config.reference_quirks {
                context.requests[i].prompt = tokens;
            }
        }
        context.requests[i].done = 0;
        context.requests[i].status = RequestStatus::Waiting;
        context.requests[i].preemptions = context.requests[i].preemptions.saturating_add(1);
        let (time_us, replica) = (context.now_us, self.index);
        context.record.preemptions.push(PreemptionEvent { time_us, id, replica, lost_tokens });
        self.waiting_prompt_blocks += u64::from(self.kv.blocks_for_whole(0, context.requests[i].prompt));
        let (arrival_us, is_on_host) = (context.arrival_us(id), context.swapped(id) > 0);
        self.waiting.come_back(context.trace, id, arrival_us, is_on_host);
        self.adapters.waits(context.adapter(id).0);
        self.num_waiting += 1;
    }

    /// What the host keeps of a request that goes away is forgotten.
    pub(crate) fn free_swap(&mut self, context: &mut ScheduleContext<'_>, id: RequestId) {
        let tokens = context.swapped(id);
        if tokens > 0 {
            context.requests.swapped[id] = 0;
            self.kv.free_host(context.config.blocks_for(tokens - 1));
        }
    }

    /// Whether the head of the waiting queue is to come back from the host.
    pub(crate) fn head_is_swapped_out(&self, context: &ScheduleContext<'_>) -> bool {
        self.waiting.first_ahead().is_some_and(|id| context.swapped(id) > 0)
    }

    /// Requests at the head of the waiting queue that are on the host come back and decode in the iteration, `most` of them and
    /// as many as memory allows. Says how many.
    pub(crate) fn swap_in_heads(
        &mut self,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
        most: u32,
    ) -> u32 {
        let mut taken = 0;
        self.waiting.put_back();
        while taken < most && self.head_is_swapped_out(context) {
            let Some(id) = self.waiting.first_ahead() else { break };
            let tokens = context.swapped(id);
            let blocks = context.config.blocks_for(tokens);
            let is_full = self.num_running >= context.config.max_requests
                || batch.size() >= self.batch_cap(context.config);
            let has_slot = self.adapters.admits(context.adapter(id).0);
            let has_room = self.has_room(context, id, blocks);
            let compared = if is_full {
                self.compared_cap(context.config, batch)
            } else if !has_slot {
                Compared::new(Test::LoraSlots, self.adapters.max_loras() + 1, self.adapters.max_loras())
            } else {
                self.compared_blocks(context, id, blocks)
            };
            let is_resumed = !is_full && has_slot && has_room;
            let verdict = if is_resumed { Verdict::SwappedIn } else { Verdict::Waits };
            context.decided(self.index, id, verdict, || compared);
            if !is_resumed {
                break;
            }
            self.pop_waiting(context);
            let kept = context.config.blocks_for(tokens - 1);
            context.requests.swapped[id] = 0;
            self.acquire_adapter(context, batch, id);
            self.kv.swap_in(kept, blocks);
            batch.copied_blocks += u64::from(kept);
            batch.changes_again = true;
            self.num_running += 1;
            self.decode_again(context, batch, id, tokens);
            taken += 1;
        }
        taken
    }

    /// A request that has its memory again decodes in the iteration.
    fn decode_again(
        &mut self,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
        id: RequestId,
        tokens: u32,
    ) {
        let i = id.index();
        context.holds_memory(id, RequestStatus::Decoding);
        context.resume(id);
        if !self.is_single() {
            context.requests[i].done = tokens;
            context.requests.token_us.remove(&id);
            return context.decode_member(batch, id);
        }
        self.close_run(context, &[]);
        let member = context.member(id, tokens);
        let requests = &mut *context.requests;
        requests[i].done = self.decode_batch.beside_step(tokens);
        requests[i].stalled_us += context.now_us - requests[i].updated_us - self.stall_us;
        let token_us = requests.token_us.remove(&id).unwrap_or(requests[i].updated_us);
        self.last_token_groups.push((1, token_us));
        self.resumed.push((id, token_us));
        self.decode_batch.join(member, context.total(id) - tokens);
        self.waiting.decodes(context.trace, id, true);
        self.running.push(id);
        batch.decodes += 1;
        batch.decode_tokens += 1;
        batch.decode_kv_tokens += u64::from(tokens);
        batch.rank_sum += u64::from(member.rank.unwrap_or(0));
        batch.any_adapter |= member.rank.is_some();
    }
}
