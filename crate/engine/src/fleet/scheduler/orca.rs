//! Orca (Yu et al., OSDI 2022) as in Vidur: iteration-level scheduling, whole prompts beside decoding. Each request
//! reserves memory for the longest one, so nobody is ever evicted.

use super::{Flight, Replica, World};

pub(super) fn form(replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) {
    let config = world.config;
    if replica.is_single() {
        replica.decode_lockstep(flight);
    } else {
        let count = replica.running.len().min(config.slots() as usize);
        let mut running = std::mem::take(&mut replica.running);
        for id in running.drain(..count) {
            world.decode_member(flight, id);
        }
        replica.running = running;
    }
    while flight.size() < config.slots() && replica.free() >= config.slot_blocks() {
        let Some(&id) = replica.waiting.front() else { break };
        replica.admit(world, flight, config.slot_blocks(), world.prompt_left(id));
    }
}
