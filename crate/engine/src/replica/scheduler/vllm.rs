//! vLLM's first scheduler (Kwon et al., SOSP 2023) as in Vidur: prompts first and alone, whole; then decoding, where the
//! latest arrival gives way when blocks run out, and is processed anew.

use super::{BatchScheduler, FleetConfig, Flight, Look, Replica, World};
use crate::request::{Refusal, Stop};

/// The scheduler.
pub(super) struct Vllm;

impl BatchScheduler for Vllm {
    fn form(&self, replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) -> Look {
        form(replica, world, flight)
    }

    fn refuses(&self, config: &FleetConfig, input_tokens: u32, total_tokens: u32) -> Option<Refusal> {
        let is_over_batch = (input_tokens > config.max_batch_tokens).then_some(Refusal::PromptOverBatch);
        refuses_blocks(config, total_tokens).or(is_over_batch)
    }
}

/// A request whose prompt and longest answer need more blocks than there are. The last token is never written to the cache.
pub(super) fn refuses_blocks(config: &FleetConfig, total_tokens: u32) -> Option<Refusal> {
    (config.blocks_for(total_tokens.saturating_sub(1)) > config.blocks).then_some(Refusal::PoolTooSmall)
}

fn form(replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) -> Look {
    let stop = admit(replica, world, flight);
    if flight.is_empty() {
        let evicted_before = world.record.evictions.len();
        replica.decode_paged(world, flight, true);
        if world.record.evictions.len() > evicted_before {
            return Look::At(Some(Stop::Memory));
        }
        if replica.take_back(world, flight, u32::MAX) > 0 && !replica.awaits_host(world) {
            return Look::At(None);
        }
    }
    Look::At(stop)
}

/// Lets whole prompts in, in order of the line: memory above the watermark, and a budget of tokens as if every prompt
/// were as long as the longest. Says what the head stays for.
fn admit(replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) -> Option<Stop> {
    let config = world.config;
    let mut longest = 0;
    while let Some(id) = replica.candidate(world) {
        let prompt = world.requests.prompt[id as usize];
        let blocks = world.blocks_to_enter(id, config.blocks_for(prompt));
        longest = longest.max(prompt);
        let padded = u64::from(flight.size() + 1) * u64::from(longest);
        // What an evicted request has to process anew may be more than the budget; Vidur then waits for ever.
        let goes_alone = !config.original && flight.is_empty() && world.requests.evictions[id as usize] > 0;
        let has_budget = padded <= u64::from(config.max_batch_tokens) || goes_alone;
        let stop = replica.stop_of(world, flight, has_budget, replica.has_room(world, id, blocks));
        if stop.is_some() {
            return stop;
        }
        replica.admit(world, flight, blocks, prompt);
    }
    None
}
