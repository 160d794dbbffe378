//! S-LoRA's router (Sheng et al., MLSys 2024; slora/server/router/manager.py and req_queue.py), on each replica.
//!
//! One step of the router, at time t:
//! 1. It is told of everything that came in or was cancelled up to t, in that order.
//! 2. Nothing runs: it decides. If requests are admitted, it loads their adapters and processes their prompts; otherwise it
//!    sleeps, and polls.
//! 3. Something runs: with fewer than ten decode iterations since the last prefill it decodes. Otherwise it decides; if
//!    requests are admitted, their adapters are loaded and their prompts processed while the others are stalled; otherwise it
//!    decodes, and decides again before the next iteration.
//!
//! Memory is a pool of tokens. A request is admitted if the batch and its adapters will fit at their worst moment
//! ([`crate::replica::peak_memory`]). Adapters are loaded before a prefill, and offloaded when requests end and nothing uses
//! them any more ([`crate::replica::adapters::pool`]).

mod admission;
mod cluster;
mod early_abort;
mod fcfs;
mod peft;
mod pets;
mod queue;
mod state;

use servescope_cost::{Batch, Chunk, LoraBatch};
use servescope_workload::{BASE_MODEL, RequestId};

use super::{
    AdapterConfig, AdapterMemory, Awaited, BatchEvent, BatchScheduler, BlockAllocation, Effect, OwnQueue,
    PoolConfig, QueueScan, Replica, ScheduleContext, ScheduledBatch, SchedulerCounts, SchedulerFacts,
    SchedulerRules, SchedulerSetup, Steady,
};
use crate::record::decisions::{Compared, Verdict};
use crate::record::observer::RouterEvent;
use crate::record::request_state::RequestStatus;
use crate::record::timeline::QueueDrop;
use crate::replica::decode_batch::DecodeBatch;
use crate::replica::peak_memory::KvFootprint;
use crate::replica::run::BatchRun;
use crate::request::{Outcome, Rejection};
pub use admission::{AdmissionPass, CandidateDecision, Latency, Limits};
pub use queue::SloraQueue;
use state::{Message, SloraState};

/// The scheduler.
#[derive(Debug)]
pub(crate) struct Slora;

impl SchedulerRules for Slora {
    fn scheduler(&self, setup: &SchedulerSetup<'_>) -> Box<dyn BatchScheduler> {
        Box::new(SloraState::new(setup.config, setup.trace, setup.queueing))
    }

    fn facts(&self, config: &PoolConfig) -> SchedulerFacts {
        SchedulerFacts {
            reference_accepts_all: false,
            may_block_queue: config.reference_quirks,
            allocation: BlockAllocation::OnDemand,
            counts_tokens: true,
            keeps_queue: true,
            cancels_late: true,
            looks_at_queue: false,
            // Its memory test knows the adapters that take room in the pool.
            managed_adapters: match config.adapters.memory {
                AdapterMemory::Unified => AdapterConfig::FREE,
                AdapterMemory::Slots | AdapterMemory::Resident => config.adapters,
            },
            ends_as_joined: true,
            awaits: [Awaited::Iteration, Awaited::InterleavingRule],
            ..SchedulerFacts::of_iterations(config)
        }
    }

    /// The check of S-LoRA's HTTP server against the pool, then, unless Vidur's blocking is selected, the one that its
    /// queue could never pass.
    fn refuses(
        &self,
        config: &PoolConfig,
        blocks: u32,
        [input_tokens, total_tokens]: [u32; 2],
    ) -> Option<Rejection> {
        if total_tokens >= blocks {
            Some(Rejection::PoolTooSmall)
        } else if !config.reference_quirks && input_tokens > config.max_batch_tokens {
            Some(Rejection::PromptOverBatch)
        } else {
            None
        }
    }
}

impl BatchScheduler for SloraState {
    fn boxed(&self) -> Box<dyn BatchScheduler> {
        Box::new(self.clone())
    }

    fn schedule(
        &mut self,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
    ) -> QueueScan {
        self.step(replica, context, batch)
    }

