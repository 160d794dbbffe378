//! Each request's time from its arrival to its end, split into causes that add up to it exactly.
//!
//! Times are whole nanoseconds, and the split follows the request from one time to the next: every part begins where the one
//! before it ends, and where a stretch of time has several causes, the last one is what the others leave. So the parts add up to
//! end − arrival without any rounding, of one request and of any number.

use crate::replica_index::ReplicaIndex;
use std::cell::RefCell;

use servescope_cost::{BatchCost, Chunk};
use servescope_workload::{BASE_MODEL, RequestId};

use super::by_request::ByRequest;
use super::cause::{ByCause, Cause, TimePart, in_ns};
use super::gateway::GatewayTable;
use super::iterations::{AloneTimes, IterationTable};
use super::queue::{QueueTable, part};
use crate::record::decisions::{Decision, Test, Verdict};
use crate::record::failures::Restart;
use crate::record::request_phases::{Deferral, PrefillPhase, RequestPhases, SharedIteration, StallPhase};
use crate::record::timeline::{PreemptionEvent, PreemptionInterval};
use crate::report::Report;
use crate::request::Outcome;

/// The time of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestTime {
    /// When it arrived, nanoseconds.
    pub arrival_ns: u64,
    /// When it ended; the end of the run for one that did not.
    pub end_ns: u64,
    /// What its time went into; of one cause there may be several parts.
    pub parts: Vec<TimePart>,
}

impl RequestTime {
    /// Nanoseconds by cause; they add up to `end_ns` − `arrival_ns`.
    pub fn by_cause(&self) -> ByCause {
        let mut sums = ByCause::default();
        self.parts.iter().for_each(|part| sums[part.cause as usize] += part.ns);
        sums
    }
}

/// The causes of [`WhyTables::shared`].
const SHARED: [Cause; 6] = [
    Cause::AdapterLoading,
    Cause::Swap,
    Cause::PrefillStall,
    Cause::OtherRanks,
    Cause::ExpertRearrangement,
    Cause::RunningIteration,
];

/// What happens to a request that has begun.
#[derive(Debug, Clone, Copy)]
enum RequestEvent {
    Preempted(Cause),
    Stall,
    Prefill(PrefillPhase),
}

/// A run whose requests' times can be split: one whose decisions were kept.
#[derive(Debug)]
pub struct WhyTables<'a> {
    /// Of which run.
    pub report: &'a Report,
    pub(super) decisions: ByRequest<Decision>,
    gateway: Option<GatewayTable<'a>>,
    pub(super) ends: Vec<u64>,
    prefills: ByRequest<PrefillPhase>,
    stalls: ByRequest<StallPhase>,
    deferrals: ByRequest<Deferral>,
    shared: ByRequest<SharedIteration>,
    pub(super) away: ByRequest<PreemptionInterval>,
    pub(super) preemptions: ByRequest<PreemptionEvent>,
    loads: ByRequest<KvLoad>,
    restarts: ByRequest<Restart>,
    iterations: Vec<IterationTable>,
    queues: Vec<QueueTable>,
    alone: RefCell<AloneTimes>,
    computes_lora: bool,
}

