//! Who joins the next iteration of a replica: one policy a file.

pub(super) mod lightllm;
mod orca;
mod sarathi;
pub(super) mod static_batch;
mod vllm;
mod vllm_v1;

use super::config::{FleetConfig, SchedulerKind};
use super::flight::Flight;
use super::replica::Replica;
use super::world::World;
use crate::scheduler::Stop;

/// Fills `flight` as [`form`] does. Where nothing was formed because the only request that held memory was evicted, it is
/// let in again at once; Vidur waits for the next arrival.
pub(crate) fn form_or_retry(replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) {
    let evicted_before = world.record.evictions.len();
    let mut look = form(replica, world, flight);
    let only_evicted = flight.is_empty() && world.record.evictions.len() > evicted_before;
    if only_evicted && replica.holders == 0 && !world.config.original {
        look = form(replica, world, flight);
    }
    replica.looks_again = only_evicted && flight.is_empty();
    if let (Look::At(stop), true) = (look, replica.line > 0) {
        replica.holds_for(world, stop);
    }
    flight.changes_again |= world.record.evictions.len() > evicted_before;
}

/// What forming an iteration found at the line.
#[derive(Debug, Clone, Copy)]
enum Look {
    /// Nobody looked at it.
    Away,
    /// What its head stays for; `None`: nobody stays, or those who do were not looked at for lack of anything but time.
    At(Option<Stop>),
}

/// Fills `flight`, which is empty, with the next iteration; it stays empty where there is none.
fn form(replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) -> Look {
    match world.config.scheduler {
        SchedulerKind::Static => static_batch::form(replica, world, flight),
        SchedulerKind::Orca => orca::form(replica, world, flight),
        SchedulerKind::Vllm => vllm::form(replica, world, flight),
        SchedulerKind::Sarathi => sarathi::form(replica, world, flight),
        SchedulerKind::LightLlm => lightllm::form(replica, world, flight),
        SchedulerKind::VllmV1 => vllm_v1::form(replica, world, flight),
    }
}

/// For how many iterations in a row the formed one is right, if nobody arrives: until somebody is done, memory runs
/// short, or the policy looks again.
pub(crate) fn leap(replica: &mut Replica, world: &World<'_>, flight: &Flight) -> u32 {
    // Who was evicted may be let in again by the next iteration, newcomers behind those who came back; who finds no room for a known prefix may find room
    // without it once it is forgotten.
    let may_join = flight.changes_again || (replica.kv.keeps_prefixes() && replica.line > 0);
    if !flight.chunks.is_empty() || may_join {
        return 1;
    }
    let most = replica.lockstep.until_end().min(steady(replica, world.config));
    match world.config.scheduler {
        _ if !world.config.grows() => most,
        SchedulerKind::LightLlm => most.min(lightllm::until_next_attempt(replica, world)),
        // The blocks of its first iteration are taken.
        _ => replica.lockstep.iterations_within(replica.kv.available(), most),
    }
}

/// For how many iterations the head of the line stays the same, where that matters to who looks at it. A full batch lets
/// nobody in, but round robin gives quanta when it is looked at.
fn steady(replica: &mut Replica, config: &FleetConfig) -> u32 {
    let looks = !matches!(config.scheduler, SchedulerKind::Static | SchedulerKind::LightLlm);
    let is_full = replica.stop == Some(Stop::RunningCap) && !replica.waiting.takes_turns();
    if looks && replica.line > 0 && !is_full { replica.waiting.steady() } else { u32::MAX }
}

/// Blocks that the iterations of a leap after its first take.
pub(crate) fn later_blocks(replica: &Replica, config: &FleetConfig, iterations: u32) -> u32 {
    if config.grows() { replica.lockstep.new_blocks_over(1, iterations - 1) } else { 0 }
}

/// Whether an arrival at a busy replica with an empty line can change what follows the present iteration.
pub(crate) fn heeds_arrivals(config: &FleetConfig) -> bool {
    config.scheduler != SchedulerKind::Static
}