    fn steady_for(&self, replica: &mut Replica, context: &ScheduleContext<'_>, most: u32) -> Steady {
        let sure = context.config.decode_steps_between_prefills - self.decode_steps_since_prefill;
        Steady { most: self.until_decision(replica, context, most), sure }
    }

    fn happened(
        &mut self,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        event: BatchEvent<'_>,
    ) -> Effect {
        let Replica { run, decode_batch, .. } = replica;
        match event {
            BatchEvent::PromptsEnded(batch) => self.prompts_end(context, batch),
            BatchEvent::Joined(id) => self.joined(decode_batch, context, id),
            BatchEvent::Decoded(iterations) => {
                if let Some(run) = run {
                    self.decoded(run, context, iterations);
                }
            }
            BatchEvent::Left(id, decoded_to) => self.left(decode_batch, context, id, decoded_to),
            BatchEvent::Ended(batch, finished) => {
                self.ended(decode_batch.count == 0, context, batch, finished);
            }
            BatchEvent::TakenApart(_) => {}
            BatchEvent::Arrived(id) => return self.hears(Message::Arrived(id, context.now_us)),
            BatchEvent::Rejected(id) => return self.hears(Message::Rejected(id)),
            BatchEvent::Dropped(id, outcome) => return self.hears(Message::Dropped(id, outcome)),
        }
        Effect::None
    }

    fn counts(&self) -> SchedulerCounts<'_> {
        SchedulerCounts {
            estimate: Some(&self.memory),
            decode_steps: Some(self.decode_steps_since_prefill),
            batch_adapters: Some(&self.adapters),
            adapters_in_memory: self.owns_adapters.then_some(&self.adapters),
            queue: Some(self),
            ..SchedulerCounts::default()
        }
    }

    fn wakes_us(&self) -> f64 {
        self.wakes()
    }

    fn queue_mut(&mut self) -> Option<&mut dyn OwnQueue> {
        Some(self)
    }
}

impl SloraState {
    /// A step of the router begins.
    fn step(
        &mut self,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
    ) -> QueueScan {
        if self.sleeps_on(context.now_us, context.config.idle_poll_us) {
            return QueueScan::Skipped;
        }
        self.read_inbox(replica, context);
        let is_idle = replica.decode_batch.count == 0;
        let between = context.config.decode_steps_between_prefills;
        self.decides = is_idle || self.decode_steps_since_prefill >= between;
        let mut scan = QueueScan::Skipped;
        if self.decides {
            scan = self.decide(replica, context);
            if !self.admitted.is_empty() {
                self.prefill(replica, context, batch);
                return scan;
            }
        }
        if is_idle {
            self.end_step(context);
            self.sleep(context.now_us, context.config.idle_poll_us);
            return scan;
        }
        if self.next_prefetch(context) == Some(self.decode_steps_since_prefill) {
            self.prefetch(context);
        }
        replica.kv.allocate(replica.decode_batch.new_blocks(0));
        replica.schedule_decode_batch(batch);
        scan
    }

    /// Learns of what came in and went away since the last step.
    fn read_inbox(&mut self, replica: &mut Replica, context: &mut ScheduleContext<'_>) {
        if self.inbox.is_empty() {
            return;
        }
        for place in 0..self.inbox.len() {
            match self.inbox[place] {
                Message::Arrived(id, at_us) => {
                    context.watch.emit(|| RouterEvent::Arrived(id));
                    self.queue.arrive(id, at_us, context.trace);
                    if self.queue.arrival_invalidates_decision() {
                        self.next_admissible_step = 0;
                    }
                }
                Message::Rejected(id) => {
                    context.watch.emit(|| RouterEvent::Arrived(id));
                    context.watch.emit(|| RouterEvent::Rejected(id));
                }
                Message::Dropped(id, outcome) => {
                    context.watch.emit(|| match outcome {
                        Outcome::TimedOut => RouterEvent::TimedOut(id),
                        _ => RouterEvent::Cancelled(id),
                    });
                    if outcome == Outcome::Cancelled {
                        self.cut_short(replica, context, id);
                    }
                    self.next_admissible_step = 0;
                }
            }
        }
        self.inbox.clear();
    }

