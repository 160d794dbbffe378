//! The router loop of S-LoRA, driven by a virtual clock.
//!
//! One step of the original, at time t:
//! 1. Everything that arrived or was cancelled up to t is seen (arrivals first).
//! 2. Nothing runs: decide. If somebody is picked, load adapters and prefill; otherwise sleep.
//! 3. Something runs: fewer than ten decode iterations since the last prefill: decode. Otherwise decide; if somebody is
//!    picked, load and prefill the newcomers alone while the others stand still; otherwise decode, and decide again
//!    before the next iteration.
//!
//! Between two changes of the batch nothing but the clock moves, so all decode iterations up to the next possible change
//! are charged at once. [`Simulation::step_by_step`] charges them one by one, with equal bits.

mod decoding;
mod sight;

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use servescope_cost::{DecodeRun, DecodeShape, IterationCost, PrefillShape};
use servescope_workload::{BASE_MODEL, Trace};

use decoding::DecodingRun;
use sight::{Engine, LastAction};

use crate::adapters::AdapterPool;
use crate::config::SchedulerConfig;
use crate::gateway::intake::Intake;
use crate::gateway::proxy::Given;
use crate::gateway::{self, GatewayConfig, Refusal};
use crate::observer::{Event, Observer, Unobserved};
use crate::report::{Counters, Fate, Outcome, Report, Stay};
use crate::scheduler::memory::{Entry, MemoryEstimate};
use crate::scheduler::sampler::Sampler;
use crate::scheduler::{Admission, Latency, Line, Queueing};
use crate::timeline::{DecodeSegment, Hold, Prefill, Timeline};

/// A simulation under way.
#[derive(Debug)]
pub struct Simulation<C: IterationCost> {
    trace: Arc<Trace>,
    config: SchedulerConfig,
    cost: C,
    longest_leap: u32,
    now_us: f64,
    done: bool,

    intake: Intake,
    next_cancellation: usize,
    /// When waiting requests will have waited too long, in order of time, and entries of some that wait no more.
    deadlines: VecDeque<(f64, u32)>,
    /// Requests that wait and were not given up.
    waiting: u32,
    line: Line,
    counters: Sampler,
    /// No decision before this decode step picks anybody or changes anything, unless somebody leaves or arrives.
    retry_step: u64,

    /// Decode iterations so far.
    step: u64,
    wait_tokens: u32,
    running: Running,
    run: Option<DecodingRun<C::Decode>>,
    /// What was done last, for whoever looks at the engine at a time within it.
    last: LastAction<C::Decode>,
    memory: MemoryEstimate,
    adapters: AdapterPool,
    /// Total time that running requests stood still for others, so far.
    stall_us: f64,
    picked: Vec<u32>,

    fates: Vec<Fate>,
    stays: Vec<Stay>,
    timeline: Timeline,
}

/// Sums over the batch, and when each of its requests ends.
#[derive(Debug, Default)]
struct Running {
    count: u32,
    kv_tokens: u64,
    rank_sum: u64,
    with_adapter: u32,
    joined: u32,
    /// (last decode step, order of joining, request); an entry whose step is not the request's `last_step` is stale.
    ends: BinaryHeap<Reverse<(u64, u32, u32)>>,
}

/// The engine as the proxy sees it, while the proxy itself is borrowed.
macro_rules! engine {
    ($self:ident, $trace:expr) => {
        Engine {
            last: &$self.last,
            step: $self.step,
            used_tokens: $self.used_tokens(),
            stays: &$self.stays,
            prefills: &$self.timeline.prefills,
            trace: $trace,
            asked: Cell::new((f64::NAN, 0)),
        }
    };
}

