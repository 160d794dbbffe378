//! Which limit of the scheduler keeps the capacity down: a rate above the one that fails is simulated with each limit raised
//! alone.

use std::collections::BTreeMap;

use serde::Serialize;
use servescope_engine::{ReplicaIndex, Report};
use servescope_settings::parameters::{Id, Value};
use servescope_settings::scenario::Scenario;
use servescope_traces::loaded_trace::LoadedTrace;

use super::goal::Goal;
use super::probe::Probe;
use crate::run::SimulationHandle;

/// Limits of a scheduler that a server starts with, in the order in which they are tried.
const LIMITS: [Id; 3] = [Id::MaxRunning, Id::BatchMaxTokens, Id::MaxLoras];

/// By this factor a limit is raised.
const RAISED_BY: f64 = 2.0;

/// By this factor the rate that fails is raised: less could be chance.
pub(super) const MORE: f64 = 1.1;

/// A limit of the scheduler without which the service serves clearly more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "CapacityBinding"))]
pub struct BindingLimit {
    /// The path of the parameter.
    pub parameter: &'static str,
    /// Its value.
    pub value: f64,
    /// A value with which it serves more.
    pub raised: f64,
    /// The rate that then meets the goal, requests a second; the rate that fails is lower.
    pub rate_rps: f64,
}

impl std::fmt::Display for BindingLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { parameter, value, raised, rate_rps } = self;
        write!(f, "{parameter} {value} (with {raised}, {rate_rps:.3} requests/s hold)")
    }
}

/// The runs with raised limits, one after the other.
#[derive(Debug)]
pub(super) struct LimitSearch {
    /// At the raised rate.
    scenario: Scenario,
    loaded: Option<LoadedTrace>,
    asked_rps: f64,
    goal: Goal,
    left: Vec<BindingLimit>,
    running: Option<(BindingLimit, SimulationHandle)>,
    found: Option<BindingLimit>,
}

impl LimitSearch {
    /// The limits that act and that the run which failed has reached. `most_running` of its requests ran together in a replica.
    pub(super) fn new(
        scenario: Scenario,
        loaded: Option<LoadedTrace>,
        asked_rps: f64,
        goal: Goal,
        most_running: u32,
    ) -> Self {
        let acts = |id: &Id| {
            let is_reached = *id != Id::MaxRunning || f64::from(most_running) >= scenario.number(*id);
            scenario.is_active(*id) && is_reached
        };
        let limit = |id: Id| {
            let value = scenario.number(id);
            BindingLimit { parameter: id.row().id, value, raised: RAISED_BY * value, rate_rps: asked_rps }
        };
        let left = LIMITS.into_iter().filter(acts).rev().map(limit).collect();
        Self { scenario, loaded, asked_rps, goal, left, running: None, found: None }
    }

    /// Takes at most `steps` steps; whether more are to be taken.
    pub(super) fn advance(&mut self, steps: usize) -> bool {
        let Some((limit, mut running)) = self.running.take().or_else(|| self.next_run()) else {
            return false;
        };
        if running.advance(steps) < 1.0 {
            self.running = Some((limit, running));
            return true;
        }
        let probe = Probe::of(self.asked_rps, &running.finish(), &self.goal);
        if probe.miss.is_none() {
            self.found = Some(BindingLimit { rate_rps: probe.rate_rps, ..limit });
            self.left.clear();
        }
        !self.left.is_empty()
    }

    /// The next limit that can be raised, and its run.
    fn next_run(&mut self) -> Option<(BindingLimit, SimulationHandle)> {
        while let Some(limit) = self.left.pop() {
            let mut raised = self.scenario.clone();
            let is_set = LIMITS
                .into_iter()
                .find(|id| id.row().id == limit.parameter)
                .is_some_and(|id| raised.set(id, Value::Number(limit.raised)).is_ok());
            if let Some(Ok(running)) = is_set.then(|| SimulationHandle::begin(&raised, self.loaded.as_ref()))
            {
                return Some((limit, running));
            }
        }
        None
    }

    pub(super) fn found(&self) -> Option<BindingLimit> {
        self.found
    }
}

/// Most requests of one replica that were between their first iteration and their end at once.
pub(super) fn most_running(report: &Report) -> u32 {
    let mut changes: BTreeMap<ReplicaIndex, Vec<(f64, i32)>> = BTreeMap::new();
    for (id, result) in report.results.iter().enumerate() {
        if let Some((begin, end)) = report.scheduled_us(id).zip(result.finish_us) {
            let of_replica = changes.entry(report.replica(id)).or_default();
            of_replica.extend([(begin, 1), (end, -1)]);
        }
    }
    let most = |mut times: Vec<(f64, i32)>| {
        times.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let mut running = 0;
        times
            .iter()
            .map(|(_, change)| {
                running += change;
                running
            })
            .max()
    };
    changes.into_values().filter_map(most).max().map_or(0, i32::unsigned_abs)
}
