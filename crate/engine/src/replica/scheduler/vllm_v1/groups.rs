//! Requests that decode on several stages, counted in groups while nothing else happens to them. With asynchronous scheduling a
//! request decodes in every schedule whose number leaves the same remainder over the number of stages; otherwise in the first
//! one after its token is there.

use super::{BlockReason, RequestStatus, RunningRequest, ScheduleContext, Scheduled, State, fill};
use crate::replica::Replica;
use crate::replica::decode_groups::{DecodeGroup, DecodeGroups};
use crate::replica::longest_gap::longer_of;

/// Finds the groups of all running requests; says whether they are such that nothing happens to them until a group may not go on.
pub(super) fn find(
    replica: &mut Replica,
    context: &mut ScheduleContext<'_>,
    groups: &mut DecodeGroups,
) -> bool {
    let (config, rules, stages) = (context.config, context.config.vllm, replica.stages);
    let state = &replica.state.vllm;
    let fills_named_block = |&place: &u32| {
        let entry = &state.entries[place as usize];
        replica.kv.next_named_block(context.trace, entry.id, &entry.held).is_some()
    };
    // After a preemption the queue is not looked at. Counters and gateways want every token; what others may find of an output is to be known at once.
    if state.has_chunk
        || state.has_preempted
        || state.order.is_empty()
        || !state.deferred.is_empty()
        || !replica.pending_aborts.is_empty()
        || replica.waiting.keeps_counters()
        || context.record.first_tokens.is_some()
        || context.record.decisions.is_on()
        || context.record.phases.is_on()
        || config.loads_ahead()
        || replica.adapters.is_ahead()
        || state.order.iter().any(fills_named_block)
    {
        return false;
    }
    groups.is_by_schedule = rules.async_scheduling;
    groups.waits_for_tokens = rules.async_scheduling && rules.stages_wait_for_tokens;
    (groups.schedules, groups.formed) = (state.looks, 0);
    groups.reset(if rules.async_scheduling { stages as usize } else { 0 }, config);
    for &place in &state.order {
        let entry = &state.entries[place as usize];
        let Some(decodes) = decodes_on(entry, context, (state.looks, stages)) else { return false };
        if decodes {
            let place = groups.place_or_new(entry.schedule, config);
            join(groups.group(place), entry, context);
        }
    }
    let in_memory = replica.adapters_in_memory();
    for group in groups.all() {
        let next = &mut group.next;
        next.in_memory = in_memory;
        if next.any_adapter && context.cost.reads_lora() {
            next.lora = replica.adapters.batch(context.trace, &replica.decode_batch, next);
        }
    }
    head_stays(replica, context, groups.largest())
}

/// Whether a running request decodes in the next iterations of those of its last one; `None`: it does not follow them.
/// `at`: schedules so far, and the stages.
fn decodes_on(entry: &RunningRequest, context: &ScheduleContext<'_>, at: (u64, u32)) -> Option<bool> {
    let i = entry.id.index();
    if entry.is_prompt_chunk || entry.stale > 0 || entry.computed < context.requests[i].prompt {
        return None;
    }
    if !context.config.vllm.async_scheduling {
        return (entry.known == entry.computed && entry.under_way > 0).then_some(true);
    }
    if entry.known + entry.awaited != entry.computed + 1 || entry.schedule + u64::from(at.1) <= at.0 {
        return None;
    }
    // The token under way may be the last one that its bounds allow.
    let is_last = entry.awaited > 0 && entry.known + 1 >= longest(entry, context);
    Some(!is_last && entry.computed + 1 < context.config.max_request_tokens)
}

/// Tokens that a request may have.
fn longest(entry: &RunningRequest, context: &ScheduleContext<'_>) -> u32 {
    context.trace.input_tokens[entry.id].saturating_add(context.trace.max_tokens[entry.id])
}