impl<C: IterationCost> Simulation<C> {
    /// A simulation of `trace` that has not begun.
    pub fn new(trace: Arc<Trace>, config: SchedulerConfig, cost: C) -> Self {
        let adapters = AdapterPool::new(trace.adapter_count(), &trace.adapter_rank);
        let fates = vec![Fate::default(); trace.len()];
        let line = Line::new(Queueing::default(), &config, &trace);
        let stays = vec![Stay::default(); trace.len()];
        Self {
            config,
            cost,
            longest_leap: u32::MAX / 4,
            now_us: 0.0,
            done: false,
            intake: Intake::direct(&trace),
            next_cancellation: 0,
            deadlines: VecDeque::new(),
            waiting: 0,
            counters: Sampler::default(),
            line,
            retry_step: 0,
            step: 0,
            wait_tokens: 0,
            running: Running::default(),
            run: None,
            last: LastAction::default(),
            memory: MemoryEstimate::default(),
            adapters,
            stall_us: 0.0,
            picked: Vec::new(),
            fates,
            stays,
            timeline: Timeline::default(),
            trace,
        }
    }

    /// Keeps the waiting line in another way than first come, first served.
    pub fn queued(mut self, queueing: Queueing) -> Self {
        self.line = Line::new(queueing, &self.config, &self.trace);
        self.counters = if self.line.keeps_counters() {
            Sampler::of(self.line.clients(), 0.0)
        } else {
            Sampler::default()
        };
        self
    }

    /// Puts a proxy before the engine.
    pub fn behind(mut self, gateway: GatewayConfig) -> Self {
        self.intake.set_proxy(gateway, &self.trace);
        self
    }

    /// Charges every decode iteration by itself and takes every decision anew, as the original does. The outcome is the
    /// same to the last bit.
    pub fn step_by_step(mut self) -> Self {
        self.longest_leap = 1;
        self
    }

    /// Runs to the end.
    pub fn run(mut self) -> Report {
        while !self.advance(usize::MAX, &mut Unobserved) {}
        self.finish()
    }

    /// Takes at most `steps` steps and says whether the end is reached.
    pub fn advance(&mut self, steps: usize, observer: &mut impl Observer) -> bool {
        for _ in 0..steps {
            if self.done {
                break;
            }
            self.router_step(observer);
        }
        self.done
    }

    /// Share of the requests that have arrived so far.
    pub fn progress(&self) -> f64 {
        if self.done { 1.0 } else { self.intake.seen() as f64 / self.trace.len().max(1) as f64 }
    }

    /// The waiting line.
    pub fn line(&mut self) -> &mut Line {
        &mut self.line
    }

    /// What happened up to now. Where requests are held, those that were sent are told in the order in which they were,
    /// with the times at which they were; the others were never offered.
    pub fn finish(mut self) -> Report {
        let mut counters = None;
        if cfg!(feature = "orders") {
            let samples = self.counters.into_samples();
            let clients = self.line.clients();
            let counted = self.line.counters();
            counters = counted.map(|(client, values)| Counters { client, clients, values, samples });
            self.intake.rename(&mut self.timeline.departures);
        }
        let stays = match self.intake.sent() {
            Some(sent) => sent.iter().map(|&id| self.stays[id as usize]).collect(),
            None => self.stays,
        };
        let (trace, fates, gateway) = self.intake.finish(self.trace, self.fates);
        Report {
            gateway,
            counters,
            trace,
            fates,
            stays,
            timeline: self.timeline,
            pool_tokens: self.config.max_total_tokens,
            adapter_loads: self.adapters.loads,
            replicas: 1,
            served: None,
            preemptions: 0,
            cached_tokens: 0,
            pool_blocks: 0,
            cost: None,
        }
    }

    fn router_step(&mut self, observer: &mut impl Observer) {
        self.deliver(observer);
        if self.counters.next_us().is_some_and(|at| at <= self.now_us)
            && let Some((_, counters)) = self.line.counters()
        {
            let values = counters.into_iter().map(|(_, value)| value).collect();
            self.counters.take(values, self.now_us);
        }
        let idle = self.running.count == 0;
        let may_decide = idle || self.wait_tokens >= self.config.decode_steps_between_prefills;
        if may_decide && self.decide(observer) {
            self.prefill(observer);
        } else if idle {
            observer.see(|| Event::StepEnd { wait_tokens: self.wait_tokens });
            return self.sleep();
        } else {
            if self.next_prefetch() == Some(self.wait_tokens) {
                self.prefetch(observer);
            }
            self.decode(may_decide, observer);
        }
        observer.see(|| Event::StepEnd { wait_tokens: self.wait_tokens });
        if self.running.count == 0 {
            // The router sleeps once before it looks again.
            self.now_us += self.config.idle_poll_us;
        }
    }

