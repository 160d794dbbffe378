//! The waiting requests: which are admitted, with the blocks that are cached of them. Those that hold blocks already, because a tier
//! below the KV cache loads them (`loading`), come first.

use servescope_workload::RequestId;

use crate::record::decisions::{Compared, Test, Verdict};

use super::{
    BlockReason, Padding, PoolConfig, QueueScan, Replica, RunningList, ScheduleContext, Scheduled, State,
    Step,
};
use super::{Looked, loading};
use crate::record::request_state::RequestStatus;

/// Admits waiting requests, in queue order, until one does not fit.
pub(super) fn schedule(
    state: &mut State,
    list: &mut RunningList,
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    step: &mut Step,
) -> QueueScan {
    let config = context.config;
    // vLLM's max_num_seqs, or its max_num_active_seqs where that is less.
    let most = step
        .rules
        .max_num_active_seqs
        .map_or(config.max_requests, |most| most.clamp(1, config.max_requests.max(1)));
    step.padding = Padding::beside(step, config);
    let mut passed = Vec::new();
    let mut stop = loading::schedule(state, list, replica, context, step, most as usize);
    while stop.is_none()
        && let Some(id) = replica.head(context)
    {
        let running = list.order.len();
        stop = if step.tokens_left() == 0 {
            context.queue_waits(replica.index, || Compared::new(Test::TokenBudget, 1u32, 0u32));
            Some(BlockReason::PromptBudget)
        } else if running >= most as usize {
            context.queue_waits(replica.index, || Compared::new(Test::RunningCap, running + 1, most));
            Some(BlockReason::RunningCap)
        } else if list.stale(context, id) > 0 {
            let tokens = list.stale(context, id);
            context.decided(replica.index, id, Verdict::Skipped, || {
                Compared::new(Test::TokensUnderWay, tokens, 0u32)
            });
            // Its last token is not back; those behind it go on.
            defer(state, replica, context, &mut passed, id);
            continue;
        } else if !replica.adapters.admits(context.adapter(id).0) {
            // Those behind it go on (vllm/v1/core/sched/scheduler.py: max_loras).
            if step.rules.prefill_schedule_interval > 1 {
                // Each of them counts as deferred, so they are skipped one by one.
                replica.record_no_slot(context, id);
                defer(state, replica, context, &mut passed, id);
            } else if replica.pass_over(context).is_none() {
                break;
            }
            continue;
        } else {
            let (looked, compared) = admit(list, replica, context, step, id);
            let verdict = match looked {
                Looked::Admitted => Verdict::Admitted,
                Looked::Loads => Verdict::Loads,
                Looked::Skipped => Verdict::Skipped,
                Looked::Waits(_) => Verdict::Waits,
            };
            context.decided(replica.index, id, verdict, || compared);
            if step.has_padded(id) {
                context.decided(replica.index, id, Verdict::DraftsPadded, || Compared::NOTHING);
            }
            match looked {
                Looked::Admitted => {}
                Looked::Loads => state.defer(id),
                Looked::Skipped => defer(state, replica, context, &mut passed, id),
                Looked::Waits(reason) => stop = Some(reason),
            }
            continue;
        };
        if stop.is_some() {
            break;
        }
    }
    for &id in passed.iter().rev() {
        replica.requeue(context, id);
    }
    if !step.defers_prompts {
        let waits = |&id: &RequestId| {
            matches!(context.requests[id].status, RequestStatus::Waiting | RequestStatus::Loading)
        };
        state.deferred.retain(waits);
        state.is_capacity_bound = replica.num_waiting as usize > state.deferred.len();
    }
    context.record.phases.scanned(replica.index, context.now_us, stop, step.defers_prompts);
    QueueScan::Stopped(stop)
}

/// Takes the head out of the waiting queue until the iteration is formed, so that the requests behind it are looked at.
fn defer(
    state: &mut State,
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    passed: &mut Vec<RequestId>,
    id: RequestId,
) {
    replica.pop_waiting(context);
    passed.push(id);
    state.defer(id);
}

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
fn admit(
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
    if let Some(tier) = &mut replica.kv_offload {
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
    if let Some(tier) = &mut replica.kv_offload {
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
