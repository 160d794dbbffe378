//! S-LoRA's router (Sheng et al., MLSys 2024; slora/server/router/manager.py and req_queue.py), on each replica.
//!
//! One step of the router, at time t:
//! 1. It is told of everything that came in or was cancelled up to t, in that order.
//! 2. Nothing runs: it decides. If requests are picked, it loads their adapters and processes their prompts; otherwise it
//!    sleeps, and polls.
//! 3. Something runs: with fewer than ten decode iterations since the last prefill it decodes. Otherwise it decides; if
//!    requests are picked, their adapters are loaded and their prompts processed while the others are stalled; otherwise it
//!    decodes, and decides again before the next iteration.
//!
//! Memory is a pool of tokens. A request is picked if the batch and its adapters will fit at their worst moment
//! ([`crate::replica::peak_memory`]). Adapters are loaded before a prefill, and offloaded when requests end and nothing uses
//! them any more ([`crate::replica::adapters::pool`]).

mod state;

use servescope_cost::{Batch, Chunk, LoraBatch};
use servescope_workload::BASE_MODEL;

use super::{AdapterConfig, AdapterMemory, BatchScheduler, FleetConfig, Flight, Look, Replica, World};
use crate::record::observer::Event;
use crate::record::timeline::Departure;
use crate::replica::peak_memory::Entry;
use crate::replica::queue::{Admission, DecodeSpan, Latency, Limits};
use crate::replica::requests::Place;
use crate::request::{Outcome, Refusal};
use state::News;
pub(super) use state::State;

/// The scheduler.
pub(super) struct Slora;

impl BatchScheduler for Slora {
    fn form(&self, replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) -> Look {
        with_state(replica, |state, replica| state.form(replica, world, flight)).unwrap_or(Look::Away)
    }

    /// The check of S-LoRA's HTTP server against the pool, then, unless the original's blocking is wanted, the one that its
    /// queue could never pass.
    fn refuses(&self, config: &FleetConfig, input_tokens: u32, total_tokens: u32) -> Option<Refusal> {
        if total_tokens >= config.blocks {
            Some(Refusal::PoolTooSmall)
        } else if !config.original && input_tokens > config.max_batch_tokens {
            Some(Refusal::PromptOverBatch)
        } else {
            None
        }
    }

    fn is_of_vidur(&self) -> bool {
        false
    }

    fn may_block_queue(&self, config: &FleetConfig) -> bool {
        config.original
    }

    /// Its pool counts tokens.
    fn configured(&self, config: FleetConfig) -> FleetConfig {
        let blocks = config.blocks.saturating_mul(config.block_size);
        FleetConfig { blocks, block_size: 1, watermark_blocks: 0, ..config }
    }

    /// Its memory test knows the adapters that take room in the pool.
    fn managed_adapters(&self, config: &FleetConfig) -> AdapterConfig {
        match config.adapters.memory {
            AdapterMemory::Unified => AdapterConfig::FREE,
            AdapterMemory::Slots | AdapterMemory::Resident => config.adapters,
        }
    }

    fn grows(&self, _config: &FleetConfig) -> bool {
        true
    }

    fn follows_decode_steps(&self) -> bool {
        true
    }

    fn looks_at_queue(&self) -> bool {
        false
    }

    fn least_leap(&self, replica: &Replica) -> u32 {
        replica.state.slora.as_ref().map_or(0, |state| state.least_leap)
    }

    fn wakes_us(&self, replica: &Replica) -> f64 {
        replica.state.slora.as_ref().map_or(f64::INFINITY, |state| state.wakes_us())
    }

    fn fast_forward_limit(&self, replica: &Replica, world: &World<'_>, most: u32) -> u32 {
        replica.state.slora.as_ref().map_or(most, |state| state.fast_forward_limit(replica, world, most))
    }

    fn prompts_end(&self, replica: &mut Replica, world: &mut World<'_>, flight: &Flight) {
        with_state(replica, |state, _| state.prompts_end(world, flight));
    }

    fn order_ended(&self, world: &World<'_>, ended: &mut [u32]) {
        ended.sort_by_key(|&id| world.requests.spans[id as usize].joined);
    }

    fn joined(&self, replica: &mut Replica, world: &mut World<'_>, id: u32) {
        with_state(replica, |state, replica| state.joined(replica, world, id));
    }

    fn decoded(&self, replica: &mut Replica, world: &mut World<'_>, iterations: u32) {
        with_state(replica, |state, replica| state.decoded(replica, world, iterations));
    }

