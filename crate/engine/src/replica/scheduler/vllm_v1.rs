//! vLLM's engine since 2025 ("V1", vllm/v1/core/sched/scheduler.py): one budget of tokens an
//! iteration. First those who run, in order of admission: a token each, or the next chunk of a prompt; who finds no block
//! evicts the last admitted, itself at the end. Then, if nobody was evicted, the line: chunks of prompts, memory taken
//! chunk by chunk.

use super::vllm::refuses_blocks;
use super::{BatchScheduler, FleetConfig, Flight, Look, Replica, World};
use crate::config::Preemption;
use crate::request::{Refusal, Stop};

/// The scheduler.
pub(super) struct VllmV1;

impl BatchScheduler for VllmV1 {
    fn form(&self, replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) -> Look {
        form(replica, world, flight)
    }

    fn refuses(&self, config: &FleetConfig, _input_tokens: u32, total_tokens: u32) -> Option<Refusal> {
        refuses_blocks(config, total_tokens)
    }

    fn is_of_vidur(&self) -> bool {
        false
    }

    fn allocates_by_chunk(&self) -> bool {
        true
    }

    fn can_cache_prefixes(&self) -> bool {
        true
    }

    fn asks_for_spare_blocks(&self, _config: &FleetConfig) -> bool {
        false
    }

    fn waits_for_pipeline(&self) -> bool {
        true
    }
}

fn form(replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) -> Look {
    let config = world.config;
    let evicted_before = world.record.evictions.len();
    replica.aside.clear();
    // Of one stage the list is in order but for answers that are generated again beside newer ones.
    let by_arrival = !replica.is_single() || config.preemption == Preemption::Regenerate;
    if replica.decode_paged(world, flight, by_arrival) {
        let Replica { aside, chunked, .. } = replica;
        aside.append(chunked);
    }
    let mut left = config.max_batch_tokens.saturating_sub(flight.decodes);
    let mut aside = std::mem::take(&mut replica.aside);
    let mut next = 0;
    while next < aside.len() {
        let id = aside[next];
        next += 1;
        let tokens = world.next_chunk(id).min(left);
        let blocks = chunk_blocks(world, id, tokens);
        while blocks > replica.kv.available() && next < aside.len() && !replica.may_stay(world) {
            if let Some(last) = aside.pop() {
                replica.evict(world, flight, last);
            }
        }
        if tokens > 0 && blocks <= replica.kv.available() {
            left -= tokens;
            replica.kv.allocate(blocks);
            world.add_chunk(flight, id, tokens);
        } else if tokens == 0 || replica.may_stay(world) || !(replica.is_single() || flight.is_empty()) {
            // In a pipeline it may have come before those who decode, and would lose its turn to them again and again.
            replica.chunked.push(id);
        } else {
            replica.evict(world, flight, id);
        }
    }
    aside.clear();
    replica.aside = aside;
    if world.record.evictions.len() > evicted_before {
        return Look::At(Some(Stop::Memory));
    }
    left -= replica.take_back(world, flight, left);
    while let Some(id) = replica.candidate(world) {
        let (known, idle_blocks) = replica.kv.cached_prefix(world, id);
        let tokens = world.chunk_after(id, known).min(left);
        let own = world.blocks_to_enter(id, config.blocks_for(known + tokens)) - known / config.block_size;
        let blocks = own + idle_blocks;
        let stop = replica.stop_of(world, flight, tokens > 0, replica.has_room(world, id, blocks));
        if stop.is_some() {
            return Look::At(stop);
        }
        left -= tokens;
        replica.kv.use_prefix(world, id, known);
        replica.admit(world, flight, blocks, tokens);
    }
    Look::At(None)
}

/// Blocks that the next `tokens` of a prompt take.
fn chunk_blocks(world: &World<'_>, id: u32, tokens: u32) -> u32 {
    if !world.config.grows() {
        return 0;
    }
    let done = world.requests.done[id as usize];
    world.config.blocks_for(done + tokens) - world.config.blocks_for(done)
}