impl<'a> WhyTables<'a> {
    /// The tables of a run; `None`: its decisions were not kept ([`Fleet::with_decisions`](crate::Fleet::with_decisions)).
    pub fn of(report: &'a Report) -> Option<Self> {
        let (all, phases) = (report.decisions.as_deref()?, report.phases.as_deref()?);
        let n = report.trace.len();
        let about = all.iter().copied().filter(|decision| decision.request().is_some());
        let decisions = ByRequest::of(n, about, |decision| decision.request().unwrap_or_default());
        let RequestPhases { prefills, stalls, deferrals, shared, .. } = phases;
        let timeline = &report.timeline;
        let replicas = ReplicaIndex::first(report.replicas.len());
        let iterations: Vec<_> = replicas.clone().map(|i| IterationTable::of(report, i)).collect();
        let queues = replicas.map(|i| queue_of(report, phases, i, &iterations[i.index()])).collect();
        let ends = ends_of(report);
        Some(Self {
            report,
            gateway: GatewayTable::of(report, &decisions, &ends),
            decisions,
            ends,
            prefills: ByRequest::of(n, prefills.iter().copied(), |phase| phase.request),
            stalls: ByRequest::of(n, stalls.iter().copied(), |phase| phase.request),
            deferrals: ByRequest::of(n, deferrals.iter().copied(), |phase| phase.request),
            shared: ByRequest::of(n, shared.iter().copied(), |phase| phase.request),
            away: ByRequest::of(n, timeline.preemption_intervals.iter().copied(), |away| away.request),
            preemptions: ByRequest::of(n, timeline.preemptions.iter().copied(), |event| event.id),
            loads: ByRequest::of(n, loads_of(report), |load| load.request),
            restarts: ByRequest::of(n, report.restarts.iter().copied(), |restart| restart.request),
            queues,
            computes_lora: timeline.iterations.iter().any(|run| run.any_adapter),
            iterations,
            alone: RefCell::default(),
        })
    }

    /// When the engine knew of a request, nanoseconds; `None`: never.
    pub(super) fn came_in(&self, id: usize) -> Option<u64> {
        match &self.report.gateway {
            Some(log) => Some(log.forwarded_us[id]).filter(|us| !us.is_nan()).map(in_ns),
            None => Some(in_ns(self.report.trace.arrival_us[id])),
        }
    }

    /// When the replica had a request that served it to its end, nanoseconds.
    fn given(&self, id: usize) -> u64 {
        let restarted = self.restarts.get(id).last().map(|restart| in_ns(restart.time_us));
        restarted.or_else(|| self.came_in(id)).unwrap_or(self.ends[id])
    }

    /// The time of a request.
    pub fn request(&self, id: usize) -> RequestTime {
        let (arrival_ns, end_ns) = (in_ns(self.report.trace.arrival_us[id]), self.ends[id]);
        let mut parts: Vec<TimePart> = Vec::new();
        let came_in = self.came_in(id).unwrap_or(end_ns).clamp(arrival_ns, end_ns);
        if let Some(gateway) = &self.gateway {
            gateway.wait(self.report, id, came_in, &mut |part| parts.push(part));
        }
        let mut at = self.given(id).clamp(came_in, end_ns);
        parts.push(part(Cause::ReplicaFailure, came_in, at));
        if let Some(previous) = self.report.goes_on_from(id) {
            let answered = self.ends[previous.index()].clamp(at, end_ns);
            parts.push(part(Cause::PreviousAnswer, at, answered));
            at = answered;
        }
        for leg in self.legs(id) {
            let start = leg.start_ns.clamp(at, end_ns);
            parts.push(part(Cause::DecodeRouting, at, start));
            let end = leg.end_ns.clamp(start, end_ns);
            let scheduled = leg.scheduled_ns.unwrap_or(end).clamp(start, end);
            self.wait((id, &leg), start, scheduled, &mut parts);
            if scheduled < end {
                self.run((id, &leg), scheduled, end, &mut parts);
            }
            at = end;
        }
        parts.push(part(Cause::DecodeRouting, at, end_ns));
        parts.retain(|part| part.ns > 0);
        RequestTime { arrival_ns, end_ns, parts }
    }

    /// A request's stays at replicas, in their order; at least one.
    pub(super) fn legs(&self, id: usize) -> Vec<LegTime> {
        let report = self.report;
        let came_in = self.given(id);
        let at = |us: f64| Some(us).filter(|us| !us.is_nan()).map(in_ns);
        let Some(legs) = report.legs(id) else {
            let scheduled_ns = report.scheduled_us(id).map(in_ns);
            let replica = report.replica(id);
            return vec![LegTime { replica, start_ns: came_in, scheduled_ns, end_ns: self.ends[id] }];
        };
        let prefill = LegTime {
            replica: legs.prefill,
            start_ns: came_in,
            scheduled_ns: at(legs.scheduled_us),
            end_ns: at(legs.prefilled_us).unwrap_or(self.ends[id]),
        };
        let decode = at(legs.arrived_us).map(|start_ns| LegTime {
            replica: legs.decode,
            start_ns,
            scheduled_ns: at(legs.decode_scheduled_us),
            end_ns: self.ends[id],
        });
        std::iter::once(prefill).chain(decode).collect()
    }

