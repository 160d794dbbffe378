//! Who joins the next iteration of a replica: one scheduler a file, behind one trait. What a scheduler keeps of a replica
//! between iterations is in its own file, too.

mod lightllm;
mod orca;
mod sarathi;
mod static_batch;
mod vllm;
mod vllm_v1;

use super::config::{FleetConfig, SchedulerKind};
use super::flight::Flight;
use super::replica::Replica;
use super::world::World;
use crate::gateway::Refusal;
use crate::scheduler::Stop;

/// A batch scheduler: it forms iterations, and says what memory its requests hold. It has no state of its own; what it keeps
/// of a replica is in [`State`].
pub(crate) trait BatchScheduler: Sync {
    /// Fills `flight`, which is empty, with the next iteration; it stays empty where there is none.
    fn form(&self, replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) -> Look;

    /// Why a request can never be served whose prompt has `input_tokens` and whose prompt and longest answer together have
    /// `total_tokens`; `None` if it can.
    fn refuses(&self, config: &FleetConfig, input_tokens: u32, total_tokens: u32) -> Option<Refusal>;

    /// Whether Vidur has it, and lets requests that it can never serve block the queue.
    fn is_of_vidur(&self) -> bool {
        true
    }

    /// Whether requests take blocks as they grow; otherwise all are reserved at admission.
    fn grows(&self, config: &FleetConfig) -> bool {
        !config.reserve
    }

    /// Whether a request takes the blocks of its prompt chunk by chunk; otherwise all with the first one.
    fn allocates_by_chunk(&self) -> bool {
        false
    }

    /// Whether the blocks belong to the batch and not to its requests.
    fn allocates_by_batch(&self) -> bool {
        false
    }

    /// Whether the starts of prompts can be cached.
    fn can_cache_prefixes(&self) -> bool {
        false
    }

    /// Blocks that a request which is done gives back.
    fn blocks_at_end(&self, world: &World<'_>, id: u32) -> u32 {
        if self.grows(world.config) {
            world.config.blocks_for(world.total(id) - 1)
        } else {
            world.blocks_reserved(id)
        }
    }

    /// Whether each running request asks for a free block in every iteration, whether it takes it or not.
    fn asks_for_spare_blocks(&self, config: &FleetConfig) -> bool {
        self.grows(config)
    }

    /// Whether a request that finds no block keeps those it has while other batches are in the pipeline, which will give
    /// blocks back. Otherwise two requests may preempt each other for ever, each while the other is in flight. Vidur's
    /// policies admit whole prompts, so that each time a token is made.
    fn waits_for_pipeline(&self) -> bool {
        false
    }

    /// Whether requests that decode on several stages are picked from the list of all; otherwise they stay in their batch.
    fn mixes_batches(&self) -> bool {
        true
    }

    /// Whether a request that arrives at a busy replica with an empty queue can change what follows the present iteration.
    fn heeds_arrivals(&self) -> bool {
        true
    }

    /// Whether every iteration looks at the head of the queue.
    fn looks_at_queue(&self) -> bool {
        true
    }

    /// For how many of `most` iterations, in which no request joins or leaves, the formed one is right.
    fn fast_forward_limit(&self, replica: &Replica, world: &World<'_>, most: u32) -> u32 {
        if self.grows(world.config) {
            // The blocks of its first iteration are taken.
            replica.lockstep.iterations_within(replica.kv.available(), most)
        } else {
            most
        }
    }

    /// Whether an adapter of `blocks` may be loaded ahead. Everybody who decodes may need a block before its request is let in.
    fn has_room_ahead(&self, replica: &Replica, world: &World<'_>, blocks: u32) -> bool {
        let spare = u64::from(world.config.watermark_blocks) + u64::from(replica.holders);
        u64::from(replica.kv.available()) >= u64::from(blocks) + spare
    }

    /// This many iterations have decoded.
    fn decoded(&self, _replica: &mut Replica, _world: &World<'_>, _iterations: u32) {}

    /// A request that holds memory leaves: it decodes and has this many tokens, or `None`: it has not begun to decode.
    fn left(&self, _replica: &mut Replica, _world: &World<'_>, _id: u32, _decoded_to: Option<u32>) {}

    /// An iteration has ended in which this many requests finished.
    fn ended(&self, _replica: &mut Replica, _world: &World<'_>, _flight: &mut Flight, _finished: u32) {}
}

impl SchedulerKind {
    /// The scheduler.
    pub(crate) fn policy(self) -> &'static dyn BatchScheduler {
        match self {
            Self::Static => &static_batch::Static,
            Self::Orca => &orca::Orca,
            Self::Vllm => &vllm::Vllm,
            Self::Sarathi => &sarathi::Sarathi,
            Self::LightLlm => &lightllm::LightLlm,
            Self::VllmV1 => &vllm_v1::VllmV1,
        }
    }
}

/// What schedulers keep of a replica between iterations.
#[derive(Debug, Default)]
pub(crate) struct State {
    light: lightllm::State,
    fixed: static_batch::State,
}

/// Forms the next iteration. Where nothing was formed because the only request that held memory was evicted, it is
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
    if world.config.adapters.loads_ahead() && !flight.is_empty() {
        replica.prefetch(world);
    }
    flight.lora = replica.adapters.batch(world.trace, &replica.lockstep, flight);
    flight.in_memory = replica.adapters.in_memory();
}

/// Forms an iteration; who was passed over for want of a LoRA slot is back in place then.
fn form(replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) -> Look {
    replica.passes_over = false;
    replica.keep_ahead(world);
    let look = world.config.scheduler.policy().form(replica, world, flight);
    replica.waiting.put_back();
    match look {
        Look::At(None) if replica.passes_over => Look::At(Some(Stop::LoraSlots)),
        other => other,
    }
}

/// What forming an iteration found at the line.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Look {
    /// Nobody looked at it.
    Away,
    /// What its head stays for; `None`: nobody stays, or those who do were not looked at for lack of anything but time.
    At(Option<Stop>),
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
    world.config.scheduler.policy().fast_forward_limit(replica, world, most)
}

/// For how many iterations the head of the line stays the same, where that matters to who looks at it. A full batch lets
/// nobody in, but round robin gives quanta when it is looked at.
fn steady(replica: &mut Replica, config: &FleetConfig) -> u32 {
    let loads_ahead = config.adapters.loads_ahead();
    let looks = config.scheduler.policy().looks_at_queue() || loads_ahead;
    if looks && replica.passes_over && replica.waiting.keeps_counters() {
        // The head is not who is next.
        return 1;
    }
    let is_full = replica.stop == Some(Stop::RunningCap) && !replica.waiting.takes_turns() && !loads_ahead;
    if looks && replica.line > 0 && !is_full { replica.waiting.steady() } else { u32::MAX }
}

/// Blocks that the iterations of a leap after its first take.
pub(crate) fn later_blocks(replica: &Replica, config: &FleetConfig, iterations: u32) -> u32 {
    if config.grows() { replica.lockstep.new_blocks_over(1, iterations - 1) } else { 0 }
}
