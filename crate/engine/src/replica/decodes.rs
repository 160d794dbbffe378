//! Which running requests decode in an iteration, and which are preempted where there is no block for them.

use crate::replica::kv_cache::within_block;
use servescope_workload::RequestId;

use super::Replica;
use super::batch_scheduler::ScheduleContext;
use super::iteration::ScheduledBatch;
use crate::record::request_state::RequestStatus;

impl Replica {
    /// Every request of the decode batch decodes in the iteration.
    pub(crate) fn schedule_decode_batch(&mut self, batch: &mut ScheduledBatch) {
        batch.decodes = self.decode_batch.count;
        batch.decode_tokens = batch.decodes;
        batch.decode_kv_tokens = self.decode_batch.kv_tokens;
        batch.rank_sum += self.decode_batch.rank_sum;
        batch.any_adapter |= self.decode_batch.with_adapter > 0;
    }

    /// The running requests decode, in their order. While there is no block for one, the last of the list is preempted, and
    /// at the end the request itself. Partly prefilled prompts go to `prefills_this_step`.
    ///
    /// Returns whether the decode batch decoded without a look at its requests.
    pub(crate) fn schedule_decodes(
        &mut self,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
        by_arrival: bool,
    ) -> bool {
        let new_blocks =
            if context.facts.allocates_on_demand() { self.decode_batch.new_blocks(0) } else { 0 };
        if self.is_single() && (self.kv.available() > new_blocks || !context.facts.allocates_on_demand()) {
            self.kv.allocate(new_blocks);
            self.schedule_decode_batch(batch);
            return true;
        }
        // Memory is short: nothing is loaded ahead.
        self.adapters.keep_ahead(&mut self.kv, None);
        let mut list = self.take_list(context);
        if by_arrival || self.waiting.ranks_holders() {
            context.sort(&mut list, &self.waiting);
        }
        let cap = self.batch_cap(context.config);
        if !self.is_single() && self.decode_all(context, batch, &mut list, cap as usize) {
            self.scratch = list;
            return false;
        }
        let asks = u32::from(context.facts.allocates_on_demand());
        let (mut next, mut end, mut kept) = (0, list.len(), 0);
        while next < end && kept < cap {
            let id = list[next];
            next += 1;
            if context.requests[id].status == RequestStatus::Prefilling {
                self.prefills_this_step.push(id);
                continue;
            }
            let takes = self.blocks_to_take(context, id);
            while self.kv.available() < asks && next < end {
                end -= 1;
                self.preempt(context, batch, list[end], (id, asks));
            }
            if self.kv.available() < asks {
                self.preempt(context, batch, id, (id, asks));
                continue;
            }
            self.kv.allocate(takes);
            kept += 1;
            if self.is_single() {
                self.running.push(id);
            } else {
                context.decode_member(batch, id);
            }
        }
        self.running.extend_from_slice(&list[next..end]);
        if self.is_single() {
            self.schedule_decode_batch(batch);
        }
        list.clear();
        self.scratch = list;
        false
    }

    /// The first of a list decode, at most as many as may, where there is a block for each: says whether that is so. Those behind
    /// them are in no batch. Partly prefilled prompts go to `prefills_this_step`, where the list is no longer than it may be.
    fn decode_all(
        &mut self,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
        list: &mut Vec<RequestId>,
        cap: usize,
    ) -> bool {
        let is_prompt = |&id: &RequestId| context.requests[id].status == RequestStatus::Prefilling;
        let (first, others) = list.split_at(list.len().min(cap));
        let mut any_prompt = others.iter().any(is_prompt);
        let (mut blocks, size) = (0, context.config.block_size as usize);
        for id in first {
            if is_prompt(id) {
                any_prompt = true;
            } else {
                blocks += u32::from(within_block(context.requests[*id].done - 1, size) == 0);
            }
        }
        if any_prompt && !others.is_empty() {
            return false;
        }
        if context.facts.allocates_on_demand() {
            if self.kv.available() <= blocks {
                return false;
            }
            self.kv.allocate(blocks);
        }
        self.running.extend_from_slice(others);
        list.truncate(cap);
        if any_prompt {
            self.prefills_this_step.extend(list.iter().filter(|id| is_prompt(id)));
            list.retain(|id| !is_prompt(id));
        }
        context.decode_members(batch, list);
        list.clear();
        true
    }

    /// The list of the policy: requests that were skipped, requests that decode, requests that were in the last iteration with
    /// a part of their prompts.
    fn take_list(&mut self, context: &ScheduleContext<'_>) -> Vec<RequestId> {
        let mut list = std::mem::take(&mut self.scratch);
        list.append(&mut self.deferred_prefills);
        if self.is_single() {
            list.extend(
                self.running.drain(..).filter(|&id| context.requests[id].status != RequestStatus::Finished),
            );
        } else {
            list.append(&mut self.running);
        }
        list.append(&mut self.partial_prefills);
        list
    }

    fn blocks_to_take(&self, context: &ScheduleContext<'_>, id: RequestId) -> u32 {
        let is_full = within_block(self.tokens(context, id) - 1, context.config.block_size as usize) == 0;
        u32::from(is_full && context.facts.allocates_on_demand())
    }
}
