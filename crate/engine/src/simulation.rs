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

mod arrivals;
mod batch;
mod decoding;
mod sight;

use std::collections::VecDeque;
use std::sync::Arc;

use servescope_cost::{Chunk, IterationCost, PrefillShape};
use servescope_workload::Trace;

use batch::Running;
use decoding::DecodingRun;
use sight::{LastAction, engine};

use crate::adapters::AdapterPool;
use crate::config::SchedulerConfig;
use crate::gateway::intake::Intake;
use crate::gateway::{GatewayConfig, Refusal};
use crate::observer::{Event, Observer, Unobserved};
use crate::report::{AdapterCounts, Counters, Fate, Outcome, Report, Served};
use crate::scheduler::memory::MemoryEstimate;
use crate::scheduler::sampler::Sampler;
use crate::scheduler::{Admission, DecodeSpan, Latency, Line, Queueing};
use crate::timeline::{Hold, Timeline};

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
    /// Those of requests that joined the batch.
    spans: Vec<DecodeSpan>,
    served: Served,
    /// Requests of the batch by the time of their last token: (how many, when).
    last_tokens: Vec<(u32, f64)>,
    /// What the prefill under way reads of prompts.
    chunks: Vec<Chunk>,
    timeline: Timeline,
}

impl<C: IterationCost> Simulation<C> {
    /// A simulation of `trace` that has not begun.
    pub fn new(trace: Arc<Trace>, config: SchedulerConfig, cost: C) -> Self {
        let adapters = AdapterPool::new(trace.adapter_count(), &trace.adapter_rank);
        let fates = vec![Fate::default(); trace.len()];
        let line = Line::new(Queueing::default(), &config, &trace);
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
            spans: vec![DecodeSpan::default(); trace.len()],
            served: Served::unserved(trace.len()),
            last_tokens: Vec::new(),
            chunks: Vec::new(),
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
        }
        self.intake.rename(&mut self.timeline.departures);
        let served = match self.intake.sent() {
            Some(sent) => self.served.select(sent),
            None => self.served,
        };
        let (trace, fates, gateway) = self.intake.finish(self.trace, self.fates);
        Report {
            gateway,
            counters,
            trace,
            fates,
            timeline: self.timeline,
            pool_tokens: self.config.max_total_tokens,
            adapters: AdapterCounts {
                loads: self.adapters.loads,
                evictions: self.adapters.evictions,
                ..AdapterCounts::default()
            },
            replicas: 1,
            served: Box::new(served),
            preemptions: 0,
            prefix_lookups: Vec::new(),
            pool_blocks: self.config.max_total_tokens,
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
                (&self.fates, &self.spans),
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

    /// Tokens in memory.
    #[inline]
    fn used_tokens(&self) -> u64 {
        self.running.kv_tokens + u64::from(self.adapters.resident_tokens())
    }
}