    /// Sees arrivals, cancellations and timeouts up to now, in order of time: each may let a held request go.
    fn deliver(&mut self, observer: &mut impl Observer) {
        let trace = Arc::clone(&self.trace);
        if self.next_cancellation == trace.cancellations.len() && self.config.patience_us == f64::INFINITY {
            while self.take_next(&trace, self.now_us, observer) {}
            return;
        }
        loop {
            let now = self.now_us;
            let cancellation =
                trace.cancellations.get(self.next_cancellation).filter(|c| c.0 <= now).copied();
            let deadline = self.deadline_us().filter(|&at| at <= now);
            let cancelled_us = cancellation.map_or(now, |c| c.0);
            let before = deadline.map_or(cancelled_us, |at| at.min(cancelled_us));
            if self.take_next(&trace, before, observer) {
                continue;
            }
            if let Some((at_us, id)) = cancellation.filter(|c| c.0 <= before) {
                self.next_cancellation += 1;
                self.cancel(id, at_us, observer);
            } else if let Some(at_us) = deadline {
                self.time_out(at_us, observer);
            } else {
                break;
            }
        }
    }

    /// Takes the next that comes in up to `until_us`, and says whether there was one.
    #[inline]
    fn take_next(&mut self, trace: &Trace, until_us: f64, observer: &mut impl Observer) -> bool {
        let engine = engine!(self, trace);
        let Some((given, at_us)) = self.intake.next_until(trace, until_us, &engine) else { return false };
        match given {
            Given::Forward(id) => self.arrive(trace, id, at_us, observer),
            Given::Refused(id, reason) => {
                self.fates[id as usize].outcome = Outcome::Refused(reason);
                self.timeline.departs(at_us, id);
                observer.see(|| Event::Refused(id));
            }
            Given::TimedOut(id) => {
                self.fates[id as usize].outcome = Outcome::TimedOut;
                self.timeline.departs(at_us, id);
                observer.see(|| Event::TimedOut(id));
            }
        }
        true
    }

    /// A request comes in: it is refused, or joins the line.
    fn arrive(&mut self, trace: &Trace, id: u32, at_us: f64, observer: &mut impl Observer) {
        let i = id as usize;
        let gone = self.fates[i].outcome == Outcome::Cancelled;
        let refusal =
            gateway::refusal(&self.config, trace.input_tokens[i], trace.max_tokens[i], trace.rank(i));
        if let Some(reason) = refusal {
            self.fates[i].outcome = Outcome::Refused(reason);
            observer.see(|| Event::Refused(id));
        } else {
            self.wait(id, at_us, observer);
        }
        if gone || matches!(self.fates[i].outcome, Outcome::Refused(_)) {
            self.intake.ended(trace, id, at_us, 0, false);
        }
    }

    /// A request that was let in joins the waiting line, unless too many are there or the order of service refuses it.
    fn wait(&mut self, id: u32, at_us: f64, observer: &mut impl Observer) {
        observer.see(|| Event::Arrived(id));
        let admitted = if self.waiting + self.running.count >= self.config.max_in_system {
            Err(Refusal::Concurrency)
        } else {
            self.line.arrive(id, at_us, &self.trace)
        };
        if let Err(reason) = admitted {
            self.fates[id as usize].outcome = Outcome::Refused(reason);
            observer.see(|| Event::Rejected(id));
            return;
        }
        // A client may go away before its request is there.
        self.waiting += u32::from(self.fates[id as usize].outcome == Outcome::Unfinished);
        if self.config.patience_us < f64::INFINITY {
            self.deadlines.push_back((at_us + self.config.patience_us, id));
        }
        if self.line.heeds_arrivals() {
            self.retry_step = 0;
        }
    }

    /// When the next request will have waited too long.
    #[inline]
    fn deadline_us(&mut self) -> Option<f64> {
        while let Some(&(at_us, id)) = self.deadlines.front() {
            let i = id as usize;
            if self.stays[i].prefill.is_none() && self.fates[i].outcome == Outcome::Unfinished {
                return Some(at_us);
            }
            self.deadlines.pop_front();
        }
        None
    }

