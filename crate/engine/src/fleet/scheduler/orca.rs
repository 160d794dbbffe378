//! Orca (Yu et al., OSDI 2022) as in Vidur: iteration-level scheduling, whole prompts beside decoding. Each request
//! reserves memory for the longest one, so nobody is ever evicted.

use super::static_batch::admit_to_slots;
use super::{Flight, Look, Replica, World};

pub(super) fn form(replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) -> Look {
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
    Look::At(admit_to_slots(replica, world, flight))
}
