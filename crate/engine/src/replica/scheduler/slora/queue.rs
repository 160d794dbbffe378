//! The waiting queue of S-LoRA's router: what a decision does with it under each scheduling policy, and when the router
//! charges clients.
//!
//! Four policies look at the running batch, or reject while requests wait, and are S-LoRA's alone: [`super::cluster`],
//! [`super::peft`], [`super::pets`] and [`super::early_abort`]. They find the waiting requests in the order of arrival.

use crate::client::ClientId;
use std::sync::Arc;

use servescope_workload::{RequestId, Trace};

use super::admission::AdmissionPass;
use super::cluster::Cluster;
use super::early_abort::EarlyAbort;
use super::peft::Peft;
use super::{fcfs, pets};
use crate::replica::queue::OutputAccounting;
use crate::replica::queue::fairness::FairnessRules;
use crate::replica::queue::policy::{QueueConfig, QueuePolicy};
use crate::replica::queue::waiting_queue::WaitingQueue;
use crate::request::{Outcome, RequestResult};

/// The queue.
#[derive(Debug, Clone)]
pub struct SloraQueue {
    config: Arc<QueueConfig>,
    queue: WaitingQueue,
    policy: Policy,
    /// The batch in the order in which its requests joined, with their first decode steps; only where counters are raised
    /// by its newest one.
    batch: Vec<(RequestId, u64)>,
    /// Whether it must be told of prefills, of decode iterations and of what joins and leaves the batch.
    follows_batch: bool,
    /// Whether decisions may change something although no request waits.
    may_have_side_effects: bool,
}

/// How a decision goes over the requests that wait.
#[derive(Debug, Clone)]
enum Policy {
    FirstCome,
    /// In the order of the waiting queue.
    Ranked,
    Cluster(Cluster),
    Peft(Peft),
    Pets,
    EarlyAbort(EarlyAbort),
}

impl SloraQueue {
    /// An empty queue for a trace and a pool of `pool_tokens` tokens. Requests over a rate limit are rejected before they
    /// come to it.
    pub fn new(config: QueueConfig, pool_tokens: u32, trace: &Trace) -> Self {
        let policy = match &config.policy {
            QueuePolicy::Fcfs | QueuePolicy::Rpm { .. } => Policy::FirstCome,
            QueuePolicy::Lifo
            | QueuePolicy::Sjf
            | QueuePolicy::Priority { .. }
            | QueuePolicy::Vtc(_)
            | QueuePolicy::Drr(_) => Policy::Ranked,
            QueuePolicy::Cluster { adapters } => {
                Policy::Cluster(Cluster::new(*adapters, trace.adapter_count()))
            }
            QueuePolicy::Peft => Policy::Peft(Peft::default()),
            QueuePolicy::Pets => Policy::Pets,
            QueuePolicy::EarlyAbort { bound_us } => Policy::EarlyAbort(EarlyAbort::new(*bound_us)),
        };
        let config = Arc::new(config);
        let queue = WaitingQueue::new(&config, FairnessRules::Slora, trace, f64::from(pool_tokens));
        let follows_batch = matches!(policy, Policy::Cluster(_) | Policy::Peft(_)) || queue.keeps_counters();
        let may_have_side_effects = matches!(policy, Policy::EarlyAbort(_) | Policy::Ranked);
        Self { config, queue, policy, batch: Vec::new(), follows_batch, may_have_side_effects }
    }

    /// A request arrives at `at_us` and waits.
    #[inline]
    pub fn arrive(&mut self, id: RequestId, at_us: f64, trace: &Trace) {
        if let Policy::EarlyAbort(policy) = &mut self.policy {
            policy.arrive(at_us);
        }
        self.queue.push(trace, id, at_us);
    }

    /// The waiting requests alone.
    pub(super) fn into_waiting(self) -> WaitingQueue {
        self.queue
    }

    /// Whether no request waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether a decision may change anything: a request waits, or the policy keeps accounts that decisions move.
    #[inline]
    pub fn needs_scheduling(&self) -> bool {
        !self.queue.is_empty() || self.may_have_side_effects && self.decision_has_side_effects()
    }

    fn decision_has_side_effects(&self) -> bool {
        match &self.policy {
            Policy::EarlyAbort(policy) => !policy.is_fixed_point(),
            Policy::Ranked => self.queue.decision_has_side_effects(),
            _ => false,
        }
    }

    /// Whether an arrival may change what a decision over the waiting ones comes to, so that it must be seen at its own
    /// decode iteration.
    #[inline]
    pub fn arrival_invalidates_decision(&self) -> bool {
        !matches!(self.policy, Policy::FirstCome)
    }

