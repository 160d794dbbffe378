//! Stepping through the decisions of a run, forward and back: what a decision was taken on is found by simulating once more to
//! just before it, on from the step that was looked at last, and from the start where that one is not earlier.

use std::mem::discriminant;

use crate::replica_index::ReplicaIndex;
use servescope_workload::RequestId;

use crate::engine::Fleet;
use crate::engine::stepping::Looked;
pub use crate::engine::stepping::ReplicaTotals;
use crate::gateway::proxy::snapshot::GatewaySnapshot;
use crate::record::decisions::passes::{AdapterLoad, QueuePass};
use crate::record::decisions::{Decision, Verdict};
use crate::record::failures::ReplicaFailure;
use crate::record::scaling::ScalingDecision;
use crate::replica::snapshot::ReplicaSnapshot;
use crate::report::Report;

/// A place in a run at which a debugger stops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DebugStep {
    /// A decision of gateway or scheduler.
    Decision(Decision),
    /// Adapters were loaded.
    Load(AdapterLoad),
    /// An autoscaler decided.
    Scaling(ScalingDecision),
    /// A replica failed.
    Failure(ReplicaFailure),
}

impl DebugStep {
    /// When, microseconds.
    pub fn time_us(&self) -> f64 {
        match self {
            Self::Decision(decision) => decision.time_us,
            Self::Load(load) => load.time_us,
            Self::Scaling(decision) => decision.time_us,
            Self::Failure(failure) => failure.time_us,
        }
    }

    /// The replica; `None`: before one was chosen.
    pub fn replica(&self) -> Option<ReplicaIndex> {
        match self {
            Self::Decision(decision) => decision.replica(),
            Self::Load(load) => Some(load.replica),
            Self::Scaling(_) | Self::Failure(_) => None,
        }
    }
}

/// What kinds of steps a debugger goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DebugStepKind {
    /// A request is rejected, or waited too long.
    Rejection,
    /// A request is preempted or swapped out.
    Preemption,
    /// Adapters are loaded.
    Load,
    /// Drafts are dropped, or a request is padded beside requests with drafts.
    Drafts,
    /// An autoscaler changes the number of replicas.
    Scaling,
    /// A replica fails.
    Failure,
}

impl DebugStepKind {
    fn is(self, step: &DebugStep) -> bool {
        match (self, step) {
            (Self::Load, DebugStep::Load(_)) | (Self::Failure, DebugStep::Failure(_)) => true,
            (Self::Scaling, DebugStep::Scaling(decision)) => decision.is_action(),
            (Self::Rejection, DebugStep::Decision(decision)) => {
                matches!(decision.verdict, Verdict::Rejected(_) | Verdict::TimedOut)
            }
            (Self::Preemption, DebugStep::Decision(decision)) => {
                matches!(decision.verdict, Verdict::Preempted | Verdict::SwappedOut)
            }
            (Self::Drafts, DebugStep::Decision(decision)) => {
                matches!(decision.verdict, Verdict::DraftsDropped | Verdict::DraftsPadded)
            }
            _ => false,
        }
    }
}

/// What a step was taken on.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StepState {
    /// Of a replica: what it looked like when it began to look at its queue. Of a request that left the queue without a look at
    /// it, the queue just before.
    pub replica: Option<ReplicaSnapshot>,
    /// Decisions of that look before this one.
    pub earlier: Vec<Decision>,
    /// Of the gateway: what it looked like.
    pub gateway: Option<GatewaySnapshot>,
    /// Every replica, just before what happened at this time.
    pub totals: Vec<ReplicaTotals>,
}

/// A run under way that will be stepped through.
#[derive(Debug)]
pub struct Recording {
    start: Fleet,
    fleet: Fleet,
}

impl Recording {
    /// Of a fleet that has not begun.
    pub fn new(fleet: Fleet) -> Self {
        let fleet = fleet.with_decisions();
        Self { start: fleet.clone().without_phases(), fleet }
    }

    /// Handles what happens at, at most, `times` different times and says whether the end is reached.
    pub fn advance(&mut self, times: usize) -> bool {
        self.fleet.advance(times)
    }

    /// Share of the requests that have arrived so far.
    pub fn progress(&self) -> f64 {
        self.fleet.progress()
    }

    /// The finished run and its steps.
    pub fn finish(self) -> (Report, DebugSteps) {
        let sent = self.fleet.sent().map(<[RequestId]>::to_vec);
        let loads = self.fleet.adapter_loads().to_vec();
        let report = self.fleet.finish();
        let decisions = report.decisions.as_deref().unwrap_or_default();
        let steps = merged(decisions, &loads, &report);
        (report, DebugSteps { start: self.start, steps, sent, cursor: None })
    }
}

