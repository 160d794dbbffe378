//! Waiting requests: which fit the memory, and how much of their prompts fits the batch.

use servescope_workload::{BASE_MODEL, RequestId};

use super::batch::{MicroBatch, Sharer, first_new_block};
use super::{BlockReason, CapacityPolicy, Replica, RunningList, ScheduleContext, State, no_evict};
use crate::record::decisions::{Compared, Test, Verdict};
use crate::replica::iteration::Scheduled;

/// What becomes of a waiting request that is looked at.
#[derive(Debug, Clone, Copy)]
pub(super) enum Judged {
    /// It is admitted, with so many tokens of its prompt in the batch.
    Fits(u32),
    /// It gets its part of the budget with the others.
    Shares,
    /// It stays, and those behind it go on.
    Passed,
    /// It stays for this, by the test that decided.
    Lacks(BlockReason, Compared),
}

impl State {
    /// Admits waiting requests, in queue order, until one does not fit. Says what the head stays for.
    pub(super) fn admit_waiting(
        &mut self,
        list: &mut RunningList,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        step: &mut MicroBatch,
    ) -> Option<BlockReason> {
        let mut stop = None;
        while stop.is_none()
            && let Some(id) = replica.head(context)
        {
            // Requests that were passed over keep their places among the active ones (`max_num_active_requests`).
            let (active, most) = (list.order.len() + step.passed.len(), context.config.max_requests);
            if active >= most as usize {
                context.queue_waits(replica.index, || Compared::new(Test::RunningCap, active + 1, most));
                stop = Some(BlockReason::RunningCap);
            } else if step.budget == 0 {
                context.queue_waits(replica.index, || Compared::new(Test::TokenBudget, 1u32, 0u32));
                stop = Some(BlockReason::PromptBudget);
            } else {
                match self.judge(list, replica, context, step, id) {
                    Judged::Fits(tokens) => {
                        replica.pop_waiting(context);
                        self.admit(list, replica, context, step, (id, tokens));
                    }
                    Judged::Shares | Judged::Passed => {
                        replica.pop_waiting(context);
                        step.passed.push(id);
                    }
                    Judged::Lacks(reason, _) => stop = Some(reason),
                }
            }
        }
        self.share_budget(list, replica, context, step);
        stop
    }

    /// Whether a waiting request fits the memory, and what of it fits the batch.
    pub(super) fn judge(
        &mut self,
        list: &RunningList,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        step: &mut MicroBatch,
        id: RequestId,
    ) -> Judged {
        let (judged, compared) = self.judge_with_numbers(list, replica, context, step, id);
        let verdict = match judged {
            Judged::Fits(_) => Verdict::Admitted,
            // It is told when the budget is shared out.
            Judged::Shares => return judged,
            Judged::Passed => Verdict::Skipped,
            Judged::Lacks(..) => Verdict::Waits,
        };
        context.decided(replica.index, id, verdict, || compared);
        judged
    }

    fn judge_with_numbers(
        &mut self,
        list: &RunningList,
        replica: &mut Replica,
        context: &ScheduleContext<'_>,
        step: &mut MicroBatch,
        id: RequestId,
    ) -> (Judged, Compared) {
        let stale = list.stale(context, id);
        if stale > 0 {
            // Its token under way when it was paused is not back.
            return (Judged::Passed, Compared::new(Test::TokensUnderWay, stale, 0u32));
        }
        let ((hits, idle), new) = first_new_block(replica, context, id);
        if let Some(number) = new {
            // Another prompt of this decision computes the block; it is found there later (`_beneficial_to_skip`).
            if step.computes.iter().any(|&(other, of)| other == number && of != id) {
                return (Judged::Passed, Compared::without_numbers(Test::PrefixUnderWay));
            }
            step.computes.push((number, id));
        }
        let (need, have, test) = self.memory(list, replica, context, (id, hits, idle));
        let have = have.saturating_sub(step.promised);
        let compared = Compared::new(test, need, have);
        if need > have {
            return (Judged::Lacks(BlockReason::Memory, compared), compared);
        }
        let adapter = context.adapter(id).0;
        let in_use = replica.adapters.in_use().len() + step.claimed.len();
        let loads = step.shares_budget()
            && adapter != BASE_MODEL
            && !replica.adapters.in_use().contains(&adapter)
            && !step.claimed.contains(&adapter);
        let slots = replica.adapters.max_loras();
        if !replica.adapters.admits(adapter) || loads && in_use >= slots as usize {
            let compared = Compared::new(Test::LoraSlots, in_use + 1, slots);
            let passes = is_no_evict(context);
            replica.passes_over |= passes;
            let judged =
                if passes { Judged::Passed } else { Judged::Lacks(BlockReason::LoraSlots, compared) };
            return (judged, compared);
        }
        let left = context.requests[id].prompt - hits * context.config.block_size;
        if step.shares_budget() {
            step.promised += need;
            step.claimed.extend(loads.then_some(adapter));
            step.sharers.push(Sharer { id, left, compared });
            return (Judged::Shares, compared);
        }
        match step.tokens_for(left) {
            0 => {
                step.promised += need;
                let compared = Compared::new(Test::TokenBudget, left, step.budget);
                if step.cuts_prompts() {
                    // A shorter prompt may fit what is left, which is less than a block.
                    return (Judged::Passed, compared);
                }
                (Judged::Lacks(BlockReason::PromptBudget, compared), compared)
            }
            tokens => (Judged::Fits(tokens), compared),
        }
    }