    /// Whether further decisions of an idle router over the requests that wait now would differ.
    pub fn must_repoll(&self) -> bool {
        !self.queue.is_empty()
            && matches!(&self.policy, Policy::EarlyAbort(policy) if !policy.is_fixed_point())
    }

    /// When time alone will change the queue next, microseconds.
    #[inline]
    pub fn due_us(&self) -> Option<f64> {
        match &self.policy {
            Policy::EarlyAbort(policy) => policy.due_us(),
            _ => None,
        }
    }

    /// An idle router took this many decisions over an empty queue.
    pub fn idle(&mut self, decisions: f64) {
        if let Policy::EarlyAbort(policy) = &mut self.policy {
            policy.idle(decisions);
        }
    }

    /// Takes an admission decision.
    #[inline]
    pub fn decide(&mut self, pass: &mut AdmissionPass<'_>) {
        let waiting = self.queue.by_arrival_mut();
        match &mut self.policy {
            Policy::FirstCome => fcfs::decide(waiting, pass),
            Policy::Ranked => self.decide_in_order(pass),
            Policy::Cluster(policy) => policy.decide(waiting, pass),
            Policy::Peft(policy) => policy.decide(waiting, pass),
            Policy::Pets => pets::decide(waiting, pass),
            Policy::EarlyAbort(policy) => policy.decide(waiting, pass),
        }
    }

    /// Admits requests in the order of the waiting queue until one does not fit. Cancelled ones leave when they come up.
    fn decide_in_order(&mut self, pass: &mut AdmissionPass<'_>) {
        if pass.is_full() {
            return;
        }
        let keeps_counters = self.queue.keeps_counters();
        let raises_counters = self.raises_counters();
        if keeps_counters {
            pass.mark_stable();
        }
        if raises_counters {
            let floor = self.newest_counter(pass);
            self.queue.raise_all(floor);
        }
        while let Some(id) = self.queue.head(|id| pass.is_cancelled(id)) {
            if !pass.admit(id) {
                if keeps_counters {
                    self.reschedule_when_head_changes(pass);
                }
                self.queue.block();
                break;
            }
            self.queue.pop(pass.trace, |_| false);
        }
        if raises_counters {
            pass.reschedule_no_later_than(pass.step + 1);
        }
    }

    /// Whether every decision raises counters ([`Lift::Max`](crate::replica::queue::vtc::Lift::Max)).
    fn raises_counters(&self) -> bool {
        matches!(self.config.policy, QueuePolicy::Vtc(_)) && self.queue.decision_has_side_effects()
    }

    /// The counter of the newest request of the batch less its own tokens, to which all are raised (`vtc_max_fair`).
    fn newest_counter(&mut self, pass: &AdmissionPass<'_>) -> Option<f64> {
        let &(id, first_step) = self.batch.last()?;
        let produced = 1 + pass.step - first_step;
        let tokens = f64::from(pass.trace.input_tokens[id]);
        Some(self.queue.raw_counter(pass.trace, id) - tokens - produced as f64)
    }

    /// The head does not fit: says when another client's turn may come.
    fn reschedule_when_head_changes(&mut self, pass: &mut AdmissionPass<'_>) {
        let Some(iterations) = self.queue.iterations_blocked() else {
            return pass.reschedule_no_later_than(pass.step + 1);
        };
        if iterations < 1e15 {
            pass.reschedule_no_later_than(pass.step + 1 + iterations.max(0.0) as u64);
        }
    }

    /// Requests that the last decision rejected.
    #[inline]
    pub fn rejected(&self) -> &[RequestId] {
        match &self.policy {
            Policy::EarlyAbort(policy) => &policy.rejected,
            _ => &[],
        }
    }

    /// The requests that a look ahead finds first in the queue until their prompts fill `batch_max_tokens`, for the prefetch
    /// of their adapters. Policies that rank clients cannot scan ahead, and one that merges its adapter does not.
    pub fn look_ahead(
        &self,
        batch_max_tokens: u32,
        trace: &Trace,
        results: &[RequestResult],
        mut see: impl FnMut(RequestId),
    ) {
        if self.queue.keeps_counters() {
            return;
        }
        let mut tokens = 0u64;
        let take = |&id: &RequestId| {
            if results[id].outcome != Outcome::Unfinished {
                return true;
            }
            tokens += u64::from(trace.input_tokens[id]);
            let fits = tokens <= u64::from(batch_max_tokens);
            if fits {
                see(id);
            }
            fits
        };
        match (&self.policy, &self.config.policy) {
            (Policy::Ranked, _) => self.queue.in_order().iter().all(take),
            // S-LoRA keeps these two queues newest first.
            (_, QueuePolicy::EarlyAbort { .. } | QueuePolicy::Rpm { .. }) => {
                self.queue.by_arrival().iter().rev().all(take)
            }
            _ => self.queue.by_arrival().iter().all(take),
        };
    }

