//! A fleet: equal replicas behind a router, each with a waiting line, a scheduling policy, KV blocks and one or more
//! pipeline stages.
//!
//! ```text
//! Trace ──> gateway ──> router ──> replica: waiting line ──> policy ──> stages ──> Report
//! ```
//!
//! An iteration is formed when its replica has a stage free for it: at an arrival, or when another one ends. At equal
//! times arrivals come first, so that they are seen by the iteration formed then; with that order all of Vidur's runs
//! are met. On a replica of one stage, iterations in which nobody can join or leave are charged at once.
//! [`Fleet::step_by_step`] charges them one by one, with equal bits.

mod config;
mod flight;
mod gateway;
mod lockstep;
mod pipeline;
mod prefix_cache;
mod record;
mod replica;
mod requests;
mod router;
mod run;
mod scheduler;

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use servescope_cost::{BatchCost, LinearDecode};
use servescope_workload::Trace;

pub use config::{FleetConfig, RouterKind, SchedulerKind};
use pipeline::Pipeline;
use record::Record;
use replica::{Replica, World};
use requests::Requests;
use router::Router;
use run::Run;

use crate::report::{IterationModel, Outcome, Report, Served};
use crate::timeline::Timeline;

/// A simulation of a fleet under way.
#[derive(Debug)]
pub struct Fleet {
    trace: Arc<Trace>,
    config: FleetConfig,
    cost: Box<dyn BatchCost>,
    longest_leap: u32,
    next_arrival: usize,
    requests: Requests,
    record: Record,
    router: Router,
    replicas: Vec<Replica>,
    pipelines: Vec<Pipeline>,
    events: BinaryHeap<Event>,
    event_count: u64,
    /// Replicas that got an arrival at the present time.
    touched: Vec<u32>,
}

/// The end of what a replica, or one of its stages, works on.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Event {
    time_us: f64,
    number: u64,
    replica: u32,
    stage: u32,
}

impl Eq for Event {}

