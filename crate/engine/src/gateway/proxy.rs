//! Admission control: what becomes of a request between its client and the engine.
//!
//! ```text
//! client ──> chain of checks ──> waiting queue ──> dispatcher ──> engine
//!    ^            │ 429               │ 429 at the deadline
//!    └─ Retry-After ───────┘
//! ```
//!
//! The ten points of an admission proxy in front of vLLM: quotas of requests and tokens, concurrency, caps of the queue, KV
//! feasibility, an estimate of the first token, a queue with deadlines that a sweep looks at, lending of idle quota, load
//! states, rejections with Retry-After, and clients that come back. The dispatcher is woken by arrivals, by ends of requests
//! and by the sweep. Everything is handled in order of time: events of the engine are held until their time has come, because
//! a fast-forward knows the end of an iteration before it handles an arrival that comes earlier.

mod arrival;
#[cfg(test)]
mod conservation;
mod dispatch;
mod engine_events;
mod sampling;
pub(crate) mod snapshot;

use crate::client::ClientId;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use servescope_workload::stream::Stream;
use servescope_workload::{RequestId, Trace};

use super::charge::QuotaCharge;
use super::client_loads::ClientLoads;
use super::config::GatewayConfig;
use super::load::OverloadDetector;
use super::log::{GatewayLog, Retry};
use super::prediction::OutputLengthPredictor;
use super::quotas::RateLimiter;
use super::record::ReservationRecorder;
use super::reservations::KvReservations;
use super::retries;
use super::waits::Waits;
use crate::gateway::proxy::snapshot::GatewayCamera;
use crate::record::decisions::{Compared, Decision, DecisionLog, Verdict};
use crate::replica::queue::client_queue::ClientQueue;
use crate::replica::queue::fairness::FairnessRules;
use crate::request::Rejection;

/// The load is looked at this many times within the time over which it is averaged, and as often as these bounds allow,
/// microseconds.
const LOOKS: f64 = 2.0;
const LOAD_EVERY_US: [f64; 2] = [100e3, 1e6];

/// The next time that differs from `at_us` in floating point: a request that has to wait waits at least so long.
fn after(at_us: f64) -> f64 {
    (at_us + 1.0).max(at_us.next_up())
}

/// What the proxy can see of the engine.
pub(crate) trait KvUsageProbe {
    /// Tokens in KV memory, adapters included, at a time that is not over for the engine.
    fn used_tokens(&self, at_us: f64) -> f64;

    /// Tokens of each of these requests in KV memory at that time, in their order, into an empty list; `None` for one that is
    /// in no batch, because it waits or has ended.
    fn held_tokens(&self, requests: &[RequestId], at_us: f64, held: &mut Vec<Option<u32>>);
}

/// What the proxy does with a request, for the loop behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum GatewayOutcome {
    /// It comes in at the engine.
    Forward(RequestId),
    /// Its last attempt was refused.
    Rejected(RequestId, Rejection),
    /// Its last attempt waited too long.
    TimedOut(RequestId),
}

/// What the engine reports of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum EngineEvent {
    /// Its first token is there.
    FirstToken,
    /// It has ended with this many tokens, complete or not.
    Ended {
        /// Tokens produced.
        produced: u32,
        /// Whether all were.
        completed: bool,
    },
}

/// Where a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// With its client.
    Away,
    Queued,
    AtEngine,
    Gone,
}

/// What is remembered of a request at the engine.
#[derive(Debug, Clone, Copy)]
struct QueuedNote {
    client: ClientId,
    /// What its output was predicted to be, and what of it is charged to its client's counter.
    predicted_output: u32,
    charged_output: u32,
    first_token_us: f64,
    paid: QuotaCharge,
}

/// The engine as it was last seen.
#[derive(Debug, Clone, Copy)]
struct EngineSnapshot {
    at_us: f64,
    used_tokens: f64,
    /// Whether a request has ended since, so that another look may find more room.
    is_stale: bool,
}

