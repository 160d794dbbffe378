//! vLLM's engine since 2025 ("V1", vllm/v1/core/sched/scheduler.py): one budget of tokens an
//! iteration. First those who run, in order of admission: a token each, or the next chunk of a prompt; who finds no block
//! evicts the last admitted, itself at the end. Then, if nobody was evicted, the line: chunks of prompts, memory taken
//! chunk by chunk.

use super::{Flight, Replica, World};

pub(super) fn form(replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) {
    let config = world.config;
    let evicted_before = world.record.evictions.len();
    replica.aside.clear();
    if replica.decode_paged(world, flight, !replica.is_single()) {
        let Replica { aside, chunked, .. } = replica;
        aside.append(chunked);
    }
    let mut left = config.max_batch_tokens.saturating_sub(flight.decodes);
    let mut aside = std::mem::take(&mut replica.aside);
    let mut next = 0;
    while next < aside.len() {
        let id = aside[next];
        next += 1;
        let tokens = world.prompt_left(id).min(left);
        let blocks = chunk_blocks(world, id, tokens);
        while blocks > replica.free() && next < aside.len() && !replica.may_stay(world) {
            if let Some(last) = aside.pop() {
                replica.evict(world, last);
            }
        }
        if tokens > 0 && blocks <= replica.free() {
            left -= tokens;
            replica.used += blocks;
            world.add_chunk(flight, id, tokens);
        } else if tokens == 0 || replica.may_stay(world) || !(replica.is_single() || flight.is_empty()) {
            // In a pipeline it may have come before those who decode, and would lose its turn to them again and again.
            replica.chunked.push(id);
        } else {
            replica.evict(world, id);
        }
    }
    aside.clear();
    replica.aside = aside;
    if world.record.evictions.len() > evicted_before {
        return;
    }
    while let Some(&id) = replica.waiting.front() {
        let (units, idle_blocks) = replica.known_prefix(world, id);
        let known = units * replica.prefix.as_ref().map_or(0, |cache| cache.unit_tokens);
        let tokens = (world.prompt_left(id) - known).min(left);
        let blocks = config.blocks_for(known + tokens) - known / config.block_size + idle_blocks;
        if replica.holders >= config.max_requests
            || flight.size() >= replica.batch_cap(config)
            || tokens == 0
            || !replica.has_room(world, blocks)
        {
            break;
        }
        left -= tokens;
        replica.use_prefix(world, id, units);
        replica.admit(world, flight, blocks, tokens);
    }
}

/// Blocks that the next `tokens` of a prompt take.
fn chunk_blocks(world: &World<'_>, id: u32, tokens: u32) -> u32 {
    let done = world.requests.done[id as usize];
    world.config.blocks_for(done + tokens) - world.config.blocks_for(done)
}
