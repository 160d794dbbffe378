//! Sarathi-Serve (Agrawal et al., OSDI 2024) as in Vidur, with chunked prefill: all decodes, then prompts in chunks, up to a number of
//! tokens an iteration. Memory for the whole prompt is taken with its first chunk.

use super::vllm::refuses_blocks;
use super::{BatchScheduler, FleetConfig, Flight, Look, Replica, World};
use crate::request::Refusal;

/// The scheduler.
pub(super) struct Sarathi;

impl BatchScheduler for Sarathi {
    fn form(&self, replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) -> Look {
        form(replica, world, flight)
    }

    fn refuses(&self, config: &FleetConfig, _input_tokens: u32, total_tokens: u32) -> Option<Refusal> {
        let reads_nothing = (config.chunk_tokens == 0).then_some(Refusal::NeverFits);
        refuses_blocks(config, total_tokens).or(reads_nothing)
    }
}

fn form(replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) -> Look {
    let config = world.config;
    let evicted_before = world.record.evictions.len();
    replica.aside.clear();
    if replica.decode_paged(world, flight, false) {
        let Replica { aside, skipped, chunked, .. } = replica;
        aside.append(skipped);
        aside.append(chunked);
    }
    // Decoding is not bounded by the number of tokens, only prompts are.
    let mut left = config.chunk_tokens.saturating_sub(flight.decodes);
    let mut aside = std::mem::take(&mut replica.aside);
    for &id in &aside {
        let tokens = world.next_chunk(id).min(left);
        if tokens == 0 {
            replica.skipped.push(id);
        } else {
            left -= tokens;
            world.add_chunk(flight, id, tokens);
        }
    }
    aside.clear();
    replica.aside = aside;
    if replica.is_single() {
        world.sort(&mut replica.skipped, &replica.waiting);
    } else {
        let Replica { running, skipped, waiting, .. } = replica;
        skipped.append(running);
        world.sort(skipped, waiting);
        std::mem::swap(running, skipped);
    }
    if world.record.evictions.len() == evicted_before {
        left -= replica.take_back(world, flight, left);
    }
    while let Some(id) = replica.candidate(world) {
        let blocks = world.blocks_to_enter(id, config.blocks_for(world.requests.prompt[id as usize]));
        let tokens = world.next_chunk(id).min(left);
        let stop = replica.stop_of(world, flight, tokens > 0, replica.has_room(world, id, blocks));
        if stop.is_some() {
            return Look::At(stop);
        }
        left -= tokens;
        replica.admit(world, flight, blocks, tokens);
    }
    Look::At(None)
}