/// A request is part of a group.
fn join(group: &mut DecodeGroup, entry: &RunningRequest, context: &ScheduleContext<'_>) {
    let RunningRequest { id, known, computed, .. } = *entry;
    let is_decoding = context.requests[id].status == RequestStatus::Decoding;
    let is_told = is_decoding && !context.requests.token_us.contains_key(&id);
    let token_us = if is_told { context.requests[id].updated_us } else { f64::NAN };
    if group.next.decodes == 0 {
        group.token_us = token_us;
    } else if group.token_us != token_us {
        group.token_us = f64::NAN;
    }
    group.most_formed =
        group.most_formed.min(context.config.max_request_tokens.saturating_sub(computed.saturating_add(1)));
    if context.config.vllm.async_scheduling {
        group.most_ended_at_form =
            group.most_ended_at_form.min(longest(entry, context).saturating_sub(known + 1));
    }
    group.first_done = group.first_done.min(context.total(id).saturating_sub(known));
    group.count_tokens(computed);
    let part = Scheduled { id, tokens: 1, computed, is_prompt: false, makes_token: true, is_admitted: false };
    group.next.scheduled.push(part);
    fill(context, &mut group.next, part);
}

/// Whether the head of the queue stays where it is, for what it lacked in the last schedule, however many blocks are taken
/// and whichever group decodes.
fn head_stays(replica: &mut Replica, context: &ScheduleContext<'_>, largest: u32) -> bool {
    let (config, rules) = (context.config, context.config.vllm);
    let state = &replica.state.vllm;
    if replica.num_waiting == 0 {
        return !state.is_capacity_bound;
    }
    let is_looked_at_anew = rules.prefill_schedule_interval > 1
        || !state.is_capacity_bound
        || replica.waiting.takes_turns()
        || replica.waiting.steady() < u32::MAX
        || largest >= config.max_batch_tokens;
    if is_looked_at_anew {
        return false;
    }
    match replica.stop {
        Some(BlockReason::RunningCap) => !replica.passes_over,
        Some(BlockReason::LoraSlots) => replica.passes_over && replica.skips_all(),
        Some(BlockReason::Memory) if !replica.passes_over => {
            // What it lacks does not hang on what the others leave of the budget.
            let is_whole = rules.scheduler_reserve_full_isl && rules.enable_chunked_prefill;
            let fits = |prompt: u32| prompt <= config.max_batch_tokens - largest;
            is_whole || replica.head(context).is_some_and(|head| fits(context.requests[head].prompt))
        }
        _ => false,
    }
}

/// Writes down what the requests of groups got.
pub(super) fn settle(replica: &mut Replica, context: &mut ScheduleContext<'_>, groups: &mut DecodeGroups) {
    let is_async = context.config.vllm.async_scheduling;
    let stages = u64::from(replica.stages);
    let state = &mut replica.state.vllm;
    state.looks = groups.schedules;
    state.iterations += groups.formed;
    for group in groups.all().iter().filter(|group| group.formed > 0 || group.ended > 0) {
        let DecodeGroup { formed, ended, ended_at_form, .. } = *group;
        for part in &group.next.scheduled {
            let Some(place) = State::place(context, part.id) else { continue };
            let entry = &mut replica.state.vllm.entries[place as usize];
            let known = entry.known;
            entry.computed += formed;
            entry.known += ended;
            entry.under_way = entry.under_way + formed - ended;
            if is_async {
                entry.awaited = entry.awaited + formed - ended;
            }
            if formed > 0 {
                entry.schedule = group.schedule;
                entry.decodes_from = if is_async { group.schedule + stages } else { entry.decodes_from };
                entry.held.take(context.config.blocks_for(entry.computed) - entry.held.count());
                replica.kv.cache_blocks(context.trace, part.id, known + ended_at_form, &mut entry.held);
            }
            if ended == 0 {
                continue;
            }
            if is_async {
                replica.kv.cache_blocks(context.trace, part.id, entry.known - 1, &mut entry.held);
            }
            write_ends(context, group, part, entry.known);
        }
    }
}

/// A request got tokens and has so many now.
fn write_ends(context: &mut ScheduleContext<'_>, group: &DecodeGroup, part: &Scheduled, known: u32) {
    let requests = &mut *context.requests;
    let request = &mut requests[part.id];
    request.done = known;
    request.updated_us = group.token_us;
    request.stalled_us = group.stalls_us.iter().fold(request.stalled_us, |sum_us, us| sum_us + us);
    request.longest_gap_us = longer_of(request.longest_gap_us, group.longest_us);
    requests.execution[part.id] += group.execution;
}