/// All steps in order of time: at equal times those before a replica was chosen, autoscalers and failures behind them, then replica by
/// replica, loads behind the decisions.
fn merged(decisions: &[Decision], loads: &[AdapterLoad], report: &Report) -> Vec<DebugStep> {
    let mut steps: Vec<DebugStep> = decisions.iter().copied().map(DebugStep::Decision).collect();
    steps.extend(loads.iter().copied().map(DebugStep::Load));
    steps.extend(report.scaling.iter().copied().map(DebugStep::Scaling));
    steps.extend(report.failures.iter().copied().map(DebugStep::Failure));
    let place = |step: &DebugStep| step.replica().map_or(0, |replica| u32::from(replica.get()) + 1);
    steps.sort_by(|a, b| a.time_us().total_cmp(&b.time_us()).then(place(a).cmp(&place(b))));
    steps
}

/// What happened at the time of the step that was looked at last, and the fleet after it.
#[derive(Debug, Clone)]
struct Cursor {
    time_us: f64,
    looked: Looked,
    totals: Vec<ReplicaTotals>,
    /// Each replica just before.
    before: Vec<ReplicaSnapshot>,
    fleet: Fleet,
}

/// The steps of a finished run.
#[derive(Debug, Clone)]
pub struct DebugSteps {
    /// The fleet before the run.
    start: Fleet,
    steps: Vec<DebugStep>,
    sent: Option<Vec<RequestId>>,
    cursor: Option<Box<Cursor>>,
}

impl DebugSteps {
    /// All steps, in order of time.
    pub fn all(&self) -> &[DebugStep] {
        &self.steps
    }

    /// The last step at or before a time; the first one where all are later.
    pub fn at(&self, time_us: f64) -> usize {
        self.steps.partition_point(|step| step.time_us() <= time_us).saturating_sub(1)
    }

    /// The first step about a request.
    pub fn of_request(&self, id: RequestId) -> Option<usize> {
        let is_of = |step: &DebugStep| matches!(step, DebugStep::Decision(decision) if decision.request() == Some(id));
        self.steps.iter().position(is_of)
    }

    /// The next step of a kind after `from`, and without `from` the first one.
    pub fn next(&self, kind: DebugStepKind, from: Option<usize>) -> Option<usize> {
        let first = from.map_or(0, |from| from + 1);
        (first..self.steps.len()).find(|&place| kind.is(&self.steps[place]))
    }

    /// The last step of a kind before `from`.
    pub fn previous(&self, kind: DebugStepKind, from: usize) -> Option<usize> {
        (0..from.min(self.steps.len())).rev().find(|&place| kind.is(&self.steps[place]))
    }

    /// What a step was taken on; `None`: there is no such step.
    pub fn state(&mut self, place: usize) -> Option<StepState> {
        let step = *self.steps.get(place)?;
        let time_us = step.time_us();
        let alike = |other: &DebugStep| other.time_us() == time_us && other.replica() == step.replica();
        // Which one of those that are equal in time and replica; each kind of step is counted by itself.
        let before = self.steps[..place].iter().rev().take_while(|other| alike(other));
        let nth = before.filter(|other| discriminant(*other) == discriminant(&step)).count();
        let count = nth + 1;
        self.look_at(time_us, &step, count);
        let cursor = self.cursor.as_deref()?;
        let mut state = match step {
            DebugStep::Decision(_) => cursor.of_decision(step.replica(), nth),
            DebugStep::Load(load) => cursor.of_load(load.replica, nth),
            DebugStep::Scaling(_) | DebugStep::Failure(_) => StepState::default(),
        };
        state.totals.clone_from(&cursor.totals);
        if let Some(sent) = &self.sent {
            rename(&mut state, sent);
        }
        Some(state)
    }

    /// Brings the cursor to a time.
    fn look_at(&mut self, time_us: f64, step: &DebugStep, count: usize) {
        if self.cursor.as_ref().is_some_and(|cursor| cursor.time_us == time_us && cursor.has(step, count)) {
            return;
        }
        let mut fleet = match self.cursor.take() {
            Some(cursor) if cursor.time_us < time_us => cursor.fleet,
            _ => self.start.clone(),
        };
        fleet.advance_to_before(time_us);
        fleet.drain_decisions();
        let totals = fleet.totals();
        let before =
            ReplicaIndex::first(totals.len()).map(|place| fleet.queue_snapshot(place, time_us)).collect();
        fleet.take_snapshots(true);
        let mut cursor = Cursor { time_us, looked: Looked::default(), totals, before, fleet };
        loop {
            let next_us = cursor.fleet.next_us();
            let is_over = next_us > time_us && cursor.has(step, count);
            if is_over || cursor.fleet.advance(1) {
                break;
            }
            let looked = cursor.fleet.drain_decisions();
            cursor.looked.add(looked);
            cursor.fleet.take_snapshots(true);
        }
        cursor.fleet.take_snapshots(false);
        self.cursor = Some(Box::new(cursor));
    }
}