    /// The replica at which a request was at a time.
    pub(super) fn replica_at(&self, id: usize, ns: u64) -> ReplicaIndex {
        match self.report.legs(id) {
            Some(legs) if legs.arrived_us.is_nan() || ns < in_ns(legs.arrived_us) => legs.prefill,
            _ => self.report.replica(id),
        }
    }

    /// Waiting in the queue of its replica, up to its first iteration.
    fn wait(&self, (id, leg): (usize, &LegTime), start: u64, scheduled: u64, parts: &mut Vec<TimePart>) {
        let is_here = |decision: &&Decision| decision.replica().is_none_or(|replica| replica == leg.replica);
        let own: Vec<&Decision> = self.decisions.get(id).iter().filter(is_here).collect();
        let admitted = own.iter().find(|decision| decision.verdict == Verdict::Admitted);
        let admitted = admitted.map_or(scheduled, |decision| in_ns(decision.time_us)).clamp(start, scheduled);
        let replica = usize::from(leg.replica);
        let (queue, iterations) = (&self.queues[replica], &self.iterations[replica]);
        let mut at = start;
        for (i, decision) in own.iter().enumerate() {
            let cause = match (decision.verdict, decision.compared.test) {
                (Verdict::Skipped, Test::LoraSlots) => Cause::AdapterSlots,
                (Verdict::Skipped, Test::CopyUnderWay) => Cause::KvLink,
                (Verdict::Loads, _) => Cause::KvLoading,
                _ => continue,
            };
            if decision.replica().is_none() {
                continue;
            }
            let from = in_ns(decision.time_us).clamp(at, admitted);
            let to = own.get(i + 1).map_or(admitted, |next| in_ns(next.time_us)).clamp(from, admitted);
            queue.wait(iterations, at, from, &mut |part| parts.push(part));
            at = if cause == Cause::KvLoading {
                self.load(id, decision.time_us, from, admitted, parts)
            } else {
                parts.push(part(cause, from, to));
                to
            };
        }
        queue.wait(iterations, at, admitted, &mut |part| parts.push(part));
        parts.push(part(Cause::RunningIteration, admitted, scheduled));
    }

    /// It loads KV blocks: behind other copies, its own, slowed down by others, and until the iteration under way ends, which reports
    /// it. Returns when the scheduler knows.
    fn load(&self, id: usize, decided_us: f64, from: u64, admitted: u64, parts: &mut Vec<TimePart>) -> u64 {
        let Some(load) = self.loads.get(id).iter().find(|load| load.decided_us == decided_us) else {
            parts.push(part(Cause::KvLoading, from, admitted));
            return admitted;
        };
        let [start, end, known] = load.times_us.map(|us| in_ns(us).clamp(from, admitted));
        let alone = in_ns(load.times_us[0] + load.alone_us).clamp(start, end);
        parts.push(part(Cause::KvLink, from, start));
        parts.push(part(Cause::KvLoading, start, alone));
        parts.push(part(Cause::KvLink, alone, end));
        parts.push(part(Cause::RunningIteration, end, known));
        known
    }

