//! What the ranking answers for the scenario's own load, simulated: as many replicas as it says, at that load.

use serde::Serialize;

use super::goal::{Goal, METRICS};
use super::probe::{Miss, Probe};
use super::search::longest_s;
use crate::failure::Failure;
use crate::parameters::{Id, Value};
use crate::run::{LoadedTrace, Running};
use crate::scenario::Scenario;

/// Best configurations that are checked: a check costs about as much as the last run of a search.
pub const CHECKED: u32 = 3;

/// Requests of a check at most.
const MOST_REQUESTS: f64 = 200_000.0;

/// What a check showed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "CapacityChecked"))]
pub struct Checked {
    /// Replicas that were simulated.
    pub replicas: u32,
    /// The load that the run had, requests a second.
    pub rate_rps: f64,
    /// Requests of the run.
    pub requests: u64,
    /// The goal's quantile of each of [`METRICS`], seconds; missing where it is infinite or there is no sample.
    pub quantile_s: [Option<f64>; METRICS.len()],
    /// Why the goal is not met; none where it is.
    pub miss: Option<Miss>,
}

/// A check under way.
#[derive(Debug)]
pub struct Check {
    replicas: u32,
    asked_rps: f64,
    goal: Goal,
    running: Running,
}

impl Check {
    /// A check of a scenario on `replicas` replicas, at its own load. The run has about as many requests as the search
    /// needed, `requests`, where its traffic can go on so long.
    ///
    /// # Errors
    /// Every [`Failure`] of the scenario, or that so many replicas cannot be simulated.
    pub fn new(
        scenario: &Scenario,
        loaded: Option<&LoadedTrace>,
        replicas: u32,
        requests: u64,
    ) -> Result<Self, Vec<Failure>> {
        let one = |failure| vec![failure];
        let goal = Goal::of(scenario).map_err(one)?;
        let mut scenario = scenario.clone();
        let asked_rps = scenario.number(Id::Rate);
        scenario.set(Id::Replicas, Value::Number(replicas.into())).map_err(one)?;
        let can_go_on = loaded.is_none()
            && scenario.changes_with_time().is_none()
            && scenario.number(Id::CapacityMostRequests) > 0.0;
        if can_go_on {
            let wanted_s = (requests as f64).min(MOST_REQUESTS) / asked_rps;
            let duration_s = scenario.number(Id::Duration).max(wanted_s.min(longest_s()));
            scenario.set(Id::Duration, Value::Number(duration_s)).map_err(one)?;
        }
        let running = Running::begin(&scenario, loaded)?;
        Ok(Self { replicas, asked_rps, goal, running })
    }

    /// Takes at most `steps` steps and gives the share that is done; 1 is the end.
    pub fn advance(&mut self, steps: usize) -> f64 {
        self.running.advance(steps)
    }

    /// What the finished run showed.
    pub fn finish(self) -> Checked {
        let probe = Probe::of(self.asked_rps, &self.running.finish(), &self.goal);
        Checked {
            replicas: self.replicas,
            rate_rps: probe.rate_rps,
            requests: probe.measures.requests,
            quantile_s: probe.measures.quantile_s,
            miss: probe.miss,
        }
    }
}
