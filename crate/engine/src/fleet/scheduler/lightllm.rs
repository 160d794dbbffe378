//! LightLLM as in Vidur: iterations of prompts alone or of decoding alone, memory token by token. Every so many decode
//! iterations prompts are let in, as long as the batch will fit at its worst moment; the length of an answer counts as
//! its bound.

use super::{Flight, Look, Replica, World};
use crate::scheduler::Stop;
use crate::scheduler::memory::Entry;

pub(super) fn form(replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) -> Look {
    let is_idle = replica.lockstep.count == 0;
    let mut look = Look::Away;
    if is_idle || replica.decode_steps >= world.config.decode_steps_between_prefills {
        look = Look::At(admit(replica, world, flight));
        if !is_idle || !flight.is_empty() {
            replica.decode_steps = 0;
        }
    }
    if flight.is_empty() && !is_idle {
        replica.kv.allocate(replica.lockstep.new_blocks(0));
        replica.decode_lockstep(flight);
    }
    look
}

/// Lets prompts in, in order of the line; says what the head stays for.
fn admit(replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) -> Option<Stop> {
    let config = world.config;
    let mut batch_tokens = 0u64;
    while let Some(id) = replica.head(world) {
        let i = id as usize;
        let prompt = world.requests.prompt[i];
        let entry = Entry::new(
            u64::from(replica.lockstep.step),
            prompt + 1,
            world.trace.max_tokens[i].saturating_sub(2),
        );
        batch_tokens += u64::from(prompt);
        let has_budget = batch_tokens <= u64::from(config.max_batch_tokens);
        let fits = replica.estimate.fits(entry, i64::from(config.blocks));
        let stop = replica.stop_of(world, flight, has_budget, fits);
        if stop.is_some() {
            return stop;
        }
        replica.estimate.insert(entry);
        replica.admit(world, flight, config.blocks_for(prompt), prompt);
    }
    None
}

/// Iterations until prompts may next be let in, the present one counted. Attempts at an empty line change the counter
/// alone.
pub(super) fn until_next_attempt(replica: &Replica, world: &World<'_>) -> u32 {
    if replica.line == 0 {
        return u32::MAX;
    }
    world.config.decode_steps_between_prefills.saturating_sub(replica.decode_steps).max(1)
}

/// The counter after `iterations` of decoding in which nobody was let in.
pub(crate) fn count_steps(replica: &mut Replica, world: &World<'_>, iterations: u32) {
    let every = world.config.decode_steps_between_prefills;
    let steps = replica.decode_steps;
    replica.decode_steps = if iterations <= every.saturating_sub(steps) {
        steps + iterations
    } else if every == 0 {
        1
    } else {
        (steps + iterations - 1) % every + 1
    };
}