    /// From its first iteration at a replica on.
    fn run(&self, (id, leg): (usize, &LegTime), scheduled: u64, end: u64, parts: &mut Vec<TimePart>) {
        let mut at = scheduled;
        let (mut computed, mut before) = (0, scheduled);
        let mut decoding = Vec::new();
        for (start, stop, event) in self.events(id, scheduled, end) {
            let (from, to) = (start.clamp(at, end), stop.clamp(at, end));
            if from > at {
                decoding.push((at, from));
            }
            match event {
                RequestEvent::Preempted(cause) => parts.push(part(cause, from, to)),
                RequestEvent::Stall => self.stall(id, before, from, to, parts),
                RequestEvent::Prefill(phase) => {
                    let again = phase.from_token < computed;
                    computed = computed.max(phase.from_token + phase.tokens);
                    self.prefill((id, leg.replica), &phase, again, (from, to), parts);
                }
            }
            before = start;
            at = at.max(to);
        }
        if at < end && self.report.first_token_us(id).is_none() {
            // Its client went away, or the run ended, before its prompt was processed.
            self.stall(id, before, at, end, parts);
        } else if at < end {
            decoding.push((at, end));
        }
        self.decode(id, &decoding, parts);
    }

    /// What happens to a request beside decoding that has begun at a replica and is there until `end`, by its start: (start, end, what).
    fn events(&self, id: usize, begun: u64, end: u64) -> Vec<(u64, u64, RequestEvent)> {
        let own = self.decisions.get(id);
        let cause_at = |until: u64| {
            let before = own.iter().rev().filter(|decision| in_ns(decision.time_us) <= until);
            let left = |verdict| matches!(verdict, Verdict::Preempted | Verdict::SwappedOut);
            let last = before.map(|decision| decision.verdict).find(|&verdict| left(verdict));
            if last == Some(Verdict::SwappedOut) { Cause::Swap } else { Cause::Preemption }
        };
        let away = self.away.get(id).iter().map(|away| {
            let (start, end) = (in_ns(away.start_us), in_ns(away.end_us));
            (start, end, RequestEvent::Preempted(cause_at(end)))
        });
        // A preemption also counts as a stall: what is put in first comes first, and takes the time.
        let mut events: Vec<(u64, u64, RequestEvent)> = Vec::new();
        let mut put = |event: (u64, u64, RequestEvent)| {
            let place = events.partition_point(|other| other.0 <= event.0);
            events.insert(place, event);
        };
        away.for_each(&mut put);
        if let Some(last) = self.preemptions.get(id).get(self.away.get(id).len()) {
            // It never came back.
            let start = in_ns(last.time_us);
            let last_token = self.prefills.get(id).last().map_or(0, |phase| in_ns(phase.end_us));
            put((start.max(last_token), end, RequestEvent::Preempted(cause_at(end))));
        }
        let stalls = self.stalls.get(id).iter();
        stalls
            .map(|stall| (in_ns(stall.start_us), in_ns(stall.end_us), RequestEvent::Stall))
            .for_each(&mut put);
        let prefills = self.prefills.get(id).iter();
        prefills
            .map(|phase| (in_ns(phase.start_us), in_ns(phase.end_us), RequestEvent::Prefill(*phase)))
            .for_each(&mut put);
        if self.report.legs(id).is_some() || !self.restarts.get(id).is_empty() {
            events.retain(|&(start, stop, _)| begun <= start && (stop <= end || start < end));
        }
        events
    }

    /// It held memory and was in no iteration: up to when it was left out of one, the one under way had to end.
    fn stall(&self, id: usize, before: u64, start: u64, end: u64, parts: &mut Vec<TimePart>) {
        let recorded = self.deferrals.get(id).iter().rev();
        let deferral = recorded.map(|deferral| (in_ns(deferral.time_us), deferral.by_rule));
        let left_out = deferral.filter(|&(time, _)| time <= end).find(|&(time, _)| time >= before);
        let from = left_out.map_or(end, |(time, _)| time.clamp(start, end));
        parts.push(part(Cause::RunningIteration, start, from));
        if let Some((_, by_rule)) = left_out {
            let cause = if by_rule { Cause::InterleavingRule } else { Cause::TokenBudget };
            parts.push(part(cause, from, end));
        }
    }