impl Looked {
    fn add(&mut self, other: Self) {
        append(&mut self.of_engine, other.of_engine);
        append(&mut self.of_gateway, other.of_gateway);
    }
}

/// Appends decisions and their passes to others.
fn append<T>(own: &mut (Vec<Decision>, Vec<QueuePass<T>>), other: (Vec<Decision>, Vec<QueuePass<T>>)) {
    let by = own.0.len();
    own.0.extend(other.0);
    own.1.extend(other.1.into_iter().map(|pass| QueuePass {
        first: pass.first + by,
        end: pass.end + by,
        ..pass
    }));
}

impl Cursor {
    /// Whether what happened has this many decisions, or loads, like a step.
    fn has(&self, step: &DebugStep, count: usize) -> bool {
        match step {
            DebugStep::Load(load) => self.loads(load.replica).count() >= count,
            DebugStep::Decision(_) => self.decisions(step.replica()).count() >= count,
            DebugStep::Scaling(_) => self.fleet.scalings_at(self.time_us) >= count,
            DebugStep::Failure(_) => self.fleet.failures_at(self.time_us) >= count,
        }
    }

    /// Decisions of a replica, or before one was chosen, at the time: whether the gateway took them, and their places.
    fn decisions(&self, replica: Option<ReplicaIndex>) -> impl Iterator<Item = (bool, usize)> + '_ {
        let time_us = self.time_us;
        let of = move |is_gateways: bool, decisions: &'_ [Decision]| {
            let is = |decision: &Decision| decision.replica() == replica && decision.time_us == time_us;
            let places = decisions.iter().enumerate().filter(|(_, decision)| is(decision));
            places.map(|(place, _)| (is_gateways, place)).collect::<Vec<_>>()
        };
        of(false, &self.looked.of_engine.0).into_iter().chain(of(true, &self.looked.of_gateway.0))
    }

    /// Passes of a replica that loaded adapters.
    fn loads(&self, replica: ReplicaIndex) -> impl Iterator<Item = &QueuePass<ReplicaSnapshot>> {
        let is = move |pass: &&QueuePass<ReplicaSnapshot>| {
            pass.before.replica == replica && pass.before.time_us == self.time_us && pass.before.has_loaded
        };
        self.looked.of_engine.1.iter().filter(is)
    }

    fn of_decision(&self, replica: Option<ReplicaIndex>, nth: usize) -> StepState {
        let mut state = StepState::default();
        let Some((is_gateways, place)) = self.decisions(replica).nth(nth) else { return state };
        if is_gateways {
            let (decisions, passes) = &self.looked.of_gateway;
            // Several decisions may follow one look; the last look before the decision counts.
            let pass = passes.iter().rev().find(|pass| pass.first <= place);
            if let Some(pass) = pass {
                state.gateway = Some(pass.before.clone());
                state.earlier = decisions[pass.first..place].to_vec();
            }
            return state;
        }
        let (decisions, passes) = &self.looked.of_engine;
        let of_pass = |pass: &&QueuePass<ReplicaSnapshot>| pass.first <= place && place < pass.end;
        if let Some(pass) = passes.iter().find(of_pass) {
            state.replica = Some(pass.before.clone());
            state.earlier = decisions[pass.first..place].to_vec();
        } else if let Some(replica) = replica {
            state.replica = self.before.get(replica.index()).cloned();
        }
        state
    }

    fn of_load(&self, replica: ReplicaIndex, nth: usize) -> StepState {
        let pass = self.loads(replica).nth(nth);
        let earlier =
            pass.map_or_else(Vec::new, |pass| self.looked.of_engine.0[pass.first..pass.end].to_vec());
        let replica = pass.map(|pass| pass.before.clone());
        StepState { replica, earlier, gateway: None, totals: Vec::new() }
    }
}

/// Requests are renamed to their places among those that were sent.
fn rename(state: &mut StepState, sent: &[RequestId]) {
    let most = sent.iter().max().map_or(0, |&id| id.index() + 1);
    let mut places = vec![RequestId::new(u32::MAX); most];
    RequestId::first(sent.len()).zip(sent).for_each(|(place, &id)| places[id] = place);
    let rename = |id: &mut RequestId| *id = places.get(id.index()).copied().unwrap_or(*id);
    if let Some(replica) = &mut state.replica {
        replica.waiting.iter_mut().for_each(|entry| rename(&mut entry.id));
        replica.holders.iter_mut().for_each(|holder| rename(&mut holder.id));
        replica.peak.iter_mut().flatten().filter_map(|row| row.id.as_mut()).for_each(rename);
    }
    if let Some(gateway) = &mut state.gateway {
        gateway.waiting.iter_mut().for_each(|entry| rename(&mut entry.id));
    }
    state.earlier.iter_mut().for_each(|decision| decision.rename(&places));
}