/// The proxy.
#[derive(Debug, Clone)]
pub(crate) struct Proxy {
    config: GatewayConfig,
    clients: usize,
    place: Vec<Place>,
    limiter: RateLimiter,
    client_loads: ClientLoads,
    reservations: KvReservations<QueuedNote>,
    lengths: OutputLengthPredictor,
    waits: Waits,
    load: OverloadDetector,
    queue: ClientQueue,
    waiting: u32,
    waiting_tokens: u64,
    /// (deadline as bits, request, attempt), and some that wait no more.
    deadlines: BinaryHeap<Reverse<(u64, RequestId, u8)>>,
    /// (when it comes again as bits, request).
    retries: BinaryHeap<Reverse<(u64, RequestId)>>,
    retry_draws: Stream,
    engine_events: VecDeque<(f64, RequestId, EngineEvent)>,
    /// What waiting requests have paid; empty where they pay when they are let through.
    paid_early: Vec<QuotaCharge>,
    view: EngineSnapshot,
    /// Tokens of the requests that the engine is asked for, while they are looked at.
    held: Vec<Option<u32>>,
    /// When the dispatcher should look again although nothing happens.
    wake_us: f64,
    next_sample_us: f64,
    /// [`Self::due_to_requests_us`], NaN where something was done since it was found.
    due_us: f64,
    load_every_us: f64,
    attempts: u64,
    refused: u64,
    /// Requests that ended at the engine, and how many of them keep their concurrency slots.
    ended: u64,
    leaked_slots: u32,
    outcomes: VecDeque<(GatewayOutcome, f64)>,
    log: GatewayLog,
    record: ReservationRecorder,
    decisions: DecisionLog,
    camera: Option<Box<GatewayCamera>>,
    #[cfg(test)]
    seen: conservation::Seen,
}

impl Proxy {
    pub(crate) fn new(config: GatewayConfig, trace: &Trace) -> Self {
        let clients = config.client.count(trace);
        let n = trace.len();
        let limiter = RateLimiter::new(config.quotas, clients);
        let queue =
            ClientQueue::new(&config.queue_policy, FairnessRules::Engine, clients, config.pool_tokens);
        Self {
            clients,
            place: vec![Place::Away; n],
            paid_early: if limiter.pays_on_arrival() { vec![QuotaCharge::default(); n] } else { Vec::new() },
            limiter,
            client_loads: ClientLoads::new(clients),
            reservations: KvReservations::new(n, config.kv.leaks),
            lengths: OutputLengthPredictor::new(config.lengths, clients, config.seed),
            waits: Waits::new(clients, config.estimate_over_us),
            load: OverloadDetector::new(config.load),
            record: ReservationRecorder::new(&config, trace, &queue),
            #[cfg(test)]
            seen: vec![None; n],
            queue,
            waiting: 0,
            waiting_tokens: 0,
            deadlines: BinaryHeap::new(),
            retries: BinaryHeap::new(),
            retry_draws: Stream::named(config.seed, "gateway.retries"),
            engine_events: VecDeque::new(),
            view: EngineSnapshot { at_us: f64::NEG_INFINITY, used_tokens: 0.0, is_stale: false },
            held: Vec::new(),
            wake_us: f64::INFINITY,
            next_sample_us: f64::INFINITY,
            due_us: f64::INFINITY,
            load_every_us: (config.load.average_us / LOOKS).clamp(LOAD_EVERY_US[0], LOAD_EVERY_US[1]),
            attempts: 0,
            refused: 0,
            ended: 0,
            leaked_slots: 0,
            outcomes: VecDeque::new(),
            log: GatewayLog::new(n, config.client, clients, config.pool_tokens),
            decisions: DecisionLog::default(),
            camera: None,
            config,
        }
    }

    /// What was written down.
    pub(crate) fn into_log(mut self, trace: &Trace) -> GatewayLog {
        let (counter_samples, reserved) = self.record.finish(trace, &mut self.reservations);
        GatewayLog {
            counter_samples,
            reserved,
            counters: self.queue.counters(),
            reserved_tokens: self.reservations.reserved(),
            leaked_tokens: self.reservations.leaked(),
            leaked_slots: self.leaked_slots,
            ..self.log
        }
    }

    /// Keeps every decision from now on.
    pub(crate) fn keep_decisions(&mut self) {
        self.decisions = DecisionLog::on();
    }

    /// The decisions kept so far.
    pub(crate) fn take_decisions(&mut self) -> DecisionLog {
        std::mem::take(&mut self.decisions)
    }