    fn left(&self, replica: &mut Replica, world: &mut World<'_>, id: u32, decoded_to: Option<u32>) {
        with_state(replica, |state, replica| state.left(replica, world, id, decoded_to.is_some()));
    }

    fn ended(&self, replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight, finished: u32) {
        with_state(replica, |state, replica| state.ended(replica, world, flight, finished));
    }
}

/// Works on the state of a replica beside the replica.
fn with_state<T>(replica: &mut Replica, work: impl FnOnce(&mut State, &mut Replica) -> T) -> Option<T> {
    let mut state = replica.state.slora.take()?;
    let done = work(&mut state, replica);
    replica.state.slora = Some(state);
    Some(done)
}

impl State {
    /// A step of the router begins.
    fn form(&mut self, replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) -> Look {
        if self.sleeps_on(world.now_us, world.config.idle_poll_us) {
            return Look::Away;
        }
        self.read_mail(replica, world);
        let is_idle = replica.lockstep.count == 0;
        let between = world.config.decode_steps_between_prefills;
        self.decides = is_idle || self.wait_tokens >= between;
        let mut look = Look::Away;
        if self.decides {
            look = self.decide(replica, world);
            if !self.picked.is_empty() {
                self.prefill(replica, world, flight);
                return look;
            }
        }
        if is_idle {
            self.end_step(world);
            self.sleep(world.now_us, world.config.idle_poll_us);
            return look;
        }
        if self.next_prefetch(world) == Some(self.wait_tokens) {
            self.prefetch(world);
        }
        self.least_leap = between - self.wait_tokens;
        replica.kv.allocate(replica.lockstep.new_blocks(0));
        replica.decode_lockstep(flight);
        look
    }

    /// Learns of what came in and who went away since the last step.
    fn read_mail(&mut self, replica: &mut Replica, world: &mut World<'_>) {
        for news in std::mem::take(&mut self.mail) {
            match news {
                News::Arrived(id, at_us) => {
                    world.watch.see(|| Event::Arrived(id));
                    self.line.arrive(id, at_us, world.trace).ok();
                    if self.line.heeds_arrivals() {
                        self.retry_step = 0;
                    }
                }
                News::Refused(id) => {
                    world.watch.see(|| Event::Arrived(id));
                    world.watch.see(|| Event::Rejected(id));
                }
                News::Ended(id, outcome) => {
                    world.watch.see(|| match outcome {
                        Outcome::TimedOut => Event::TimedOut(id),
                        _ => Event::Cancelled(id),
                    });
                    if outcome == Outcome::Cancelled {
                        Self::cut_short(replica, world, id);
                    }
                    self.retry_step = 0;
                }
            }
        }
    }

    /// A running request whose client has gone leaves the batch after one more token.
    fn cut_short(replica: &mut Replica, world: &mut World<'_>, id: u32) {
        let i = id as usize;
        let fate = &mut world.record.fates[i];
        if fate.outcome != Outcome::Unfinished || world.requests.place[i] != Place::Decoding {
            return;
        }
        fate.outcome = Outcome::Cancelled;
        let last_step = replica.lockstep.step + 1;
        let span = &mut world.requests.spans[i];
        if last_step < span.last_step {
            span.last_step = last_step;
            let produced = 1 + last_step - span.first_step;
            world.requests.cut.insert(id, world.trace.input_tokens[i] + produced);
            replica.lockstep.ends_at(last_step, id);
        }
    }

    /// Whether a decision at the present step is known to pick no request and to change nothing.
    fn is_blocked(&self, step: u64, now_us: f64) -> bool {
        self.retry_step > step && self.line.due_us().is_none_or(|due| now_us < due)
    }