    /// The request with the next deadline is given up: it leaves the line when the queue is next scanned.
    fn time_out(&mut self, at_us: f64, observer: &mut impl Observer) {
        let Some((_, id)) = self.deadlines.pop_front() else { return };
        observer.see(|| Event::TimedOut(id));
        self.fates[id as usize].outcome = Outcome::TimedOut;
        self.timeline.departs(at_us, id);
        self.waiting -= 1;
        self.retry_step = 0;
        self.intake.ended(&self.trace, id, at_us, 0, false);
    }

    /// A client goes away: its request leaves the line when the queue is next scanned, or the batch after one more token.
    fn cancel(&mut self, id: u32, at_us: f64, observer: &mut impl Observer) {
        observer.see(|| Event::Cancelled(id));
        let fate = &mut self.fates[id as usize];
        if fate.outcome != Outcome::Unfinished {
            return;
        }
        fate.outcome = Outcome::Cancelled;
        let stay = &mut self.stays[id as usize];
        if stay.prefill.is_some() {
            let last_step = self.step + 1;
            if last_step < stay.last_step {
                stay.last_step = last_step;
                self.running.ends.push(Reverse((last_step, stay.joined, id)));
            }
        } else {
            let is_outside = self.intake.gave_up(&self.trace, id, at_us);
            self.waiting -= u32::from(!is_outside);
            self.retry_step = 0;
        }
    }

    /// Whether a decision at the present step is known to pick nobody and to change nothing.
    fn is_blocked(&self) -> bool {
        self.retry_step > self.step && self.line.due_us().is_none_or(|due| self.now_us < due)
    }

    /// Takes a decision and says whether somebody joins.
    fn decide(&mut self, observer: &mut impl Observer) -> bool {
        self.picked.clear();
        let known = self.is_blocked();
        let repeated = known && self.longest_leap > 1;
        if !repeated && self.line.wants_decision() {
            let somebody_waits = !self.line.is_empty();
            let cost = &self.cost;
            let prefill_us = |requests: u32, length: u32, any_adapter: bool| {
                let tokens = f64::from(requests) * f64::from(length);
                cost.prefill_us(&PrefillShape { requests, tokens, any_adapter })
            };
            let latency = Latency {
                base_us: &|requests, length| prefill_us(requests, length, false),
                adapter_us: &|_, requests, length| {
                    prefill_us(requests, length, true) - prefill_us(requests, length, false)
                },
            };
            let mut admission = Admission::new(
                &self.config,
                self.step,
                self.now_us,
                &self.trace,
                (&self.fates, &self.stays),
                &mut self.memory,
                &mut self.adapters,
                &mut self.picked,
                latency,
                observer,
            );
            self.line.decide(&mut admission);
            let verdict = admission.verdict();
            for &id in self.line.rejected() {
                let outcome = &mut self.fates[id as usize].outcome;
                if *outcome == Outcome::Unfinished {
                    *outcome = Outcome::Refused(Refusal::EarlyAbort);
                    self.timeline.departs(self.now_us, id);
                    self.waiting -= 1;
                    self.intake.ended(&self.trace, id, self.now_us, 0, false);
                }
            }
            let hold = Hold { start_us: self.now_us, replica: 0, stop: verdict.stop };
            // A decision known beforehand, or one that stops where the last one did, says nothing new.
            if somebody_waits
                && !known
                && self.timeline.holds.last().is_none_or(|last| last.stop != hold.stop)
            {
                self.timeline.holds.push(hold);
            }
            if !known {
                self.retry_step = if self.picked.is_empty() { verdict.retry_step } else { 0 };
            }
        }
        observer.see(|| Event::Decided { at_us: self.now_us, picked: &self.picked });
        !self.picked.is_empty()
    }