    /// Writes a decision down, where decisions are kept.
    fn decided(&mut self, at_us: f64, id: RequestId, verdict: Verdict, compared: Compared) {
        self.decisions.add(|| Decision::before_router(at_us, id, verdict, compared));
    }

    /// When each request was let through.
    pub(crate) fn forwarded_us(&self) -> &[f64] {
        &self.log.forwarded_us
    }

    /// Whether a request is at the engine.
    pub(crate) fn is_at_engine(&self, id: RequestId) -> bool {
        self.place[id] == Place::AtEngine
    }

    /// Requests at the engine hold memory from now on: the next look asks for their tokens.
    pub(crate) fn are_scheduled(&mut self, requests: &mut Vec<RequestId>) {
        requests.drain(..).for_each(|id| self.reservations.watch(id));
    }

    /// The engine reports an event of a request, in order of time.
    pub(crate) fn notify(&mut self, id: RequestId, event: EngineEvent, at_us: f64) {
        if self.engine_events.is_empty() && self.due_us > at_us {
            self.due_us = at_us;
        }
        self.engine_events.push_back((at_us, id, event));
    }

    /// When something happens next without an arrival from outside; infinite: never.
    #[inline]
    pub(crate) fn due_us(&mut self) -> f64 {
        self.due_to_requests_us().min(self.next_sample_us)
    }

    /// The same, looks at the load left out: they alone let no request through.
    #[inline]
    pub(crate) fn due_to_requests_us(&mut self) -> f64 {
        if self.due_us.is_nan() {
            self.due_us = self.find_due_us();
        }
        self.due_us
    }

    fn find_due_us(&mut self) -> f64 {
        let mut due_us = self.wake_us;
        self.drop_old_deadlines();
        if let Some(&Reverse((bits, ..))) = self.deadlines.peek() {
            due_us = due_us.min(self.tick(f64::from_bits(bits)));
        }
        if let Some(at_us) = self.queue.next_unthrottle_us() {
            due_us = due_us.min(self.tick(at_us));
        }
        if let Some(&Reverse((bits, _))) = self.retries.peek() {
            due_us = due_us.min(f64::from_bits(bits));
        }
        if let Some(&(at_us, ..)) = self.engine_events.front() {
            due_us = due_us.min(at_us);
        }
        due_us
    }

    fn drop_old_deadlines(&mut self) {
        while let Some(&Reverse((_, id, attempt))) = self.deadlines.peek() {
            if self.waits(id) && self.log.passages[id].attempts == attempt {
                return;
            }
            self.deadlines.pop();
        }
    }

    fn waits(&self, id: RequestId) -> bool {
        self.place[id] == Place::Queued
    }

    /// The first sweep at or after a time.
    fn tick(&self, at_us: f64) -> f64 {
        let sweep = self.config.sweep_us;
        let tick = (at_us / sweep).ceil() * sweep;
        if tick >= at_us { tick } else { tick + sweep }
    }

    /// When the next was decided that was not taken yet.
    pub(crate) fn decided_us(&self) -> Option<f64> {
        self.outcomes.front().map(|outcome| outcome.1)
    }

    /// What was decided and not taken yet.
    pub(crate) fn take(&mut self) -> Option<(GatewayOutcome, f64)> {
        self.outcomes.pop_front()
    }

    /// Lets everything happen that is due at `at_us`, the time of [`Self::due_us`].
    pub(crate) fn advance_to(&mut self, trace: &Trace, at_us: f64, probe: &dyn KvUsageProbe) {
        self.due_us = f64::NAN;
        self.record.advance_to(trace, at_us, &mut self.reservations, &mut self.queue);
        let mut dispatches = false;
        while let Some(&(told_us, id, event)) = self.engine_events.front() {
            if told_us > at_us {
                break;
            }
            self.engine_events.pop_front();
            dispatches |= self.on_engine_event(trace, id, event, at_us);
        }
        if dispatches {
            self.dispatch(trace, at_us, probe);
        }
        while let Some(&Reverse((bits, id))) = self.retries.peek().filter(|r| f64::from_bits(r.0.0) <= at_us)
        {
            debug_assert!(f64::from_bits(bits) >= 0.0, "bits of times are in the order of the times");
            self.retries.pop();
            self.submit_attempt(trace, id, at_us, probe);
        }
        if self.next_sample_us <= at_us {
            self.sample(trace, at_us, probe);
        }
        self.sweep(trace, at_us, probe);
    }