    /// A part of its prompt is processed, for the first time or again.
    fn prefill(
        &self,
        (id, replica): (usize, ReplicaIndex),
        phase: &PrefillPhase,
        again: bool,
        (from, to): (u64, u64),
        parts: &mut Vec<TimePart>,
    ) {
        let mut left = to - from;
        let mut take = |cause: Cause, ns: f64| {
            let ns = (ns.max(0.0).round() as u64).min(left);
            left -= ns;
            parts.push(TimePart { cause, ns, start_ns: from, end_ns: to });
            ns
        };
        take(Cause::AdapterLoading, phase.load_us * 1e3);
        if again {
            take(Cause::Preemption, f64::INFINITY);
            return;
        }
        let cost = &*self.report.pool(replica).cost;
        if cost.stages() == 1 {
            let shares = self.iterations[usize::from(replica)].between(from, to);
            take(Cause::OtherRanks, shares.ranks);
            take(Cause::ExpertRearrangement, shares.moves);
        }
        let chunk = Chunk { kv_tokens: phase.from_token, tokens: phase.tokens };
        let own = AloneTimes::prefill_ns(cost, self.rank(id), chunk);
        take(Cause::OwnPrefill, own);
        take(Cause::SharedPrefill, f64::INFINITY);
    }

    /// Its output. `times` are those in which it decodes, or could.
    fn decode(&self, id: usize, times: &[(u64, u64)], parts: &mut Vec<TimePart>) {
        let shared: Vec<[u64; 6]> = times.iter().map(|&(from, to)| self.shared(id, from, to)).collect();
        let rest = |i: usize| times[i].1 - times[i].0 - shared[i].iter().sum::<u64>();
        let total: u64 = (0..times.len()).map(rest).sum();
        let own = self.own_decode_ns(id).min(total);
        for (i, &(start_ns, end_ns)) in times.iter().enumerate() {
            for (cause, ns) in SHARED.into_iter().zip(shared[i]) {
                parts.push(TimePart { cause, ns, start_ns, end_ns });
            }
            let rest = rest(i);
            let own = (u128::from(rest) * u128::from(own) / u128::from(total.max(1))) as u64;
            parts.push(TimePart { cause: Cause::OwnDecode, ns: own, start_ns, end_ns });
            parts.push(TimePart { cause: Cause::BatchSize, ns: rest - own, start_ns, end_ns });
        }
    }

    /// Loading, copying, prompts of others, waiting for other ranks and for experts, and time without an iteration, of a time in which it decodes.
    fn shared(&self, id: usize, from: u64, to: u64) -> [u64; 6] {
        let mut left = to - from;
        let mut take = |ns: f64| {
            let ns = (ns.max(0.0).round() as u64).min(left);
            left -= ns;
            ns
        };
        if self.cost(id).stages() > 1 {
            let own = self.shared.get(id).iter();
            let within =
                own.filter(|iteration| in_ns(iteration.start_us) >= from && in_ns(iteration.end_us) <= to);
            let sums = within.fold([0.0; 3], |sums, iteration| {
                [
                    sums[0] + iteration.load_us * 1e3,
                    sums[1] + iteration.copying_us * 1e3,
                    sums[2] + iteration.prefill_us * 1e3,
                ]
            });
            return [take(sums[0]), take(sums[1]), take(sums[2]), 0, 0, 0];
        }
        let shares = self.iterations[usize::from(self.report.replica(id))].between(from, to);
        let idle = (to - from).saturating_sub(shares.busy);
        [shares.load, shares.copying, shares.prefill, shares.ranks, shares.moves, idle as f64].map(take)
    }

