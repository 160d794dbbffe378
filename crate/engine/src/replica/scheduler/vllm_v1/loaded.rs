//! Requests that wait with their blocks, because they were loaded or their session kept them (`kv_holding_waiting` of vLLM's scheduler):
//! they are admitted like requests of which the rest is left to compute, before any other; where one does not fit, no other is looked at.

use servescope_workload::RequestId;

use super::{BlockReason, Replica, RunningList, ScheduleContext, Scheduled, State, Step, admission};
use crate::record::decisions::{Compared, Test, Verdict};
use crate::replica::holding::Holder;

/// Admits requests that are loaded, or go on in their session; `most` requests run at once. Says why the others and the waiting queue are not looked at.
pub(super) fn schedule(
    state: &mut State,
    list: &mut RunningList,
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    step: &mut Step,
    most: usize,
) -> Option<BlockReason> {
    let mut next = 0;
    while let Some(id) = replica.holding.nth(next) {
        let running = list.order.len() + replica.holding.sessions() as usize;
        if step.tokens_left() == 0 {
            context.queue_waits(replica.index, || Compared::new(Test::TokenBudget, 1u32, 0u32));
            return Some(BlockReason::PromptBudget);
        }
        if running >= most {
            context.queue_waits(replica.index, || Compared::new(Test::RunningCap, running + 1, most));
            return Some(BlockReason::RunningCap);
        }
        if replica.holding.get(id).is_some_and(Holder::awaits_input) {
            next += 1;
            continue;
        }
        if !replica.finish_load(id) {
            state.defer(id);
            next += 1;
            continue;
        }
        if !replica.adapters.admits(context.adapter(id).0) {
            replica.record_no_slot(context, id);
            state.defer(id);
            next += 1;
            continue;
        }
        if replica.holding.get(id).is_some_and(Holder::has_nothing) {
            replica.wait_anew(context, id);
            if replica.head(context) == Some(id)
                && let Some(reason) = admission::admit_head(list, replica, context, step, id)
            {
                return Some(reason);
            }
            continue;
        }
        let (mut reason, mut compared) = admit(list, replica, context, step, id);
        if reason == Some(BlockReason::Memory) && replica.adapters.is_ahead() {
            // An adapter that is there for a request behind it makes room first.
            replica.adapters.keep_ahead(&mut replica.kv, None);
            (reason, compared) = admit(list, replica, context, step, id);
        }
        let verdict = if reason.is_none() { Verdict::Admitted } else { Verdict::Waits };
        context.decided(replica.index, id, verdict, || compared);
        if step.has_padded(id) {
            context.decided(replica.index, id, Verdict::DraftsPadded, || Compared::NOTHING);
        }
        if reason.is_some() {
            return reason;
        }
    }
    None
}

/// Admits a request that is loaded, or says why it stays; and what the test that decided compared.
fn admit(
    list: &mut RunningList,
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    step: &mut Step,
    id: RequestId,
) -> (Option<BlockReason>, Compared) {
    let config = context.config;
    let Some(Holder { known, computed, held, .. }) = replica.holding.get(id) else {
        return (None, Compared::NOTHING);
    };
    let (known, computed) = (*known, *computed);
    let is_prompt_left = computed + 1 < known;
    if step.defers_prompts && is_prompt_left {
        return (Some(BlockReason::PromptBudget), Compared::without_numbers(Test::TokenBudget));
    }
    let padding = step.padding.of(computed, known);
    let tokens = if padding > 0 { 1 + padding } else { (known - computed).min(step.chunk) };
    let is_whole = padding > 0 || !step.rules.enable_chunked_prefill;
    if is_whole && tokens > step.tokens_left() {
        let compared = Compared::new(Test::TokenBudget, tokens, step.tokens_left());
        return (Some(BlockReason::PromptBudget), compared);
    }
    let tokens = tokens.min(step.tokens_left());
    let slots = config.slots_for(computed + tokens);
    let watermark = if list.order.is_empty() { 0 } else { config.watermark_blocks };
    let mut wanted = replica.kv.blocks_to_take(slots, held);
    if step.rules.scheduler_reserve_full_isl {
        wanted = wanted.max(replica.kv.blocks_to_take(known, held));
    }
    let wanted = u64::from(wanted) + u64::from(watermark);
    let free = replica.free_beside_adapter(context, id);
    let compared = Compared::new(Test::KvBlocks, wanted, free.unwrap_or(0));
    if free.is_none_or(|free| wanted > u64::from(free)) {
        return (Some(BlockReason::Memory), compared);
    }
    let Some(mut holder) = replica.take_holder(context, id) else { return (None, compared) };
    if let Some(tier) = &mut replica.kv_connector {
        tier.admitted(context.trace, id, known, computed / config.block_size);
    }
    let (adapter, rank) = context.adapter(id);
    step.load_us += replica.adapters.acquire(&mut replica.kv, adapter, rank, context.now_us);
    replica.kv.take_blocks(slots, &mut holder.held);
    replica.kv.cache_blocks(id, (computed + tokens).min(known), &mut holder.held);
    list.admit(replica, context, (id, known, computed), holder.held);
    step.admit(context, known, Scheduled { id, tokens, computed, drafts: padding, ..Scheduled::default() });
    (None, compared)
}
