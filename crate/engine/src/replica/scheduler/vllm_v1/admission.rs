//! The head of the waiting queue: what is cached of it, and whether it is admitted, begins to load, or stays.

use servescope_workload::RequestId;

use super::{Looked, PoolConfig, Replica, RunningList, ScheduleContext, Scheduled, Step, loading};
use crate::record::decisions::{Compared, Test, Verdict};
use crate::request::BlockReason;

/// Admits the head of the waiting queue out of its turn, or says why it and those behind it stay.
pub(super) fn admit_head(
    list: &mut RunningList,
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    step: &mut Step,
    id: RequestId,
) -> Option<BlockReason> {
    let (looked, compared) = admit(list, replica, context, step, id);
    let (verdict, stop) = match looked {
        Looked::Admitted => (Verdict::Admitted, None),
        Looked::Loads => (Verdict::Loads, None),
        Looked::Skipped => (Verdict::Skipped, None),
        Looked::Waits(reason) => (Verdict::Waits, Some(reason)),
    };
    context.decided(replica.index, id, verdict, || compared);
    stop
}

/// Admits the head of the waiting queue, or says why it stays; and what the test that decided compared.
pub(super) fn admit(
    list: &mut RunningList,
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    step: &mut Step,
    id: RequestId,
) -> (Looked, Compared) {
    let config = context.config;
    let known = context.requests[id].prompt;
    // The last token is computed in any case: the next one comes out of it.
    let (hits, idle) = found(replica, config, id, known);
    if let Some(tier) = &mut replica.kv_connector {
        match tier.matched(context, id, known, hits) {
            None => return (Looked::Skipped, Compared::without_numbers(Test::CopyUnderWay)),
            Some(0) => {}
            Some(tokens) => return loading::begin(list, replica, context, step, id, [hits, idle, tokens]),
        }
    }
    let computed = hits * config.block_size;
    let is_prompt_left = computed + 1 < known;
    if step.defers_prompts && is_prompt_left {
        return (Looked::Waits(BlockReason::PromptBudget), Compared::without_numbers(Test::TokenBudget));
    }
    let padding = step.padding.of(computed, known);
    let tokens = if padding > 0 { 1 + padding } else { (known - computed).min(step.chunk) };
    let is_whole = padding > 0 || !step.rules.enable_chunked_prefill;
    if is_whole && tokens > step.tokens_left() {
        let compared = Compared::new(Test::TokenBudget, tokens, step.tokens_left());
        return (Looked::Waits(BlockReason::PromptBudget), compared);
    }
    let tokens = tokens.min(step.tokens_left());
    let slots = config.slots_for(computed + tokens);
    let watermark = if list.order.is_empty() { 0 } else { config.watermark_blocks };
    let mut wanted = replica.kv.blocks_to_admit(hits, slots);
    if step.rules.scheduler_reserve_full_isl {
        wanted = wanted.max(replica.kv.blocks_for_whole(hits, known));
    }
    let wanted = u64::from(wanted) + u64::from(idle) + u64::from(watermark);
    let free = replica.free_beside_adapter(context, id);
    let compared = Compared::new(Test::KvBlocks, wanted, free.unwrap_or(0));
    if free.is_none_or(|free| wanted > u64::from(free)) {
        return (Looked::Waits(BlockReason::Memory), compared);
    }
    replica.pop_waiting(context);
    let (adapter, rank) = context.adapter(id);
    step.load_us += replica.adapters.acquire(&mut replica.kv, adapter, rank, context.now_us);
    if let Some(tier) = &mut replica.kv_connector {
        tier.admitted(context.trace, id, known, hits);
    }
    let mut held = replica.kv.no_blocks();
    replica.kv.touch_blocks(id, known, hits, &mut held);
    context.requests.finds(id, hits * config.block_size, 0);
    replica.kv.take_blocks(slots, &mut held);
    replica.kv.cache_blocks(id, (computed + tokens).min(config.findable_tokens(known)), &mut held);
    list.admit(replica, context, (id, known, computed), held);
    step.admit(context, known, Scheduled { id, tokens, computed, drafts: padding, ..Scheduled::default() });
    (Looked::Admitted, compared)
}

/// How many of a waiting request's first blocks are cached and not computed again, and how many of them no request holds.
fn found(replica: &Replica, config: &PoolConfig, id: RequestId, known: u32) -> (u32, u32) {
    let most = config.findable_tokens(known).min(known - 1) / config.block_size;
    let found = replica.kv.get_computed_blocks(id, most);
    if config.drops_last_found() && found.0 > 0 {
        return replica.kv.get_computed_blocks(id, found.0 - 1);
    }
    found
}