    /// Whether adapters can be prefetched for the requests that wait.
    pub fn can_prefetch(&self) -> bool {
        !matches!(self.policy, Policy::Peft(_)) && !self.queue.keeps_counters()
    }

    /// Whether the queue must be told of prefills, of decode iterations and of what joins and leaves the batch.
    #[inline]
    pub fn follows_batch(&self) -> bool {
        self.follows_batch
    }

    /// The prefill of the admitted requests ended: a mini-batch of its own. Where one of them has ended with it, the ideal
    /// accounting charges that one for its only token, the artifact's all of them.
    pub fn prefilled(&mut self, admitted: &[RequestId], trace: &Trace) {
        let accounting = self.config.policy.accounting();
        let has_ended = |id: RequestId| trace.output_tokens[id] == 1;
        let any = admitted.iter().any(|&id| has_ended(id));
        for &id in admitted {
            let is_charged = match accounting {
                OutputAccounting::Slora => false,
                OutputAccounting::Ideal => has_ended(id),
                OutputAccounting::Artifact => any,
            };
            self.queue.made_first_token(trace, id, is_charged);
            if has_ended(id) {
                self.queue.ended_in_full(trace, id, false);
            }
        }
    }

    /// A prefilled request joins the batch, its first decode step being `first_step`.
    pub fn joined(&mut self, id: RequestId, first_step: u64, trace: &Trace) {
        match &mut self.policy {
            Policy::Cluster(policy) => policy.joined(trace.adapter[id]),
            Policy::Peft(policy) => policy.joined(trace.adapter[id]),
            _ => {
                if self.raises_counters() {
                    self.batch.push((id, first_step));
                }
                self.queue.decodes(trace, id, true);
            }
        }
    }

    /// This many decode iterations passed.
    #[inline]
    pub fn decoded(&mut self, iterations: u32) {
        if self.follows_batch {
            self.queue.decoded(iterations);
        }
    }

    /// Some requests of the batch have ended; each of them then leaves.
    pub fn finishing(&mut self, have_ended: impl Fn(RequestId) -> bool) {
        self.queue.finishing_with(have_ended);
    }

    /// The client of a running request has gone away.
    pub fn abandoned(&mut self, id: RequestId) {
        self.queue.abandoned(id);
    }

    /// A request leaves the batch with its last token.
    pub fn left(&mut self, id: RequestId, trace: &Trace) {
        match &mut self.policy {
            Policy::Cluster(policy) => policy.left(trace.adapter[id]),
            Policy::Peft(policy) => policy.left(),
            _ => {
                self.batch.retain(|other| other.0 != id);
                self.queue.decodes(trace, id, false);
                self.queue.ended_in_full(trace, id, true);
            }
        }
    }

    /// Each client seen so far with its counter (a deficit counter for round robin) in the units of the token cost, in the
    /// order of their first requests. `None` for a policy without counters.
    pub fn counters(&mut self) -> Option<Vec<(ClientId, f64)>> {
        self.queue.keeps_counters().then(|| self.queue.counters())
    }

    /// Whether looking at the queue gives clients quanta.
    pub fn is_round_robin(&self) -> bool {
        self.queue.is_round_robin()
    }

    /// Whether the policy keeps a counter for each client.
    pub fn keeps_counters(&self) -> bool {
        self.queue.keeps_counters()
    }

    /// Output tokens that are expected of each client's next request, where that is learnt.
    pub fn predicted_lengths(&self) -> Vec<(ClientId, f64)> {
        self.queue.predicted_lengths()
    }

    /// The two estimates and the memory of early abort: request rate, batch size, waiting after the last pass.
    pub fn abort_estimates(&self) -> Option<(i64, i64, usize)> {
        match &self.policy {
            Policy::EarlyAbort(policy) => Some((policy.request_rate, policy.batch_size, policy.last_waiting)),
            _ => None,
        }
    }

    /// All requests that still wait, by their numbers, cancelled ones included that were not passed yet.
    pub fn waiting(&self) -> Vec<RequestId> {
        let mut ids = self.queue.in_order();
        ids.sort_unstable();
        ids
    }
}