    /// A running request whose client has gone leaves the batch after one more token.
    fn cut_short(&mut self, replica: &mut Replica, context: &mut ScheduleContext<'_>, id: RequestId) {
        let i = id.index();
        let result = &mut context.record.results[i];
        if result.outcome != Outcome::Unfinished || context.requests[i].status != RequestStatus::Decoding {
            return;
        }
        result.outcome = Outcome::Cancelled;
        self.queue.abandoned(id);
        let tokens = replica.tokens(context, id) + 1;
        if tokens < context.total(id) {
            context.requests[id].total = tokens;
            replica.decode_batch.ends_at(replica.decode_batch.step + 1, id);
        }
    }

    /// Whether a decision at the present step is known to pick no request and to change nothing.
    fn is_blocked(&self, step: u64, now_us: f64) -> bool {
        self.next_admissible_step > step && self.queue.due_us().is_none_or(|due| now_us < due)
    }

    /// Takes a decision: requests that join are in `admitted`.
    fn decide(&mut self, replica: &mut Replica, context: &mut ScheduleContext<'_>) -> QueueScan {
        self.admitted.clear();
        let step = replica.decode_batch.step;
        let known = self.is_blocked(step, context.now_us);
        let mut scan = QueueScan::Skipped;
        if (context.steps_singly || !known) && self.queue.needs_scheduling() {
            let has_waiting = !self.queue.is_empty();
            let prefill_us = |requests: u32, tokens: u32, rank: u32| {
                let chunks = vec![Chunk { kv_tokens: 0, tokens }; requests as usize];
                let batch = Batch {
                    chunks: &chunks,
                    rank_sum: u64::from(requests) * u64::from(rank),
                    any_adapter: rank > 0,
                    lora: LoraBatch::of_one(rank, requests * tokens),
                    ..Batch::default()
                };
                context.cost.stage_time(&batch, true).first_us
            };
            let latency = Latency {
                base_us: &|requests, length| prefill_us(requests, length, 0),
                adapter_us: &|rank, requests, length| {
                    prefill_us(requests, length, rank) - prefill_us(requests, length, 0)
                },
            };
            let limits = Limits {
                pool_tokens: context.config.blocks,
                batch_max_tokens: context.config.max_batch_tokens,
                max_running_requests: context.config.max_requests,
                keeps_cancelled: context.config.reference_quirks,
            };
            let mut pass = AdmissionPass::new(
                limits,
                step,
                context.now_us,
                context.trace,
                &context.record.results,
                &mut self.memory,
                &mut self.adapters,
                &mut self.admitted,
                latency,
                &mut *context.watch,
            );
            if context.record.decisions.is_on() && !known {
                pass = pass.recording();
            }
            self.queue.decide(&mut pass);
            let result = pass.result();
            for CandidateDecision { id, is_admitted, compared } in pass.take_decisions().into_iter().flatten()
            {
                let verdict = if is_admitted { Verdict::Admitted } else { Verdict::Waits };
                // Whose turn it is may change with every look.
                match id.filter(|_| is_admitted || !self.queue.is_round_robin()) {
                    Some(id) => context.decided(replica.index, id, verdict, || compared),
                    None => context.queue_waits(replica.index, || compared),
                }
            }
            self.reject_late(replica, context);
            if !known {
                self.next_admissible_step =
                    if self.admitted.is_empty() { result.next_admissible_step } else { 0 };
                if has_waiting {
                    scan = QueueScan::Stopped(result.stop);
                }
            }
        }
        context.watch.emit(|| RouterEvent::Decided { at_us: context.now_us, picked: &self.admitted });
        scan
    }

