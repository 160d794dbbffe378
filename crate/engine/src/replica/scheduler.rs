//! Continuous batching: which requests join the next iteration of a replica. One scheduler a file, behind one trait. What
//! a scheduler keeps of a replica between iterations is in its own file, too.

mod lightllm;
mod orca;
mod sarathi;
pub(crate) mod slora;
mod static_batch;
mod vllm;
mod vllm_v1;

use super::adapters::pool::AdapterPool;
use super::iteration::{Flight, Scheduled};
use super::queue::QueueConfig;
use super::requests::Requests;
use super::world::World;
use super::{Replica, batch_end};
use crate::config::adapters::{AdapterConfig, AdapterMemory};
use crate::config::{FleetConfig, SchedulerKind};
use crate::request::{Outcome, Refusal, Stop};
use servescope_cost::Chunk;
use servescope_workload::Trace;

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

    /// Whether a request that with its adapter never fits is accepted all the same, and then blocks the queue.
    fn may_block_queue(&self, _config: &FleetConfig) -> bool {
        false
    }

    /// Whether requests take blocks as they grow; otherwise all are reserved at admission.
    fn grows(&self, config: &FleetConfig) -> bool {
        !config.reserve
    }

    /// Whether the blocks belong to the batch and not to its requests.
    fn allocates_by_batch(&self) -> bool {
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

    /// Whether an adapter of `blocks` may be loaded ahead. Every request that decodes may need a block before its request is admitted.
    fn has_room_ahead(&self, replica: &Replica, world: &World<'_>, blocks: u32) -> bool {
        let spare = u64::from(world.config.watermark_blocks) + u64::from(replica.holders);
        u64::from(replica.kv.available()) >= u64::from(blocks) + spare
    }

    /// Blocks that the iterations under way take after the first one of them, where `begun` have begun.
    fn later_blocks(&self, replica: &Replica, config: &FleetConfig, begun: u32) -> u32 {
        later_blocks(replica, config, begun)
    }

    /// How many of the iterations under way, `most` at the most, may end as one, of a replica of one stage that keeps no
    /// lockstep: before the last one of them ends they, and those that are formed meanwhile, differ by a token of each
    /// request only, if nothing arrives.
    fn iterations_alike(&self, _replica: &mut Replica, _world: &mut World<'_>, _most: u32) -> u32 {
        1
    }

    /// So many of those have ended, the last one now. Returns the blocks taken by the iteration that was formed then.
    fn end_alike(&self, _replica: &mut Replica, _world: &mut World<'_>, _iterations: u32) -> u32 {
        0
    }

    /// This many iterations have decoded.
    fn decoded(&self, _replica: &mut Replica, _world: &mut World<'_>, _iterations: u32) {}

    /// Puts requests that end together in the order in which they leave; they come by their numbers.
    fn order_ended(&self, _world: &World<'_>, _ended: &mut [u32]) {}

    /// A request that holds memory leaves: it decodes and has this many tokens, or `None`: it has not begun to decode.
    fn left(&self, _replica: &mut Replica, _world: &mut World<'_>, _id: u32, _decoded_to: Option<u32>) {}

    /// The settings as the scheduler takes them.
    fn configured(&self, config: FleetConfig) -> FleetConfig {
        config
    }

    /// The adapters that the replica manages for it.
    fn managed_adapters(&self, config: &FleetConfig) -> AdapterConfig {
        config.adapters
    }

    /// Whether it is told of decode steps: when requests join and leave.
    fn follows_decode_steps(&self) -> bool {
        false
    }

    /// Iterations of those under way that an arrival does not cut short.
    fn least_leap(&self, _replica: &Replica) -> u32 {
        0
    }

    /// When a replica that formed nothing looks again, microseconds; infinite: when it is told of something.
    fn wakes_us(&self, _replica: &Replica) -> f64 {
        f64::INFINITY
    }

    /// The prompts of an iteration are processed; afterwards those that are whole join or leave, in their order.
    fn prompts_end(&self, _replica: &mut Replica, _world: &mut World<'_>, _flight: &Flight) {}

    /// A request decodes from now on.
    fn joined(&self, _replica: &mut Replica, _world: &mut World<'_>, _id: u32) {}

    /// Whether the requests that decode may be kept in one lockstep, where a replica has one stage: all of them are then in
    /// every iteration that decodes.
    fn keeps_lockstep(&self) -> bool {
        true
    }

    /// How many batches may be formed and not yet done, of a replica that keeps no lockstep.
    fn batches_under_way(&self, _config: &FleetConfig, stages: u32) -> u32 {
        stages
    }

    /// Whether an empty batch takes the place of another one until those formed before it are done.
    fn queues_empty_batches(&self) -> bool {
        false
    }

    /// The first stage takes a batch, of a replica that keeps no lockstep.
    fn begins(&self, _replica: &mut Replica, _world: &mut World<'_>, _flight: &Flight) {}

    /// A batch has left the last stage, of a replica that keeps no lockstep: its requests are further.
    fn end_batch(&self, replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) {
        batch_end::end_batch(replica, world, flight);
    }

    /// A request that holds memory goes away.
    fn let_go(&self, replica: &mut Replica, world: &mut World<'_>, id: u32) {
        replica.let_go(world, id);
    }

    /// Writes down what was put off while only tokens were made.
    fn settle(&self, _replica: &mut Replica, _world: &mut World<'_>) {}

    /// The requests of a batch in the order in which they were chosen, where the scheduler keeps it.
    fn members(&self, _replica: &Replica, _world: &World<'_>, flight: &Flight) -> Vec<Scheduled> {
        flight.scheduled.clone()
    }

    /// Tokens that a request has got and that are not written down, of a replica that keeps no lockstep; `None`: all are.
    fn unwritten_tokens(&self, _replica: &Replica, _requests: &Requests, _id: u32) -> Option<u32> {
        None
    }

    /// KV blocks in use counted from the scheduler's own state, where it keeps them itself, of single steps.
    fn audit(&self, _replica: &Replica) -> Option<u32> {
        None
    }

    /// An iteration has ended in which this many requests finished.
    fn ended(&self, _replica: &mut Replica, _world: &mut World<'_>, _flight: &mut Flight, _finished: u32) {}
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
            Self::Slora => &slora::Slora,
        }
    }
}

impl FleetConfig {
    /// The batch scheduler of every replica.
    pub(crate) fn policy(&self) -> &'static dyn BatchScheduler {
        self.scheduler.policy()
    }

    /// Whether requests take blocks as they grow.
    pub fn grows(&self) -> bool {
        self.policy().grows(self)
    }

    /// Whether replicas load the adapters of waiting requests ahead.
    pub(crate) fn loads_ahead(&self) -> bool {
        self.adapters.loads_ahead() && self.policy().managed_adapters(self).loads_ahead()
    }
}

/// What schedulers keep of a replica between iterations.
#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    light: lightllm::State,
    fixed: static_batch::State,
    vllm: vllm_v1::State,
    slora: Option<Box<slora::State>>,
}

impl State {
    /// The state of an empty replica.
    pub(crate) fn new(config: &FleetConfig, trace: &Trace) -> Self {
        let is_slora = config.scheduler == SchedulerKind::Slora;
        let slora = is_slora.then(|| Box::new(slora::State::new(config, trace)));
        Self { slora, ..Self::default() }
    }

    /// Keeps the queue of a scheduler that has its own under this policy; says whether it has one.
    pub(crate) fn queued(&mut self, queueing: &QueueConfig, config: &FleetConfig, trace: &Trace) -> bool {
        if let Some(slora) = &mut self.slora {
            slora.queued(queueing, config, trace);
        }
        self.slora.is_some()
    }

    /// Whether the scheduler learns of arrivals between two iterations.
    pub(crate) fn reads_mail(&self) -> bool {
        self.slora.is_some()
    }

    /// A request comes in at `at_us`; says whether that can change what the replica does next.
    pub(crate) fn hears_of_arrival(&mut self, id: u32, at_us: f64) -> bool {
        self.slora.as_mut().is_some_and(|slora| slora.hears_of_arrival(id, at_us))
    }

    /// A request came in and was refused; says whether the scheduler is told of that.
    pub(crate) fn hears_of_refusal(&mut self, id: u32) -> bool {
        if let Some(slora) = &mut self.slora {
            slora.hears_of_refusal(id);
        }
        self.reads_mail()
    }

    /// A request is over that waited, or whose client has gone; says whether the scheduler is told of that.
    pub(crate) fn hears_of_end(&mut self, id: u32, outcome: Outcome) -> bool {
        if let Some(slora) = &mut self.slora {
            slora.hears_of_end(id, outcome);
        }
        self.reads_mail()
    }

    /// Charges the clients of requests that decode for iterations, where the scheduler does that.
    pub(crate) fn charge(&mut self, iterations: u32) -> bool {
        if let Some(slora) = &mut self.slora {
            slora.charge(iterations);
        }
        self.slora.is_some()
    }

    /// Whether the scheduler's own queue counts service.
    pub(crate) fn keeps_counters(&self) -> bool {
        self.slora.as_ref().is_some_and(|slora| slora.keeps_counters())
    }

    /// The counters of the scheduler's own queue.
    pub(crate) fn counters(&mut self) -> Option<Vec<(u32, f64)>> {
        self.slora.as_mut().map(|slora| slora.counters())
    }

    /// The adapters of a scheduler that counts them itself.
    pub(crate) fn adapter_pool(&self) -> Option<&AdapterPool> {
        self.slora.as_ref().and_then(|slora| slora.adapter_pool())
    }
}

/// Forms the next iteration. Where nothing was formed because the only request that held memory was evicted, it is
/// let in again at once; Vidur waits for the next arrival.
pub(crate) fn form_or_retry(replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) {
    let evicted_before = world.record.evictions.len();
    let waiting = replica.line;
    let mut look = form(replica, world, flight);
    let only_evicted = flight.is_empty() && world.record.evictions.len() > evicted_before;
    let is_asked_again = world.config.policy().queues_empty_batches();
    if only_evicted && replica.holders == 0 && !world.config.original && !is_asked_again {
        look = form(replica, world, flight);
    }
    let has_looked = matches!(look, Look::At(_));
    world.record.had_choice |=
        has_looked && waiting > 1 && (replica.line > 0 || leaves_prompt(world, flight));
    replica.looks_again = only_evicted && flight.is_empty();
    if let (Look::At(stop), true) = (look, replica.line > 0) {
        replica.holds_for(world, stop);
    }
    flight.changes_again |= world.record.evictions.len() > evicted_before;
    if world.config.loads_ahead() && !flight.is_empty() {
        replica.prefetch(world);
    }
    flight.lora = replica.adapters.batch(world.trace, &replica.lockstep, flight);
    flight.in_memory = replica.adapters_in_memory();
}

/// Whether a part of some prompt is left for a later iteration.
fn leaves_prompt(world: &World<'_>, flight: &Flight) -> bool {
    let is_left =
        |(&id, chunk): (&u32, &Chunk)| chunk.kv_tokens + chunk.tokens < world.requests.prompt[id as usize];
    flight.prompts.iter().zip(&flight.chunks).any(is_left)
}

/// Forms an iteration; who was passed over for want of a LoRA slot is back in place then.
fn form(replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) -> Look {
    replica.passes_over = false;
    replica.keep_ahead(world);
    let look = world.config.policy().form(replica, world, flight);
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
    // A preempted request may be admitted again by the next iteration, and others behind those that came back.
    if !flight.chunks.is_empty() || flight.changes_again {
        return 1;
    }
    let most = replica.lockstep.until_end().min(steady(replica, world.config));
    world.config.policy().fast_forward_limit(replica, world, most)
}

/// For how many iterations the head of the line stays the same, where that matters to who looks at it. A full batch lets
/// nobody in, but round robin gives quanta when it is looked at.
fn steady(replica: &mut Replica, config: &FleetConfig) -> u32 {
    let loads_ahead = config.loads_ahead();
    let looks = config.policy().looks_at_queue() || loads_ahead;
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