/// The earliest is the greatest; at equal times the lower replica's, of one replica the one that was made first.
impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |event: &Self| (event.replica, event.number);
        other.time_us.total_cmp(&self.time_us).then(key(other).cmp(&key(self)))
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Fleet {
    /// A simulation of `trace` that has not begun.
    pub fn new(trace: Arc<Trace>, config: FleetConfig, cost: Box<dyn BatchCost>) -> Self {
        let stages = cost.stages().max(1);
        let count = config.replicas.clamp(1, u32::from(u16::MAX));
        let config = FleetConfig { replicas: count, block_size: config.block_size.max(1), ..config };
        let mut replicas: Vec<Replica> =
            (0..count).map(|i| Replica::new(i as u16, &config, stages)).collect();
        let mut requests = Requests::new(&trace);
        if config.prefix_cache && config.scheduler == SchedulerKind::VllmV1 {
            replicas.iter_mut().for_each(|replica| replica.keep_prefixes(&trace, config.block_size));
            requests.shared = vec![0; trace.len()];
        }
        let pipelined = if stages > 1 { count } else { 0 };
        if stages > 1 {
            requests.worked_us = vec![0.0; trace.len()];
        }
        Self {
            requests,
            record: Record::new(trace.len()),
            router: Router::new(&config),
            replicas,
            pipelines: (0..pipelined).map(|_| Pipeline::new(stages)).collect(),
            events: BinaryHeap::new(),
            event_count: 0,
            touched: Vec::new(),
            longest_leap: u32::MAX,
            next_arrival: 0,
            trace,
            config,
            cost,
        }
    }

    /// Charges every iteration by itself and forms each anew. The outcome is the same to the last bit.
    pub fn step_by_step(mut self) -> Self {
        self.longest_leap = 1;
        self
    }

    /// Runs to the end.
    pub fn run(mut self) -> Report {
        while !self.advance(usize::MAX) {}
        self.finish()
    }

    /// Handles at most `events` events and says whether the end is reached.
    pub fn advance(&mut self, events: usize) -> bool {
        for _ in 0..events {
            let arrival_us = self.trace.arrival_us.get(self.next_arrival).copied();
            match (arrival_us, self.events.peek()) {
                (Some(at), Some(event)) if event.time_us < at => self.end_of_work(),
                (Some(at), _) => self.arrivals(at),
                (None, Some(_)) => self.end_of_work(),
                (None, None) => return true,
            }
        }
        false
    }

    /// Share of the requests that have arrived so far.
    pub fn progress(&self) -> f64 {
        self.next_arrival as f64 / self.trace.len().max(1) as f64
    }

    /// KV blocks in use, of each replica.
    pub fn blocks_in_use(&self) -> Vec<u32> {
        self.replicas.iter().map(|replica| replica.used).collect()
    }

    /// What happened up to now.
    pub fn finish(mut self) -> Report {
        for i in 0..self.replicas.len() {
            let (replica, mut world, _) = self.parts(i, f64::INFINITY);
            replica.close_run(&mut world);
        }
        let requests = self.requests;
        let preemptions = self.record.evictions.len() as u64;
        Report {
            timeline: Timeline {
                iterations: self.record.sorted_iterations(),
                chunks: self.record.chunks,
                evictions: self.record.evictions,
                gaps: self.record.gaps,
                ..Timeline::default()
            },
            fates: self.record.fates,
            pool_tokens: self.config.blocks.saturating_mul(self.config.block_size),
            adapter_loads: 0,
            replicas: self.config.replicas,
            served: Some(Box::new(Served {
                scheduled_us: requests.scheduled_us,
                first_token_us: requests.first_token_us,
                prefill_us: requests.prefill_us,
                stalled_us: requests.stalled_us,
                replica: requests.replica,
                preemptions: requests.evictions,
                worked_us: requests.worked_us,
            })),
            preemptions,
            pool_blocks: self.config.blocks,
            cost: Some(IterationModel(self.cost.into())),
            cached_tokens: self.record.cached_tokens,
            counters: None,
            trace: self.trace,
        }
    }

    /// One replica, what it works on, and the model that says how long.
    fn parts(&mut self, replica: usize, now_us: f64) -> (&mut Replica, World<'_>, &dyn BatchCost) {
        let world = World {
            config: &self.config,
            trace: &self.trace,
            requests: &mut self.requests,
            record: &mut self.record,
            now_us,
        };
        (&mut self.replicas[replica], world, &*self.cost)
    }

    /// Everything that arrives at `now_us` is refused or given to a replica; then those replicas may begin.
    fn arrivals(&mut self, now_us: f64) {
        while self.trace.arrival_us.get(self.next_arrival).is_some_and(|&t| t <= now_us) {
            let id = self.next_arrival;
            self.next_arrival += 1;
            let (input, max) = (self.trace.input_tokens[id], self.trace.max_tokens[id]);
            if let Some(reason) = gateway::refusal(&self.config, input, max) {
                self.record.fates[id].outcome = Outcome::Refused(reason);
                self.requests.place[id] = requests::Place::Gone;
                continue;
            }
            let place = self.router.pick(&self.config, &self.replicas, &self.trace, id as u32, now_us);
            let (replica, mut world, _) = self.parts(place, now_us);
            let was_empty = replica.waiting.is_empty();
            replica.enqueue(&mut world, id as u32);
            if was_empty {
                self.touched.push(place as u32);
            }
        }
        // A line that was not empty stands still until something ends, whoever joins it.
        while let Some(place) = self.touched.pop() {
            self.begin(place as usize, now_us);
        }
    }

    /// A replica whose line was empty has an arrival.
    fn begin(&mut self, place: usize, now_us: f64) {
        if !self.pipelines.is_empty() {
            return self.fill_pipeline(place, now_us);
        }
        if self.replicas[place].in_flight == 0 {
            return self.form(place, now_us);
        }
        let (replica, world, _) = self.parts(place, now_us);
        if replica.leap <= 1 || !scheduler::heeds_arrivals(&world) {
            return;
        }
        let Some(run) = &replica.run else { return };
        let last = run.done + replica.leap;
        let end = run.first_end_from(now_us, last);
        if end < last {
            let (time_us, leap) = (run.time_after(end), end - run.done);
            replica.leap = leap;
            self.expect(time_us, place);
        }
    }

    /// The replica's work ends at `time_us`, whatever was expected before.
    fn expect(&mut self, time_us: f64, place: usize) {
        self.event_count += 1;
        self.replicas[place].awaited = self.event_count;
        self.events.push(Event { time_us, number: self.event_count, replica: place as u32, stage: 0 });
    }

    /// Forms the next iteration of a replica of one stage, and begins it.
    fn form(&mut self, place: usize, now_us: f64) {
        let longest = self.longest_leap;
        let (replica, mut world, cost) = self.parts(place, now_us);
        let mut flight = std::mem::take(&mut replica.flight);
        flight.clear();
        flight.formed_us = now_us;
        scheduler::form_or_retry(replica, &mut world, &mut flight);
        if flight.is_empty() {
            replica.flight = flight;
            return;
        }
        let goes_on = flight.chunks.is_empty() && replica.run.is_some_and(|run| run.done < run.holds);
        if !goes_on {
            replica.close_run(&mut world);
            let time = cost.stage_time(&flight.batch(), true);
            debug_assert!(
                flight.decodes == 0 || flight.decode_kv_tokens == replica.lockstep.kv_tokens,
                "what decodes is told by what is in memory"
            );
            replica.run = Some(Run {
                start_us: now_us,
                law: LinearDecode::new(time.first_us, time.growth_us),
                holds: time.holds.max(1),
                done: 0,
                prompts: flight.prompts.len() as u32,
                prompt_tokens: flight.prompt_tokens(),
                decodes: flight.decodes,
                kv_tokens: replica.kv_tokens(&flight),
                first_chunk: world.record.keep_chunks(&flight.chunks),
                rank_sum: u32::try_from(flight.rank_sum).unwrap_or(u32::MAX),
                any_adapter: flight.any_adapter,
            });
        }
        let most = scheduler::leap(replica, &world, &flight).min(longest);
        replica.flight = flight;
        let Some(run) = &replica.run else { return };
        let leap = most.min(run.holds - run.done);
        let end_us = run.time_after(run.done + leap);
        replica.leap = leap;
        replica.in_flight = 1;
        self.expect(end_us, place);
    }

    /// What a replica worked on ends.
    fn end_of_work(&mut self) {
        let Some(event) = self.events.pop() else { return };
        let place = event.replica as usize;
        if !self.pipelines.is_empty() {
            return self.end_stage(event);
        }
        if self.replicas[place].awaited == event.number {
            self.end_iterations(place, event.time_us);
            self.form(place, event.time_us);
        }
    }

    fn end_iterations(&mut self, place: usize, now_us: f64) {
        let (replica, mut world, _) = self.parts(place, now_us);
        let world = &mut world;
        let mut flight = std::mem::take(&mut replica.flight);
        replica.in_flight = 0;
        let leap = replica.leap;
        if let Some(run) = &mut replica.run {
            run.done += leap;
        }
        if flight.decodes > 0 {
            replica.used += scheduler::later_blocks(replica, world.config.scheduler, leap);
            replica.lockstep.advance(leap);
            replica.decoded_us = now_us;
            if world.config.scheduler == SchedulerKind::LightLlm {
                scheduler::lightllm::count_steps(replica, world, leap);
            }
        } else if replica.lockstep.count > 0 {
            replica.stall_us += now_us - flight.formed_us;
        }
        let mut finished = 0;
        if !flight.chunks.is_empty() || replica.lockstep.has_ended() {
            replica.close_run(world);
            while let Some(id) = replica.lockstep.pop_ended() {
                // An entry may be left over from before an eviction.
                let is_over = world.requests.place[id as usize] == requests::Place::Decoding
                    && replica.tokens(world, id) >= world.requests.total[id as usize];
                if is_over {
                    replica.finish_decoding(world, id);
                    finished += 1;
                }
            }
            let before = replica.holders;
            replica.end_prompts(world, &flight);
            finished += before - replica.holders;
        }
        if world.config.scheduler == SchedulerKind::Static {
            scheduler::static_batch::end_batch(replica, world, &mut flight, finished);
        }
        replica.flight = flight;
    }
}