    /// Takes a decision: who joins is in `picked`.
    fn decide(&mut self, replica: &mut Replica, world: &mut World<'_>) -> Look {
        self.picked.clear();
        let step = u64::from(replica.lockstep.step);
        let known = self.is_blocked(step, world.now_us);
        let mut look = Look::Away;
        if (world.steps_singly || !known) && self.line.wants_decision() {
            let has_waiting = !self.line.is_empty();
            let prefill_us = |requests: u32, tokens: u32, rank: u32| {
                let chunks = vec![Chunk { kv_tokens: 0, tokens }; requests as usize];
                let batch = Batch {
                    chunks: &chunks,
                    decodes: 0,
                    decode_kv_tokens: 0.0,
                    rank_sum: u64::from(requests) * u64::from(rank),
                    any_adapter: rank > 0,
                    lora: LoraBatch::of_one(rank, requests * tokens),
                };
                world.cost.stage_time(&batch, true).first_us
            };
            let latency = Latency {
                base_us: &|requests, length| prefill_us(requests, length, 0),
                adapter_us: &|rank, requests, length| {
                    prefill_us(requests, length, rank) - prefill_us(requests, length, 0)
                },
            };
            let limits = Limits {
                pool_tokens: world.config.blocks,
                batch_max_tokens: world.config.max_batch_tokens,
                max_running_requests: world.config.max_requests,
                original_blocking: world.config.original,
            };
            let mut admission = Admission::new(
                limits,
                step,
                world.now_us,
                world.trace,
                (&world.record.fates, &world.requests.spans),
                &mut self.memory,
                &mut self.adapters,
                &mut self.picked,
                latency,
                &mut *world.watch,
            );
            self.line.decide(&mut admission);
            let verdict = admission.verdict();
            self.give_up_rejected(replica, world);
            if !known {
                self.retry_step = if self.picked.is_empty() { verdict.retry_step } else { 0 };
                if has_waiting {
                    look = Look::At(verdict.stop);
                }
            }
        }
        world.watch.see(|| Event::Decided { at_us: world.now_us, picked: &self.picked });
        look
    }

    /// Requests that the last decision gave up are refused.
    fn give_up_rejected(&mut self, replica: &mut Replica, world: &mut World<'_>) {
        for &id in self.line.rejected() {
            let i = id as usize;
            let outcome = &mut world.record.fates[i].outcome;
            if *outcome == Outcome::Unfinished {
                *outcome = Outcome::Refused(Refusal::EarlyAbort);
                world.record.departures.push(Departure { time_us: world.now_us, id });
                world.requests.place[i] = Place::Gone;
                world.record.ends(id);
                replica.leaves_line(world, id);
                replica.outstanding -= 1;
            }
        }
    }

    /// Loads the adapters of the picked requests and begins with their prompts.
    fn prefill(&mut self, replica: &mut Replica, world: &mut World<'_>, flight: &mut Flight) {
        // The iterations so far took none of the blocks that are allocated now.
        replica.close_run(world);
        for place in 0..self.picked.len() {
            let id = self.picked[place];
            let adapter = world.trace.adapter[id as usize];
            let loads = self.owns_adapters && adapter != BASE_MODEL && world.config.lora_compute;
            if loads && self.adapters.load(adapter) {
                flight.load_us += world.config.adapters.loading.us(self.adapters.rank(adapter), true);
                world.watch.see(|| Event::Loaded(adapter));
            }
            replica.leaves_line(world, id);
            let tokens = world.trace.input_tokens[id as usize];
            replica.start(world, flight, id, tokens, tokens);
        }
    }

    fn prompts_end(&mut self, world: &mut World<'_>, flight: &Flight) {
        if flight.prompts.is_empty() {
            return;
        }
        let duration_us = world.now_us - flight.formed_us;
        world.watch.see(|| Event::Prefill { at_us: flight.formed_us, duration_us });
        self.wait_tokens = 0;
        self.retry_step = 0;
        if self.line.follows_batch() {
            self.line.prefilled(&flight.prompts, world.trace);
        }
    }

    /// Notes when a request decodes that has its first token.
    fn starts(&mut self, replica: &Replica, world: &mut World<'_>, id: u32) -> DecodeSpan {
        let i = id as usize;
        let first_step = replica.lockstep.step;
        let last_step = first_step + (world.trace.output_tokens[i] - 1);
        let span = DecodeSpan { joined: self.joined, first_step, last_step };
        self.joined += 1;
        world.requests.spans[i] = span;
        let (input, max) = (world.trace.input_tokens[i], world.trace.max_tokens[i]);
        self.memory.remove(Entry::new(u64::from(first_step), input + 1, max - 1));
        span
    }

    fn joined(&mut self, replica: &Replica, world: &mut World<'_>, id: u32) {
        let i = id as usize;
        let span = self.starts(replica, world, id);
        let (input, max) = (world.trace.input_tokens[i], world.trace.max_tokens[i]);
        self.memory.insert(Entry::new(u64::from(span.first_step), input + 1, max - 2));
        if self.line.follows_batch() {
            self.line.joined(id, world.trace);
        }
    }

    fn decoded(&mut self, replica: &Replica, world: &mut World<'_>, iterations: u32) {
        let Some(run) = &replica.run else { return };
        let between = world.config.decode_steps_between_prefills;
        self.wait_tokens = self.wait_tokens.saturating_add(iterations).min(between);
        let at_us = run.time_after(run.done - iterations);
        world.watch.see(|| Event::Decode {
            at_us,
            duration_us: world.now_us - at_us,
            iterations,
            requests: run.decodes,
            decided: self.decides,
        });
    }

