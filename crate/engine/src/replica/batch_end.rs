//! The end of a batch in the last pipeline stage.

use super::Replica;
use super::iteration::Flight;
use super::requests::Place;
use super::run::written;
use super::world::World;

/// The requests of a batch that left the last stage are further.
pub(crate) fn end_batch(replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) {
    replica.in_flight -= 1;
    let scheduler = world.config.policy();
    let now_us = world.now_us;
    let before = replica.holders;
    let is_fresh = |id: u32, world: &World<'_>| world.requests.seen_us[id as usize] == flight.formed_us;
    let fresh = flight.members.iter().filter(|&&id| is_fresh(id, world)).count() as u32;
    let run = written(replica, world, flight, flight.formed_us, fresh);
    world.record.iterations.push(&run, &flight.chunks);
    for &id in &flight.members {
        let i = id as usize;
        if !is_fresh(id, world) {
            world.record.gap(world.requests.seen_us[i], now_us, 1);
        }
        world.requests.seen_us[i] = now_us;
        world.requests.done[i] += 1;
        world.requests.worked_us[i] += flight.busy_us;
        replica.waiting.made_token(world.trace, id, false);
        if world.requests.done[i] >= world.total(id) {
            let blocks = world.blocks_at_end(id);
            replica.finish(world, id, blocks);
        } else if scheduler.mixes_batches() {
            replica.running.push(id);
        }
    }
    replica.end_prompts(world, flight);
    if replica.holders < before {
        for &id in flight.members.iter().chain(&flight.prompts) {
            if world.requests.place[id as usize] == Place::Decoding {
                replica.waiting.finishing_beside(world.trace, id);
            }
        }
    }
    if !replica.leaving.is_empty() {
        replica.let_leaving_go(world, flight);
    }
    let finished = before - replica.holders;
    scheduler.ended(replica, world, flight, finished);
    replica.adapters.offload_unused(&mut replica.kv);
}