    /// Requests that the last decision rejected leave the queue.
    fn reject_late(&mut self, replica: &mut Replica, context: &mut ScheduleContext<'_>) {
        for &id in self.queue.rejected() {
            let i = id.index();
            let outcome = &mut context.record.results[i].outcome;
            if *outcome == Outcome::Unfinished {
                let reason = Rejection::EarlyAbort;
                *outcome = Outcome::Rejected(reason);
                context.decided(replica.index, id, Verdict::Rejected(reason), || Compared::NOTHING);
                context.record.departures.push(QueueDrop { time_us: context.now_us, id });
                context.requests[i].status = RequestStatus::Finished;
                context.record.ends(id);
                replica.leaves_queue(context, id);
                replica.outstanding -= 1;
            }
        }
    }

    /// Loads the adapters of the admitted requests and begins with their prompts.
    fn prefill(
        &mut self,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
    ) {
        // The iterations so far took none of the blocks that are allocated now.
        replica.close_run(context, &[]);
        for place in 0..self.admitted.len() {
            let id = self.admitted[place];
            let adapter = context.trace.adapter[id];
            let loads = self.owns_adapters && adapter != BASE_MODEL && context.config.lora_compute;
            if loads && self.adapters.load(adapter) {
                batch.load_us += context.config.adapters.loading.us(self.adapters.rank(adapter), true);
                context.watch.emit(|| RouterEvent::Loaded(adapter));
            }
            replica.leaves_queue(context, id);
            let tokens = context.trace.input_tokens[id];
            replica.start(context, batch, id, tokens, tokens);
        }
    }

    fn prompts_end(&mut self, context: &mut ScheduleContext<'_>, batch: &ScheduledBatch) {
        if batch.prompts.is_empty() {
            return;
        }
        let duration_us = context.now_us - batch.formed_us;
        context.watch.emit(|| RouterEvent::Prefill { at_us: batch.formed_us, duration_us });
        self.decode_steps_since_prefill = 0;
        self.next_admissible_step = 0;
        if self.queue.follows_batch() {
            self.queue.prefilled(&batch.prompts, context.trace);
        }
    }

    /// A request has its first token, and leaves.
    fn starts(&mut self, step: u64, context: &mut ScheduleContext<'_>, id: RequestId) {
        let i = id.index();
        context.requests.joined[i] = self.joined;
        self.joined += 1;
        let (input, max) = (context.trace.input_tokens[i], context.trace.max_tokens[i]);
        self.memory.remove(KvFootprint::new(step, input + 1, max - 1));
    }

    fn joined(&mut self, decode_batch: &DecodeBatch, context: &mut ScheduleContext<'_>, id: RequestId) {
        let i = id.index();
        context.requests.joined[i] = self.joined;
        self.joined += 1;
        let (input, max) = (context.trace.input_tokens[i], context.trace.max_tokens[i]);
        let first_step = decode_batch.step;
        let footprint = |left| KvFootprint::new(first_step, input + 1, left);
        self.memory.replace(footprint(max - 1), footprint(max - 2));
        if self.queue.follows_batch() {
            self.queue.joined(id, first_step, context.trace);
        }
    }

    fn decoded(&mut self, run: &BatchRun, context: &mut ScheduleContext<'_>, iterations: u32) {
        let between = context.config.decode_steps_between_prefills;
        self.decode_steps_since_prefill =
            self.decode_steps_since_prefill.saturating_add(iterations).min(between);
        context.watch.emit(|| {
            let at_us = run.time_after(run.done - iterations);
            RouterEvent::Decode {
                at_us,
                duration_us: context.now_us - at_us,
                iterations,
                requests: run.record.decodes,
                decided: self.decides,
            }
        });
    }

    fn left(
        &mut self,
        decode_batch: &DecodeBatch,
        context: &mut ScheduleContext<'_>,
        id: RequestId,
        decoded_to: Option<u32>,
    ) {
        let i = id.index();
        if let Some(tokens) = decoded_to {
            if !self.is_finishing && self.queue.follows_batch() {
                self.queue.finishing(|id| context.tokens_in(decode_batch, id) >= context.total(id));
            }
            self.is_finishing = true;
            let (input, max) = (context.trace.input_tokens[i], context.trace.max_tokens[i]);
            let first_token_step = decode_batch.step - u64::from(tokens - (input + 1));
            self.memory.remove(KvFootprint::new(first_token_step, input + 1, max - 2));
        } else {
            self.starts(decode_batch.step, context, id);
        }
        self.adapters.release(context.trace.adapter[i]);
        if decoded_to.is_some() && self.queue.follows_batch() {
            self.queue.left(id, context.trace);
        }
        context.watch.emit(|| RouterEvent::Finished(id));
    }