    /// The deadline sweep, and clients that may try again with it.
    fn sweep(&mut self, trace: &Trace, at_us: f64, probe: &dyn KvUsageProbe) {
        self.drop_old_deadlines();
        while let Some(&Reverse((bits, id, _))) = self.deadlines.peek() {
            if self.tick(f64::from_bits(bits)) > at_us {
                break;
            }
            self.deadlines.pop();
            self.is_seen(trace, at_us);
            self.leave_queue(trace, id, at_us);
            self.end_attempt(trace, id, None, at_us, None);
            self.drop_old_deadlines();
        }
        let unparks = self.queue.next_unthrottle_us().is_some_and(|at| self.tick(at) <= at_us);
        if unparks || self.wake_us <= at_us {
            let waits = &mut self.waits;
            self.queue.unthrottle_until(at_us, |client| waits.release(client, at_us));
            self.dispatch(trace, at_us, probe);
        }
    }

    /// A waiting request leaves; the queue forgets it when it comes up.
    fn leave_queue(&mut self, trace: &Trace, id: RequestId, at_us: f64) {
        let i = id.index();
        let (input, predicted) = (trace.input_tokens[i], self.log.passages[i].predicted_tokens);
        self.place[i] = Place::Away;
        self.waiting -= 1;
        self.waiting_tokens -= u64::from(input) + u64::from(predicted);
        let client = self.config.client.of(trace, id, self.clients);
        self.waits.leaves(client, input, at_us);
        self.queue.forget(client);
        if !self.queue.is_throttled(client) {
            // Nothing of it waits any more.
            self.waits.release(client, at_us);
        }
        self.client_loads.stops_waiting(client);
        if let Some(paid) = self.paid_early.get(i) {
            self.limiter.settle(client, paid, [0, 0], at_us);
        }
    }

    /// Whether a request will not come any more.
    pub(crate) fn is_gone(&self, id: RequestId) -> bool {
        self.place[id] == Place::Gone
    }

    /// Refuses an attempt, or for `None` answers that it waited too long. `wait_us`: until its quota lets it in.
    fn end_attempt(
        &mut self,
        trace: &Trace,
        id: RequestId,
        reason: Option<Rejection>,
        at_us: f64,
        wait_us: Option<f64>,
    ) {
        let verdict = reason.map_or(Verdict::TimedOut, Verdict::Rejected);
        self.decided(at_us, id, verdict, Compared::NOTHING);
        match reason {
            Some(reason) => self.log.refusals[reason as usize] += 1,
            None => self.log.timeouts += 1,
        }
        self.refused += 1;
        // Nothing better is known than how long a newcomer would wait now.
        let client = self.config.client.of(trace, id, self.clients);
        let estimate_us = || self.waits.ttft_us(client, trace.input_tokens[id]);
        let wait_us = wait_us.or_else(estimate_us).unwrap_or(0.0);
        let attempt = self.log.passages[id].attempts;
        let attempts = u32::from(attempt);
        let header_us = retries::header_us(wait_us);
        let again = retries::wait_us(&self.config.retries, attempts, header_us, &self.retry_draws, id);
        if let Some(after_us) = again {
            let again_us = at_us + after_us;
            self.place[id] = Place::Away;
            self.retries.push(Reverse((again_us.to_bits(), id)));
            self.log.retries.add(Retry { id, attempt, reason, answered_us: at_us, again_us });
            return;
        }
        self.place[id] = Place::Gone;
        let outcome =
            reason.map_or(GatewayOutcome::TimedOut(id), |reason| GatewayOutcome::Rejected(id, reason));
        self.outcomes.push_back((outcome, at_us));
    }

    /// A client goes away; says whether its request was with the proxy or its client, so that it ends here.
    pub(crate) fn cancel(&mut self, trace: &Trace, id: RequestId, at_us: f64) -> bool {
        match self.place[id] {
            Place::AtEngine | Place::Gone => return false,
            Place::Queued => self.leave_queue(trace, id, at_us),
            Place::Away => {}
        }
        self.place[id] = Place::Gone;
        self.due_us = f64::NAN;
        true
    }
}
