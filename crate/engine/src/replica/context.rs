//! What is told of a request from what a replica works on beside its own state, and what is written down of it.

use crate::replica_index::ReplicaIndex;
use servescope_cost::Chunk;
use servescope_workload::{BASE_MODEL, RequestId};

use super::batch_scheduler::{BlockAllocation, ScheduleContext};
use super::decode_batch::{DecodeBatch, DecodeSlot};
use super::iteration::ScheduledBatch;
use super::queue::waiting_queue::WaitingQueue;
use crate::record::decisions::{Compared, Decision, Verdict};
use crate::record::request_state::{LegRole, RequestStatus};

impl ScheduleContext<'_> {
    /// Writes a decision about a request down, where decisions are kept.
    #[inline]
    pub(crate) fn decided(
        &mut self,
        replica: ReplicaIndex,
        request: RequestId,
        verdict: Verdict,
        compared: impl FnOnce() -> Compared,
    ) {
        let time_us = self.now_us;
        self.record.decisions.add(|| Decision::of(time_us, replica, request, verdict, compared()));
    }

    /// Writes down why the whole waiting queue stays as it is, where decisions are kept.
    #[inline]
    pub(crate) fn queue_waits(&mut self, replica: ReplicaIndex, compared: impl FnOnce() -> Compared) {
        let time_us = self.now_us;
        self.record.decisions.add(|| Decision::of_queue(time_us, replica, compared()));
    }

    /// A request that waited holds memory from now on.
    #[inline]
    pub(crate) fn holds_memory(&mut self, id: RequestId, status: RequestStatus) {
        self.requests[id].status = status;
        self.record.is_scheduled(id);
    }

    /// Whether a request is over.
    pub(crate) fn is_gone(&self, id: RequestId) -> bool {
        self.requests[id].status == RequestStatus::Finished
    }

    /// The adapter of a request and its rank.
    pub(crate) fn adapter(&self, id: RequestId) -> (u32, u32) {
        let adapter = self.trace.adapter[id];
        (adapter, self.trace.rank_of(adapter))
    }

    fn rank(&self, id: RequestId) -> Option<u32> {
        (self.config.lora_compute && self.trace.adapter[id] != BASE_MODEL)
            .then(|| self.trace.rank(id.index()))
    }

    /// Most tokens of its output that a request may get where it is: where its prompt alone is computed, the one that is thrown away.
    pub(crate) fn max_tokens(&self, id: RequestId) -> u32 {
        if self.is_prefill_leg(id) { 1 } else { self.trace.max_tokens[id] }
    }

    /// Whether the prompt of a request alone is computed where it is.
    pub(crate) fn is_prefill_leg(&self, id: RequestId) -> bool {
        self.requests[id].leg.role == LegRole::Prefill
    }

    /// Tokens of prompt and output.
    #[inline]
    pub(crate) fn total(&self, id: RequestId) -> u32 {
        self.requests[id].total
    }

    /// Tokens processed so far, where requests decode in this batch.
    #[inline]
    pub(crate) fn tokens_in(&self, decode_batch: &DecodeBatch, id: RequestId) -> u32 {
        let request = &self.requests[id];
        if request.status == RequestStatus::Decoding {
            decode_batch.tokens(request.done)
        } else {
            request.done
        }
    }

    /// Prompt tokens of a request that are not yet processed.
    pub(crate) fn prompt_left(&self, id: RequestId) -> u32 {
        let request = &self.requests[id];
        request.prompt - request.done
    }

    /// The next `tokens` of a prompt are part of the iteration.
    pub(crate) fn add_chunk(&mut self, batch: &mut ScheduledBatch, id: RequestId, tokens: u32) {
        let request = &mut self.requests[id];
        request.stalled_us += self.now_us - request.updated_us;
        self.record.phases.stall(id, request.updated_us, self.now_us);
        batch.prompts.push(id);
        batch.chunks.push(Chunk { kv_tokens: request.done, tokens });
        self.add_adapter(batch, id);
    }

    /// The adapter of a request is part of the iteration.
    pub(crate) fn add_adapter(&self, batch: &mut ScheduledBatch, id: RequestId) {
        let rank = self.rank(id);
        batch.rank_sum += u64::from(rank.unwrap_or(0));
        batch.any_adapter |= rank.is_some();
    }

    /// One request outside a decode batch decodes in the iteration.
    pub(crate) fn decode_member(&mut self, batch: &mut ScheduledBatch, id: RequestId) {
        self.decode_members(batch, &[id]);
    }

    /// Requests outside a decode batch decode in the iteration.
    pub(crate) fn decode_members(&mut self, batch: &mut ScheduledBatch, ids: &[RequestId]) {
        batch.members.extend_from_slice(ids);
        batch.decodes += ids.len() as u32;
        batch.decode_tokens += ids.len() as u32;
        for &id in ids {
            let request = &mut self.requests[id];
            batch.decode_kv_tokens += u64::from(request.done);
            request.stalled_us += self.now_us - request.updated_us;
        }
        if self.config.lora_compute {
            let with_adapter = ids.iter().filter(|id| self.trace.adapter[id.index()] != BASE_MODEL);
            with_adapter.for_each(|&id| self.add_adapter(batch, id));
        }
        if self.record.phases.is_on() {
            ids.iter()
                .for_each(|&id| self.record.phases.stall(id, self.requests[id].updated_us, self.now_us));
        }
    }

    #[inline]
    pub(crate) fn member(&self, id: RequestId, tokens: u32) -> DecodeSlot {
        let adapter = self.trace.adapter[id];
        DecodeSlot { id, tokens, adapter, rank: self.rank(id) }
    }

    /// Blocks with which a request is admitted whose prompt takes `prompt_blocks`.
    pub(crate) fn blocks_to_enter(&self, id: RequestId, prompt_blocks: u32) -> u32 {
        if self.facts.allocates_on_demand() { prompt_blocks } else { self.blocks_reserved(id) }
    }

    /// Blocks for the prompt and the longest output; the last token is never written to the cache.
    pub(crate) fn blocks_reserved(&self, id: RequestId) -> u32 {
        let i = id.index();
        let longest = self.trace.input_tokens[i].saturating_add(self.trace.max_tokens[i]);
        self.config.blocks_for(longest - 1)
    }

    /// Blocks that a request gives back which is done with this many tokens; those of a batch are given back with it.
    pub(crate) fn blocks_held_at(&self, id: RequestId, tokens: u32) -> u32 {
        match self.facts.allocation {
            BlockAllocation::OnDemand => self.config.blocks_for(tokens - 1),
            BlockAllocation::ForRequest => self.blocks_reserved(id),
            BlockAllocation::ForLongest => self.config.slot_blocks(),
            BlockAllocation::ForBatch => 0,
        }
    }

    /// Whether replicas load the adapters of waiting requests ahead.
    pub(crate) fn loads_ahead(&self) -> bool {
        self.config.adapters.loads_ahead() && self.facts.managed_adapters.loads_ahead()
    }

    /// Blocks that a request which is done gives back.
    pub(crate) fn blocks_at_end(&self, id: RequestId) -> u32 {
        self.blocks_held_at(id, self.total(id))
    }

    /// When a request came in.
    pub(crate) fn arrival_us(&self, id: RequestId) -> f64 {
        self.arrivals.sent_us().unwrap_or(&self.trace.arrival_us)[id.index()]
    }

    /// Puts ids in order of arrival, under priority in queue order; equal ones stay in the order they have.
    pub(crate) fn sort(&self, list: &mut [RequestId], queue: &WaitingQueue) {
        let sent_us = self.arrivals.sent_us().unwrap_or(&self.trace.arrival_us);
        if queue.ranks_holders() {
            let key = |id: RequestId| queue.key(self.trace, id, sent_us[id.index()]);
            list.sort_by(|&one, &other| key(one).total_cmp(&key(other)));
        } else {
            list.sort_by(|one, other| sent_us[one.index()].total_cmp(&sent_us[other.index()]));
        }
    }
}
