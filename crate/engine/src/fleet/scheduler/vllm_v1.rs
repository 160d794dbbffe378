//! vLLM's engine since 2025 ("V1", vllm/v1/core/sched/scheduler.py, without its prefix cache): one budget of tokens an
//! iteration. First those who run, in order of admission: a token each, or the next chunk of a prompt; who finds no block
//! evicts the last admitted, itself at the end. Then, if nobody was evicted, the line: chunks of prompts, memory taken
//! chunk by chunk.

use super::{Flight, Replica, World};

pub(super) fn form(replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) {
    let config = world.config;
    let evicted_before = world.record.evictions;
    replica.aside.clear();
    if replica.decode_paged(world, flight, false) {
        let Replica { aside, chunked, .. } = replica;
        aside.append(chunked);
    }
    let mut left = config.max_batch_tokens.saturating_sub(flight.decodes);
    let mut aside = std::mem::take(&mut replica.aside);
    for &id in &aside {
        let tokens = world.prompt_left(id).min(left);
        let blocks = chunk_blocks(world, id, tokens);
        if tokens == 0 {
            replica.chunked.push(id);
        } else if blocks > replica.free() {
            // A half-read prompt is the last in order.
            replica.evict(world, id);
        } else {
            left -= tokens;
            replica.used += blocks;
            world.add_chunk(flight, id, tokens);
        }
    }
    aside.clear();
    replica.aside = aside;
    if world.record.evictions > evicted_before {
        return;
    }
    while let Some(&id) = replica.waiting.front() {
        let tokens = world.prompt_left(id).min(left);
        let blocks = config.blocks_for(tokens);
        if replica.holders >= config.max_requests
            || flight.size() >= replica.batch_cap(config)
            || tokens == 0
            || !replica.has_room(world, blocks)
        {
            break;
        }
        left -= tokens;
        replica.admit(world, flight, blocks, tokens);
    }
}

/// Blocks that the next `tokens` of a prompt take.
fn chunk_blocks(world: &World<'_>, id: u32, tokens: u32) -> u32 {
    let done = world.requests.done[id as usize];
    world.config.blocks_for(done + tokens) - world.config.blocks_for(done)
}
