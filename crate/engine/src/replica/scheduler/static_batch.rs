//! Static batching, as NVIDIA's FasterTransformer: a batch is filled from the line and runs, prompts first, until its
//! last member is done; nobody joins. Each member reserves memory for the longest request until the batch is done.
//!
//! Vidur frees, at the end of a batch, the memory of those members only that are done at that moment, so memory leaks
//! where answers differ in length. With [`FleetConfig::original`](crate::config::FleetConfig::original) it leaks here too.

use std::collections::VecDeque;

use super::{BatchScheduler, FleetConfig, Flight, Look, Replica, World};
use crate::replica::requests::Place;
use crate::request::{Refusal, Stop};

/// The scheduler.
pub(super) struct Static;

/// What it keeps of a replica.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    /// Of one stage: blocks of the batch that runs.
    reserved: u32,
    /// Of several stages: batches between two of their iterations.
    parked: VecDeque<Parked>,
}

#[derive(Debug, Clone)]
struct Parked {
    members: Vec<u32>,
    reserved: u32,
}

impl BatchScheduler for Static {
    fn form(&self, replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) -> Look {
        form(replica, world, flight)
    }

    fn refuses(&self, config: &FleetConfig, _input_tokens: u32, _total_tokens: u32) -> Option<Refusal> {
        refuses_slots(config)
    }

    fn grows(&self, _config: &FleetConfig) -> bool {
        false
    }

    fn allocates_by_batch(&self) -> bool {
        true
    }

    fn blocks_at_end(&self, _world: &World<'_>, _id: u32) -> u32 {
        0
    }

    fn mixes_batches(&self) -> bool {
        false
    }

    fn heeds_arrivals(&self) -> bool {
        false
    }

    fn looks_at_queue(&self) -> bool {
        false
    }

    fn ended(&self, replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight, finished: u32) {
        end_batch(replica, world, flight, finished);
    }
}

/// Where the longest request does not fit, none does.
pub(super) fn refuses_slots(config: &FleetConfig) -> Option<Refusal> {
    (config.slot_blocks() > config.blocks || config.slots() == 0).then_some(Refusal::PoolTooSmall)
}

fn form(replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) -> Look {
    if replica.is_single() {
        if replica.lockstep.count > 0 {
            replica.decode_lockstep(flight);
            return Look::Away;
        }
    } else {
        while let Some(parked) = replica.state.fixed.parked.pop_front() {
            flight.reserved = parked.reserved;
            for id in parked.members {
                if world.requests.place[id as usize] == Place::Decoding {
                    world.decode_member(flight, id);
                }
            }
            if !flight.is_empty() {
                return Look::Away;
            }
            // All of its clients have gone.
            replica.kv.free(if world.config.original { 0 } else { parked.reserved });
        }
    }
    let stop = admit_to_slots(replica, world, flight);
    flight.reserved = flight.size() * world.config.slot_blocks();
    Look::At(stop)
}

/// Lets requests in, in order of the line, each with memory for the longest one. Says what the head stays for.
pub(super) fn admit_to_slots(
    replica: &mut Replica,
    world: &mut World<'_>,
    flight: &mut Flight,
) -> Option<Stop> {
    let config = world.config;
    while let Some(id) = replica.candidate(world) {
        if flight.size() >= config.slots() {
            return Some(Stop::RunningCap);
        }
        if replica.free_beside_adapter(world, id).is_none_or(|free| free < config.slot_blocks()) {
            return Some(Stop::Memory);
        }
        replica.admit(world, flight, config.slot_blocks(), world.prompt_left(id));
    }
    None
}

/// After an iteration in which `done` of its members were the last of the batch, or after which it goes on.
fn end_batch(replica: &mut Replica, world: &World<'_>, flight: &mut Flight, finished: u32) {
    let config = world.config;
    let is_over = if replica.is_single() {
        replica.state.fixed.reserved += flight.prompts.len() as u32 * config.slot_blocks();
        replica.lockstep.count == 0
    } else {
        let mut members = std::mem::take(&mut flight.members);
        members.extend_from_slice(&flight.prompts);
        members.retain(|&id| world.requests.place[id as usize] == Place::Decoding);
        let is_over = members.is_empty();
        if !is_over {
            replica.state.fixed.parked.push_back(Parked { members, reserved: flight.reserved });
        }
        is_over
    };
    if is_over {
        let reserved = if replica.is_single() {
            std::mem::take(&mut replica.state.fixed.reserved)
        } else {
            flight.reserved
        };
        replica.kv.free(if config.original { finished * config.slot_blocks() } else { reserved });
    }
}