    fn left(&mut self, replica: &Replica, world: &mut World<'_>, id: u32, has_decoded: bool) {
        let i = id as usize;
        if has_decoded {
            if !self.is_finishing && self.line.follows_batch() {
                let step = u64::from(replica.lockstep.step);
                self.line.finishing(step, world.trace, &world.requests.spans);
            }
            self.is_finishing = true;
            let (input, max) = (world.trace.input_tokens[i], world.trace.max_tokens[i]);
            self.memory.remove(Entry::new(u64::from(world.requests.spans[i].first_step), input + 1, max - 2));
        } else {
            self.starts(replica, world, id);
        }
        self.adapters.release(world.trace.adapter[i]);
        if has_decoded && self.line.follows_batch() {
            self.line.left(id, world.trace);
        }
        world.watch.see(|| Event::Finished(id));
    }

    fn ended(&mut self, replica: &Replica, world: &mut World<'_>, flight: &Flight, finished: u32) {
        let is_empty = replica.lockstep.count == 0;
        if finished > 0 && flight.prompts.is_empty() {
            self.retry_step = 0;
        }
        if is_empty || finished > 0 && flight.prompts.is_empty() {
            let (adapters, watch) = (&mut self.adapters, &mut *world.watch);
            adapters.offload_unused(|adapter| watch.see(|| Event::Offloaded(adapter)));
        }
        self.is_finishing = false;
        self.end_step(world);
        if is_empty {
            self.sleep_once(world.now_us, world.config.idle_poll_us);
        }
    }

    /// Tells that a step of the router is over.
    fn end_step(&mut self, world: &mut World<'_>) {
        if world.watch.is_on() {
            let counters = self.line.counters().map(|(_, counters)| counters);
            let (wait_tokens, predicted) = (self.wait_tokens, self.line.predicted_lengths());
            let (counters, predicted) = (counters.as_deref(), predicted.as_slice());
            world.watch.see(|| Event::StepEnd { wait_tokens, counters, predicted });
        }
    }

    /// For how many of `most` decode iterations nothing but the clock may change.
    fn fast_forward_limit(&self, replica: &Replica, world: &World<'_>, most: u32) -> u32 {
        let Some(run) = &replica.run else { return 1 };
        let mut leap = most;
        let rest = world.config.decode_steps_between_prefills - self.wait_tokens;
        if self.line.wants_decision() {
            // A decision is due when the rule allows one and the head of the queue may fit.
            let step = u64::from(replica.lockstep.step);
            let until_retry = self.retry_step.saturating_sub(step).min(u64::from(leap)) as u32;
            leap = leap.min(rest.max(until_retry).max(1));
            if let Some(due_us) = self.line.due_us() {
                let until_due = run.first_end_from(due_us, run.done.saturating_add(leap)) - run.done;
                leap = leap.min(until_due.max(rest).max(1));
            }
        }
        match self.next_prefetch(world) {
            Some(point) => leap.min((point - self.wait_tokens).max(1)),
            None => leap,
        }
    }

    /// Decode iterations since the last prefill at which waiting requests' adapters are looked for next.
    fn next_prefetch(&self, world: &World<'_>) -> Option<u32> {
        let config = world.config;
        if !self.owns_adapters
            || !config.adapters.prefetch
            || !config.lora_compute
            || !self.line.can_prefetch()
        {
            return None;
        }
        let (between, now) = (config.decode_steps_between_prefills, self.wait_tokens);
        let points = [Some(between / 2), between.checked_sub(3)].into_iter().flatten();
        points.filter(|&point| point >= now && point < between).min()
    }

    /// Copies adapters of waiting requests ahead, behind the decode iteration that begins now.
    fn prefetch(&mut self, world: &mut World<'_>) {
        let (adapters, watch, trace) = (&mut self.adapters, &mut *world.watch, world.trace);
        let mut has_waiting = false;
        self.line.look_ahead(world.config.max_batch_tokens, trace, &world.record.fates, |id| {
            has_waiting = true;
            let adapter = trace.adapter[id as usize];
            if adapter != BASE_MODEL && adapters.prefetch(adapter) {
                watch.see(|| Event::Loaded(adapter));
            }
        });
        if has_waiting {
            watch.see(|| Event::Prefetched);
        }
    }
}