    /// Nothing runs and nobody can join: sleeps until something is due, or ends.
    fn sleep(&mut self) {
        let cancellation = self.trace.cancellations.get(self.next_cancellation).map(|c| c.0);
        let given_up = self.line.due_us().into_iter().chain(self.deadline_us());
        let otherwise = cancellation.into_iter().chain(given_up).reduce(f64::min);
        let trace = Arc::clone(&self.trace);
        let until_us = otherwise.unwrap_or(f64::INFINITY);
        let engine = engine!(self, &trace);
        let arrival = self.intake.given_while_still_us(&trace, until_us, &engine);
        // Behind a head that can never join nobody joins either: only a cancellation can change that, or time itself.
        let arrival = arrival.filter(|_| !self.is_blocked() || self.line.heeds_arrivals());
        let due = arrival.into_iter().chain(otherwise).reduce(f64::min);
        let Some(due) = due else {
            self.now_us = f64::INFINITY;
            self.deliver(&mut Unobserved);
            self.done = true;
            return;
        };
        let poll = self.config.idle_poll_us;
        if poll > 0.0 && self.line.is_unsettled() {
            self.now_us += poll;
        } else if poll > 0.0 {
            let naps = ((due - self.now_us) / poll).ceil().max(1.0);
            let after = |naps: f64| self.now_us + naps * poll;
            // Rounding puts the quotient off by one at most; a poll too short for the clock wakes at what is due.
            let wake = [naps - 1.0, naps, naps + 1.0]
                .into_iter()
                .filter(|&n| n >= 1.0)
                .map(after)
                .find(|&t| t >= due);
            self.now_us = wake.unwrap_or(due);
            self.line.idle(naps - 1.0);
        } else {
            self.now_us = self.now_us.max(due);
        }
    }

    /// Loads the adapters of the picked requests and prefills them.
    fn prefill(&mut self, observer: &mut impl Observer) {
        self.close_run();
        let start_us = self.now_us;
        let mut shape = PrefillShape { requests: self.picked.len() as u32, ..PrefillShape::default() };
        let mut load_us = 0.0;
        let mut tokens = 0u32;
        for &id in &self.picked {
            let adapter = self.trace.adapter[id as usize];
            tokens += self.trace.input_tokens[id as usize];
            if adapter != BASE_MODEL && self.config.lora_compute {
                shape.any_adapter = true;
                if self.adapters.load(adapter) {
                    load_us += self.cost.adapter_load_us(self.adapters.rank(adapter));
                    observer.see(|| Event::Loaded(adapter));
                }
            }
        }
        shape.tokens = f64::from(tokens);
        let prefill_us = self.cost.prefill_us(&shape);
        let end_us = start_us + load_us + prefill_us;
        self.timeline.prefills.push(Prefill {
            start_us,
            load_us,
            prefill_us,
            end_us,
            tokens,
            requests: shape.requests,
            stalled: self.running.count,
            kv_tokens: self.running.kv_tokens as u32,
            adapter_tokens: self.adapters.resident_tokens(),
            resident: self.adapters.resident_count(),
        });
        observer.see(|| Event::Prefill { at_us: start_us, duration_us: end_us - start_us });
        self.last = LastAction::standing(self.step, self.used_tokens(), end_us);
        self.now_us = end_us;
        self.wait_tokens = 0;
        self.retry_step = 0;
        self.waiting -= shape.requests;
        // Those who join stood still for nobody yet: the stall counter moves before they read it.
        self.stall_us += end_us - start_us;
        if self.line.follows_batch() {
            self.line.prefilled(&self.picked, &self.trace);
        }
        for i in 0..self.picked.len() {
            self.join(self.picked[i], observer);
        }
        if self.running.count == 0 {
            self.adapters.offload_unused(|adapter| observer.see(|| Event::Offloaded(adapter)));
        }
    }

    /// Tokens in memory.
    #[inline]
    fn used_tokens(&self) -> u64 {
        self.running.kv_tokens + u64::from(self.adapters.resident_tokens())
    }

