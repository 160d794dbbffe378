//! Orca (Yu et al., OSDI 2022) as in Vidur: iteration-level scheduling, whole prompts beside decoding. Each request
//! reserves memory for the longest one, so nobody is ever evicted.

use super::static_batch::{admit_to_slots, refuses_slots};
use super::{BatchScheduler, FleetConfig, Flight, Look, Replica, World};
use crate::request::Refusal;

/// The scheduler.
pub(super) struct Orca;

impl BatchScheduler for Orca {
    fn form(&self, replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) -> Look {
        form(replica, world, flight)
    }

    fn refuses(&self, config: &FleetConfig, _input_tokens: u32, _total_tokens: u32) -> Option<Refusal> {
        refuses_slots(config)
    }

    fn grows(&self, _config: &FleetConfig) -> bool {
        false
    }

    fn blocks_at_end(&self, world: &World<'_>, _id: u32) -> u32 {
        world.config.slot_blocks()
    }
}

fn form(replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) -> Look {
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