    fn ended(
        &mut self,
        is_empty: bool,
        context: &mut ScheduleContext<'_>,
        batch: &ScheduledBatch,
        finished: u32,
    ) {
        if finished > 0 && batch.prompts.is_empty() {
            self.next_admissible_step = 0;
        }
        if is_empty || finished > 0 && batch.prompts.is_empty() {
            let (adapters, watch) = (&mut self.adapters, &mut *context.watch);
            adapters.offload_unused(|adapter| watch.emit(|| RouterEvent::Offloaded(adapter)));
        }
        self.is_finishing = false;
        self.end_step(context);
        if is_empty {
            self.sleep_once(context.now_us, context.config.idle_poll_us);
        }
    }

    /// Tells that a step of the router is over.
    #[inline]
    fn end_step(&mut self, context: &mut ScheduleContext<'_>) {
        if context.watch.is_on() {
            self.record_step(context);
        }
    }

    fn record_step(&mut self, context: &mut ScheduleContext<'_>) {
        let counters = self.queue.counters();
        let (decode_steps_since_prefill, predicted) =
            (self.decode_steps_since_prefill, self.queue.predicted_lengths());
        let (counters, predicted) = (counters.as_deref(), predicted.as_slice());
        context.watch.emit(|| RouterEvent::StepEnd { decode_steps_since_prefill, counters, predicted });
    }

    /// For how many of `most` decode iterations nothing but the clock may change.
    fn until_decision(&self, replica: &Replica, context: &ScheduleContext<'_>, most: u32) -> u32 {
        let Some(run) = &replica.run else { return 1 };
        let mut fast_forward = most;
        let rest = context.config.decode_steps_between_prefills - self.decode_steps_since_prefill;
        if self.queue.needs_scheduling() {
            // A decision is due when the rule allows one and the head of the queue may fit.
            let step = replica.decode_batch.step;
            let until_retry =
                self.next_admissible_step.saturating_sub(step).min(u64::from(fast_forward)) as u32;
            fast_forward = fast_forward.min(rest.max(until_retry).max(1));
            if let Some(due_us) = self.queue.due_us() {
                let until_due = run.first_end_from(due_us, run.done.saturating_add(fast_forward)) - run.done;
                fast_forward = fast_forward.min(until_due.max(rest).max(1));
            }
        }
        match self.next_prefetch(context) {
            Some(point) => fast_forward.min((point - self.decode_steps_since_prefill).max(1)),
            None => fast_forward,
        }
    }

    /// Decode iterations since the last prefill at which waiting requests' adapters are looked for next.
    fn next_prefetch(&self, context: &ScheduleContext<'_>) -> Option<u32> {
        let config = context.config;
        if !self.owns_adapters
            || !config.adapters.prefetch
            || !config.lora_compute
            || !self.queue.can_prefetch()
        {
            return None;
        }
        let (between, now) = (config.decode_steps_between_prefills, self.decode_steps_since_prefill);
        let points = [Some(between / 2), between.checked_sub(3)].into_iter().flatten();
        points.filter(|&point| point >= now && point < between).min()
    }

    /// Copies adapters of waiting requests ahead, behind the decode iteration that begins now.
    fn prefetch(&mut self, context: &mut ScheduleContext<'_>) {
        let (adapters, watch, trace) = (&mut self.adapters, &mut *context.watch, context.trace);
        let mut has_waiting = false;
        self.queue.look_ahead(context.config.max_batch_tokens, trace, &context.record.results, |id| {
            has_waiting = true;
            let adapter = trace.adapter[id];
            if adapter != BASE_MODEL && adapters.prefetch(adapter) {
                watch.emit(|| RouterEvent::Loaded(adapter));
            }
        });
        if has_waiting {
            watch.emit(|| RouterEvent::Prefetched);
        }
    }
}