    /// A prefilled request, with its first token, joins the batch or is done.
    fn join(&mut self, id: u32, observer: &mut impl Observer) {
        let i = id as usize;
        let (input, output, max) =
            (self.trace.input_tokens[i], self.trace.output_tokens[i], self.trace.max_tokens[i]);
        let adapter = self.trace.adapter[i];
        self.memory.remove(Entry::new(self.step, input + 1, max - 1));
        let stay = &mut self.stays[i];
        *stay = Stay {
            prefill: Some(self.timeline.prefills.len() as u32 - 1),
            stall_us: self.stall_us,
            joined: self.running.joined,
            first_step: self.step,
            last_step: self.step + u64::from(output - 1),
        };
        self.running.joined += 1;
        self.intake.first_token(id, self.now_us);
        if output == 1 {
            stay.stall_us = 0.0;
            let fate = &mut self.fates[i];
            fate.complete(self.now_us, 1);
            let completed = fate.outcome == Outcome::Completed;
            self.intake.ended(&self.trace, id, self.now_us, 1, completed);
            self.adapters.release(adapter);
            observer.see(|| Event::Finished(id));
            return;
        }
        self.memory.insert(Entry::new(self.step, input + 1, max - 2));
        if self.line.follows_batch() {
            self.line.joined(id, &self.trace);
        }
        let running = &mut self.running;
        running.count += 1;
        running.kv_tokens += u64::from(input) + 1;
        running.rank_sum += u64::from(self.adapters.rank(adapter));
        running.with_adapter += u32::from(adapter != BASE_MODEL);
        running.ends.push(Reverse((stay.last_step, stay.joined, id)));
    }

    /// Decodes until something can change, and lets go whoever is done.
    fn decode(&mut self, decided: bool, observer: &mut impl Observer) {
        let run = match self.run {
            Some(run) => run,
            None => self.open_run(),
        };
        let iterations = self.leap(&run);
        let after = run.iterations + iterations;
        let start_us = self.now_us;
        self.now_us = run.time_after(after);
        self.last = LastAction::decoding(self.step, self.used_tokens(), self.now_us, run, iterations);
        self.run = Some(DecodingRun { iterations: after, ..run });
        if self.line.follows_batch() {
            self.line.decoded(self.step, iterations, &self.trace, (&self.fates, &self.stays));
        }
        self.step += u64::from(iterations);
        self.running.kv_tokens += u64::from(iterations) * u64::from(self.running.count);
        self.wait_tokens =
            self.wait_tokens.saturating_add(iterations).min(self.config.decode_steps_between_prefills);
        observer.see(|| Event::Decode {
            at_us: start_us,
            duration_us: self.now_us - start_us,
            iterations,
            requests: run.shape.requests,
            decided,
        });
        if self.let_go(observer) {
            self.close_run();
            self.retry_step = 0;
            self.adapters.offload_unused(|adapter| observer.see(|| Event::Offloaded(adapter)));
        }
    }

    fn open_run(&self) -> DecodingRun<C::Decode> {
        let running = &self.running;
        let shape = DecodeShape {
            requests: running.count,
            kv_tokens: running.kv_tokens as f64,
            rank_sum: if self.config.lora_compute { running.rank_sum as f64 } else { 0.0 },
            any_adapter: self.config.lora_compute && running.with_adapter > 0,
        };
        DecodingRun { start_us: self.now_us, law: self.cost.decode(&shape), iterations: 0, shape }
    }