    /// How long its output takes alone, nanoseconds. The first token comes with its prompt, and one with each recomputation.
    fn own_decode_ns(&self, id: usize) -> u64 {
        let again = self.away.get(id).len() as u32;
        let tokens = self.report.results[id].produced.saturating_sub(1 + again);
        // Alone it would accept as many drafts.
        let drafts = self.report.drafts(id);
        let steps = tokens.saturating_sub(drafts.further_tokens);
        let of_step = drafts.verified.checked_div(drafts.verifications).unwrap_or(0);
        let from = self.report.trace.input_tokens[id] + 1;
        let pool = self.report.replicas.get(self.report.replica(id).index()).map_or(0, |life| life.pool);
        let of_pool = (pool, self.cost(id));
        let ns = self.alone.borrow_mut().decode_ns(of_pool, (self.rank(id), of_step), from, tokens);
        let ns = if steps < tokens { ns * f64::from(steps) / f64::from(tokens) } else { ns };
        ns.round() as u64
    }

    /// How long iterations of its replica take.
    fn cost(&self, id: usize) -> &dyn BatchCost {
        &*self.report.pool(self.report.replica(id)).cost
    }

    /// The rank of its adapter, where adapters are computed.
    fn rank(&self, id: usize) -> Option<u32> {
        (self.computes_lora && self.report.trace.adapter[id] != BASE_MODEL)
            .then(|| self.report.trace.rank(id))
    }
}

/// A request's stay at one replica, nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct LegTime {
    pub(super) replica: ReplicaIndex,
    /// When it came there, and when its first iteration began; `None`: none did.
    pub(super) start_ns: u64,
    pub(super) scheduled_ns: Option<u64>,
    /// When its part was done there.
    pub(super) end_ns: u64,
}

/// A load of a request: when it was decided, began, ended, and when the scheduler knew.
#[derive(Debug, Clone, Copy)]
struct KvLoad {
    request: RequestId,
    decided_us: f64,
    times_us: [f64; 3],
    /// How long it takes alone from its start.
    alone_us: f64,
}

fn loads_of(report: &Report) -> impl Iterator<Item = KvLoad> + Clone {
    let loads = report.timeline.kv_copies.iter().filter(|copy| copy.is_load);
    loads.flat_map(|copy| {
        let times_us = [copy.start_us, copy.end_us, copy.known_us];
        copy.requests.iter().map(move |&request| KvLoad {
            request,
            decided_us: copy.decided_us,
            times_us,
            alone_us: copy.alone_us,
        })
    })
}

fn queue_of(
    report: &Report,
    phases: &RequestPhases,
    replica: ReplicaIndex,
    runs: &IterationTable,
) -> QueueTable {
    let rules = phases.budget_rules.iter().filter(|rule| rule.replica == replica);
    let rules: Vec<_> = rules.map(|rule| (in_ns(rule.time_us), rule.by_rule)).collect();
    let all = report.decisions.as_deref().unwrap_or_default().iter();
    let joins =
        all.filter(|decision| decision.replica() == Some(replica) && decision.verdict == Verdict::Admitted);
    QueueTable::of(report, replica, runs, &rules, joins.map(|decision| in_ns(decision.time_us)).collect())
}

/// When each request came to its end, nanoseconds; the end of the run for one that did not.
fn ends_of(report: &Report) -> Vec<u64> {
    let n = report.trace.len();
    let mut left = vec![f64::NAN; n];
    for &(time_us, id) in &report.trace.cancellations {
        let id = RequestId::new(id);
        if report.results[id].outcome == Outcome::Cancelled && left[id].is_nan() {
            left[id] = time_us;
        }
    }
    for drop in &report.timeline.departures {
        left[drop.id] = drop.time_us;
    }
    let end_us = report.end_us();
    let end_of = |id: usize| {
        let result = &report.results[id];
        let otherwise = match result.outcome {
            Outcome::Unfinished => end_us,
            // It was rejected at once when it came in.
            _ => report.gateway.as_ref().map_or(f64::NAN, |log| log.forwarded_us[id]),
        };
        let recorded = result.finish_us.unwrap_or(if left[id].is_nan() { otherwise } else { left[id] });
        in_ns(if recorded.is_nan() { 0.0 } else { recorded }).max(in_ns(report.trace.arrival_us[id]))
    };
    (0..n).map(end_of).collect()
}
