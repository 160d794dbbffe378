//! The waiting requests: which are admitted, with the blocks that are cached of them.

use super::{Held, Look, Place, Replica, Running, Scheduled, Step, Stop, World};

/// Lets in those who wait, in the order of the line, until one does not fit.
pub(super) fn schedule(replica: &mut Replica, world: &mut World<'_>, step: &mut Step) -> Look {
    let config = world.config;
    let most = step
        .rules
        .max_num_active_seqs
        .map_or(config.max_requests, |most| most.clamp(1, config.max_requests.max(1)));
    let mut passed = Vec::new();
    let mut stop = None;
    while let Some(id) = replica.head(world) {
        stop = if step.budget == 0 {
            Some(Stop::PromptBudget)
        } else if replica.state.vllm.order.len() >= most as usize {
            Some(Stop::RunningCap)
        } else if replica.state.vllm.stale(world, id) > 0 {
            // Its last token is not back; those behind it go on.
            replica.leave_line(world);
            passed.push(id);
            let deferred = &mut replica.state.vllm.deferred;
            if !deferred.contains(&id) {
                deferred.push(id);
            }
            continue;
        } else if !replica.adapters.admits(world.adapter(id).0) {
            // Those behind it go on (vllm/v1/core/sched/scheduler.py: max_loras).
            if replica.pass_over(world).is_none() {
                break;
            }
            continue;
        } else {
            admit(replica, world, step, id).err()
        };
        if stop.is_some() {
            break;
        }
    }
    for &id in passed.iter().rev() {
        replica.back_to_line(world, id);
    }
    if !step.defers_prompts {
        let state = &mut replica.state.vllm;
        state.deferred.retain(|&id| world.requests.place[id as usize] == Place::Waiting);
        state.is_capacity_bound = replica.line as usize > state.deferred.len();
    }
    Look::At(stop)
}

/// Lets the head of the line in, or says why it stays.
fn admit(replica: &mut Replica, world: &mut World<'_>, step: &mut Step, id: u32) -> Result<(), Stop> {
    let config = world.config;
    let known = world.requests.prompt[id as usize];
    // The last token is computed in any case: the next one comes out of it.
    let (hits, idle) = replica.kv.known_blocks(world.trace, id, (known - 1) / config.block_size);
    let computed = hits * config.block_size;
    let is_prompt_left = computed + 1 < known;
    if step.defers_prompts && is_prompt_left {
        return Err(Stop::PromptBudget);
    }
    let tokens = (known - computed).min(step.chunk);
    if !step.rules.enable_chunked_prefill && tokens > step.budget {
        return Err(Stop::PromptBudget);
    }
    let tokens = tokens.min(step.budget);
    let watermark = if replica.state.vllm.order.is_empty() { 0 } else { config.watermark_blocks };
    let blocks = config.blocks_for(computed + tokens) - hits;
    let wanted = if step.rules.scheduler_reserve_full_isl { config.blocks_for(known) - hits } else { blocks };
    let wanted = u64::from(wanted) + u64::from(idle) + u64::from(watermark);
    if replica.free_beside_adapter(world, id).is_none_or(|free| wanted > u64::from(free)) {
        return Err(Stop::Memory);
    }
    replica.leave_line(world);
    let (adapter, rank) = world.adapter(id);
    step.load_us += replica.adapters.acquire(&mut replica.kv, adapter, rank, world.now_us);
    let mut held = Held::default();
    replica.kv.share_blocks(world.trace, id, known, hits, &mut held);
    replica.kv.take_blocks(blocks, &mut held);
    replica.kv.learn_blocks(world.trace, id, computed + tokens, &mut held);
    replica.holders += 1;
    world.requests.place[id as usize] = Place::Prefilling;
    world.requests.done[id as usize] = computed;
    step.budget -= tokens;
    step.reads_prompts |= is_prompt_left;
    step.scheduled.push(Scheduled {
        id,
        tokens,
        computed,
        is_prompt: true,
        makes_token: false,
        is_admitted: true,
    });
    let state = &mut replica.state.vllm;
    let entry = Running { id, known, computed, held, has_adapter: true, ..Running::default() };
    let place = state.add(world, entry);
    state.order.push(place);
    Ok(())
}