    /// The blocks that a waiting request needs, of which so many of its first are cached and so many of these held by no request; those
    /// that there are; and the test that compares them.
    fn memory(
        &mut self,
        list: &RunningList,
        replica: &Replica,
        context: &ScheduleContext<'_>,
        (id, hits, idle): (RequestId, u32, u32),
    ) -> (u32, u32, Test) {
        if is_no_evict(context) {
            let need = no_evict::blocks_at_end(context, id) - hits + idle;
            (need, self.unreserved(list, replica, context), Test::UnreservedBlocks)
        } else {
            let need = context.config.blocks_for(context.requests[id].prompt) - hits + idle;
            (need, replica.kv.available(), Test::KvBlocks)
        }
    }

    /// A request that has left the queue runs from now on, with so many tokens of its prompt in the batch and blocks for all of it.
    pub(super) fn admit(
        &mut self,
        list: &mut RunningList,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        step: &mut MicroBatch,
        (id, tokens): (RequestId, u32),
    ) {
        let ((hits, idle), _) = first_new_block(replica, context, id);
        let (known, computed) = (context.requests[id].prompt, hits * context.config.block_size);
        if is_no_evict(context) {
            let unreserved = self.unreserved(list, replica, context);
            let (need, ..) = self.memory(list, replica, context, (id, hits, idle));
            self.unreserved = Some(unreserved - need);
        }
        let (adapter, rank) = context.adapter(id);
        step.load_us += replica.adapters.acquire(&mut replica.kv, adapter, rank, context.now_us);
        let mut held = replica.kv.no_blocks();
        replica.kv.touch_blocks(id, known, hits, &mut held);
        context.requests.finds(id, computed, 0);
        replica.kv.take_blocks(known, &mut held);
        list.admit(replica, context, (id, known, computed), held);
        self.paused.retain(|&other| other != id);
        let tokens = tokens.min(known - computed);
        step.take(Scheduled {
            id,
            tokens,
            computed,
            is_prompt: true,
            is_admitted: true,
            ..Scheduled::default()
        });
    }

    /// The prompts that share the budget get their parts of it.
    pub(super) fn share_budget(
        &mut self,
        list: &mut RunningList,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        step: &mut MicroBatch,
    ) {
        let shares = step.shares();
        for (Sharer { id, left, compared }, tokens) in
            std::mem::take(&mut step.sharers).into_iter().zip(shares)
        {
            if let Some(place) = list.running_place(context, id) {
                step.go_on(list, context, place, tokens);
            } else if tokens > 0 {
                context.decided(replica.index, id, Verdict::Admitted, || compared);
                step.passed.retain(|&other| other != id);
                self.admit(list, replica, context, step, (id, tokens));
            } else {
                let compared = || Compared::new(Test::TokenBudget, left, tokens);
                context.decided(replica.index, id, Verdict::Skipped, compared);
            }
        }
    }
}

fn is_no_evict(context: &ScheduleContext<'_>) -> bool {
    context.config.trtllm.capacity_scheduler_policy == CapacityPolicy::GuaranteedNoEvict
}