    /// Writes the decode iterations since the last change into the timeline.
    fn close_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        let first_us = run.law.iteration_us(0);
        self.timeline.decodes.push(DecodeSegment {
            start_us: run.start_us,
            end_us: run.time_after(run.iterations),
            first_us,
            growth_us: run.law.iteration_us(1) - first_us,
            iterations: run.iterations,
            requests: run.shape.requests,
            kv_tokens: run.shape.kv_tokens as u32,
            adapter_tokens: self.adapters.resident_tokens(),
            resident: self.adapters.resident_count(),
        });
    }

    /// How many decode iterations can pass before anything but the clock may change.
    fn leap(&mut self, run: &DecodingRun<C::Decode>) -> u32 {
        let first_end = self.running.ends.peek().map_or(1, |&Reverse((last_step, ..))| last_step - self.step);
        let mut leap = (first_end.max(1)).min(u64::from(self.longest_leap)) as u32;
        let rest = self.config.decode_steps_between_prefills - self.wait_tokens;
        let iterations_until = |at: f64| run.first_at_or_after(at, run.iterations) - run.iterations;
        // Whether an arrival is let in may depend on who is there when it is seen.
        let heeds_arrivals =
            self.line.heeds_arrivals() || self.config.max_in_system != u32::MAX || self.intake.has_proxy();
        if self.line.wants_decision() {
            // A decision is due when the rule allows one and the head of the queue may fit.
            let until_retry = self.retry_step.saturating_sub(self.step).min(u64::from(leap)) as u32;
            leap = leap.min(rest.max(until_retry).max(1));
            if let Some(due) = self.line.due_us() {
                leap = leap.min(iterations_until(due).max(rest).max(1));
            }
        }
        let arrival =
            self.intake.due_to_engine_us(&self.trace).filter(|_| heeds_arrivals || self.line.is_empty());
        if let Some(arrival) = arrival {
            let rest = if heeds_arrivals { 0 } else { rest };
            leap = leap.min(iterations_until(arrival).max(rest).max(1));
        }
        if let Some(deadline) = self.deadline_us() {
            leap = leap.min(iterations_until(deadline).max(1));
        }
        // Leaps and single steps sample at the same times.
        if let Some(sample_us) = self.counters.next_us() {
            leap = leap.min(iterations_until(sample_us).max(1));
        }
        if let Some(point) = self.next_prefetch() {
            leap = leap.min((point - self.wait_tokens).max(1));
        }
        if let Some(&(at, _)) = self.trace.cancellations.get(self.next_cancellation) {
            leap = leap.min((run.first_at_or_after(at, run.iterations) - run.iterations).max(1));
        }
        leap
    }

    /// Decode iterations since the last prefill at which waiting requests' adapters are looked for next.
    #[inline]
    fn next_prefetch(&self) -> Option<u32> {
        if !self.config.prefetch_adapters || !self.config.lora_compute || !self.line.can_prefetch() {
            return None;
        }
        let (between, now) = (self.config.decode_steps_between_prefills, self.wait_tokens);
        let points = [Some(between / 2), between.checked_sub(3)].into_iter().flatten();
        points.filter(|&p| p >= now && p < between).min()
    }

    /// Copies adapters of waiting requests ahead, behind the decode iteration that begins now.
    fn prefetch(&mut self, observer: &mut impl Observer) {
        let Self { line, trace, fates, adapters, config, .. } = self;
        let mut somebody = false;
        line.look_ahead(config.batch_max_tokens, trace, fates, |id| {
            somebody = true;
            let adapter = trace.adapter[id as usize];
            if adapter != BASE_MODEL && adapters.prefetch(adapter) {
                observer.see(|| Event::Loaded(adapter));
            }
        });
        if somebody {
            observer.see(|| Event::Prefetched);
        }
    }

    /// Lets the requests go whose last token is there, and says whether there were any.
    fn let_go(&mut self, observer: &mut impl Observer) -> bool {
        let before = self.running.count;
        while let Some(&Reverse((last_step, _, id))) = self.running.ends.peek() {
            if last_step > self.step {
                break;
            }
            self.running.ends.pop();
            let i = id as usize;
            if self.stays[i].last_step != last_step || self.fates[i].finish_us.is_some() {
                continue;
            }
            if self.running.count == before && self.line.follows_batch() {
                self.line.finishing(self.step, &self.trace, &self.stays);
            }
            let stay = &mut self.stays[i];
            stay.stall_us = self.stall_us - stay.stall_us;
            let produced = 1 + (last_step - stay.first_step) as u32;
            self.fates[i].complete(self.now_us, produced);
            let (input, max, adapter) =
                (self.trace.input_tokens[i], self.trace.max_tokens[i], self.trace.adapter[i]);
            self.memory.remove(Entry::new(stay.first_step, input + 1, max - 2));
            self.running.count -= 1;
            self.running.kv_tokens -= u64::from(input) + u64::from(produced);
            self.running.rank_sum -= u64::from(self.adapters.rank(adapter));
            self.running.with_adapter -= u32::from(adapter != BASE_MODEL);
            self.adapters.release(adapter);
            if self.line.follows_batch() {
                self.line.left(id, &self.trace);
            }
            let completed = self.fates[i].outcome == Outcome::Completed;
            self.intake.ended(&self.trace, id, self.now_us, produced, completed);
            observer.see(|| Event::Finished(id));
        }
        self.running.count != before
    }
}
