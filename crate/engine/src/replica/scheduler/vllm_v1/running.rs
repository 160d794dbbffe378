//! The running queue: a token each or the next chunk of a prompt, and which is preempted where blocks run out.

use super::{Replica, RunningList, ScheduleContext, Scheduled, Step};
use crate::config::Equals;
use crate::record::decisions::{Compared, Test, Verdict};
use crate::replica::running_list::RunningRequest;

/// Schedules running requests, in their order.
pub(super) fn schedule(
    list: &mut RunningList,
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    step: &mut Step,
) {
    let mut next = 0;
    while next < list.order.len() && step.tokens_left() > 0 {
        let place = list.order[next];
        let entry = &list.entries[place as usize];
        let tokens = if list.looks < entry.decodes_from { 0 } else { tokens_of(entry, context, step) };
        if tokens == 0 {
            if step.defers_prompts && entry.is_prompt_chunk {
                context.record.phases.defer(entry.id, context.now_us, true);
            }
            next += 1;
            continue;
        }
        let (wanted, left) = (rows_of(entry), step.tokens_left());
        match make_room(list, replica, context, step, place, tokens, &mut next) {
            Room::Taken => {}
            // Under priority a request that preempted itself leaves those behind it, which are more urgent, their turn.
            Room::LeftItself if replica.waiting.ranks_holders() => continue,
            Room::LeftItself => return,
            Room::Awaited => break,
        }
        let entry = list.entry(place);
        let (id, computed, tokens_made) = (entry.id, entry.computed, (entry.known, entry.awaited));
        entry.is_scheduled = true;
        step.reads_prompts |= entry.is_prompt_chunk;
        let is_prompt = computed < context.requests[id].prompt;
        let behind_known = (computed + tokens).saturating_sub(entry.known + entry.awaited);
        let made = std::mem::take(&mut entry.drafts);
        let drafts = made.min(behind_known);
        if drafts < made {
            context.decided(replica.index, id, Verdict::DraftsDropped, || {
                if tokens == left {
                    Compared::new(Test::TokenBudget, wanted, left)
                } else {
                    Compared::NOTHING
                }
            });
        }
        let scheduled = Scheduled { id, tokens, computed, is_prompt, drafts, ..Scheduled::default() };
        step.add(context, tokens_made, scheduled);
        next += 1;
    }
    if context.record.phases.is_on() {
        for &place in &list.order[next..] {
            let id = list.entries[place as usize].id;
            context.record.phases.defer(id, context.now_us, false);
        }
    }
}

/// Whether the token under way is the last that a request may get.
fn is_last_under_way(entry: &RunningRequest, context: &ScheduleContext<'_>) -> bool {
    let most = context.trace.input_tokens[entry.id].saturating_add(context.max_tokens(entry.id));
    entry.awaited > 0 && entry.computed + 2 - entry.awaited >= most
}

/// Tokens of a running request that are left to compute, its drafts among them.
fn rows_of(entry: &RunningRequest) -> u32 {
    (entry.known + entry.drafts + entry.awaited).saturating_sub(entry.computed)
}

/// Tokens of a running request that this iteration processes; 0: it is not part of it.
fn tokens_of(entry: &RunningRequest, context: &ScheduleContext<'_>, step: &Step) -> u32 {
    if is_last_under_way(entry, context) {
        return 0;
    }
    if step.defers_prompts && entry.is_prompt_chunk {
        return 0;
    }
    let to_longest = context.config.max_request_tokens.saturating_sub(entry.computed + 1);
    rows_of(entry).min(step.chunk).min(step.tokens_left()).min(to_longest)
}

/// Whether a running request has the blocks that it needs.
enum Room {
    Taken,
    /// It was preempted itself.
    LeftItself,
    /// Those that would be preempted are part of an iteration under way. A load could fill their blocks while it still writes them,
    /// so they come free when it has ended (`defer_block_free` of vLLM).
    Awaited,
}

/// Takes the blocks for the next `tokens` of a running request, preempting others where there are too few.
fn make_room(
    list: &mut RunningList,
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    step: &mut Step,
    place: u32,
    tokens: u32,
    next: &mut usize,
) -> Room {
    let is_by_priority = replica.waiting.ranks_holders();
    loop {
        let Replica { kv, .. } = replica;
        let entry = list.entry(place);
        // What batches under way look at stays.
        kv.remove_skipped_blocks(entry.id, entry.computed - entry.under_way, &mut entry.held);
        let slots = context.config.slots_for(entry.computed + tokens);
        let blocks = kv.blocks_to_take(slots, &entry.held);
        if blocks <= kv.available() {
            kv.take_blocks(slots, &mut entry.held);
            let findable = context.config.findable_tokens(entry.known);
            kv.cache_blocks(entry.id, (entry.computed + tokens).min(findable), &mut entry.held);
            return Room::Taken;
        }
        // An adapter that is there for a waiting request makes room before a running request does.
        if replica.adapters.is_ahead() {
            replica.adapters.keep_ahead(&mut replica.kv, None);
            continue;
        }
        let order = &list.order;
        let at = if is_by_priority {
            least_urgent(list, replica, context, step.rules.equals)
        } else {
            order.len() - 1
        };
        if replica.kv_connector.is_some() && list.entries[list.order[at] as usize].under_way > 0 {
            return Room::Awaited;
        }
        let victim = list.order.remove(at);
        if at < *next {
            *next -= 1;
        }
        let entry = list.entry(victim);
        if std::mem::take(&mut entry.is_scheduled) {
            step.take_back(entry.id);
        }
        let needs = (list.entry(place).id, blocks, replica.kv.available());
        replica.record_preemption(context, list.entries[victim as usize].id, Verdict::Preempted, needs);
        preempt(list, replica, context, victim);
        if victim == place {
            return Room::LeftItself;
        }
    }
}

/// Where the least urgent one stands in the order: of the lowest priority, then of the latest arrival.
fn least_urgent(
    list: &RunningList,
    replica: &Replica,
    context: &ScheduleContext<'_>,
    equals: Equals,
) -> usize {
    let key = |at: usize| {
        let id = list.entries[list.order[at] as usize].id;
        replica.waiting.key(context.trace, id, context.arrival_us(id))
    };
    let by_key = |&a: &usize, &b: &usize| key(a).total_cmp(&key(b));
    let places = 0..list.order.len();
    // The last of equal ones is the greatest to Rust, the first one to vLLM.
    match equals {
        Equals::FirstAdmitted => places.rev().max_by(by_key),
        Equals::LastAdmitted => places.max_by(by_key),
    }
    .unwrap_or(0)
}

/// A request that is taken out of the order loses its memory and waits.
fn preempt(list: &mut RunningList, replica: &mut Replica, context: &mut ScheduleContext<'_>, place: u32) {
    let id = list.preempt(replica, context, place);
    replica.requeue(context, id);
    // Where adapters share the KV memory, those that no request uses any more make room.
    replica.adapters.offload_unused(&mut replica.kv);
}
