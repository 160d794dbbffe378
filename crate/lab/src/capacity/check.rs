//! What the ranking answers for the scenario's own load, simulated: as many replicas as it says, at that load. Then what
//! limits the deployment: the same at the rate that failed, with where the time of its requests goes.

use serde::Serialize;
use servescope_engine::Report;
use servescope_engine::explain::cause::{ByCause, Cause};
use servescope_engine::explain::request_time::WhyTables;
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::parameters::{Id, Value};
use servescope_settings::scenario::Scenario;
use servescope_traces::loaded_trace::LoadedTrace;

use super::goal::{Goal, METRICS};
use super::probe::{Miss, Probe};
use super::search::{LONGEST_S, at_rate};
use crate::run::{Run, SimulationHandle};

/// Best configurations that are simulated at the load.
pub const CHECKED: u32 = 3;

/// Requests of a check at most.
const MOST_REQUESTS: f64 = 200_000.0;

/// Most requests of the run that finds what limits a deployment: its decisions are kept.
const LIMITED_REQUESTS: f64 = 5_000.0;

/// What a check showed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct Checked {
    /// Replicas that were simulated.
    pub replicas: u32,
    /// The load that the run had, requests a second.
    pub rate_rps: f64,
    /// Requests of the run.
    pub requests: u64,
    /// The goal's quantile of each of [`METRICS`], seconds; missing where it is infinite or there is no sample.
    pub quantile_s: [Option<f64>; METRICS.len()],
    /// The share of all requests that were completed within every bound of the SLO.
    pub in_slo: f64,
    /// The digest of the run, hexadecimal.
    pub digest: String,
    /// How long its traffic was asked to go on, seconds: with it the same run can be made again.
    pub duration_s: f64,
    /// Why the goal is not met; none where it is.
    pub miss: Option<Miss>,
    /// What limits the deployment at the rate that the search saw fail; none where no rate failed, or nothing was delayed.
    pub limit: Option<Limit>,
}

/// The cause with the largest part in the delays of requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "CapacityLimit"))]
pub struct Limit {
    /// Its name ([`Cause::name`]).
    pub cause: &'static str,
    /// Its part of all delays.
    pub share: f64,
}

impl Limit {
    /// What delayed the requests of a run most, whose decisions were kept.
    fn of(report: &Report) -> Option<Self> {
        let tables = WhyTables::of(report)?;
        let mut sums = ByCause::default();
        for id in 0..report.trace.len() {
            sums.iter_mut().zip(tables.request(id).by_cause()).for_each(|(sum, ns)| *sum += ns);
        }
        let delays = || Cause::ALL.into_iter().filter(|cause| cause.is_delay());
        let total: u64 = delays().map(|cause| sums[cause as usize]).sum();
        let most = delays().rev().max_by_key(|&cause| sums[cause as usize])?;
        (total > 0).then(|| Self { cause: most.name(), share: sums[most as usize] as f64 / total as f64 })
    }
}

impl Checked {
    /// Whether the goal holds, in English.
    pub fn describe(&self) -> String {
        match self.miss {
            None => format!("holds with {}", self.replicas),
            Some(miss) => format!("fails with {}: {miss}", self.replicas),
        }
    }
}

/// A check under way.
#[derive(Debug)]
pub struct CapacityCheck {
    replicas: u32,
    asked_rps: f64,
    goal: Goal,
    running: Option<SimulationHandle>,
    checked: Option<Checked>,
    /// The run that finds what limits the deployment: started once the load was simulated.
    limited: Option<SimulationHandle>,
}

/// The parts of the progress that the load takes.
const OF_LOAD: f64 = 0.8;

impl CapacityCheck {
    /// A check of a scenario on `replicas` replicas, at its own load. The run has about as many requests as the search
    /// needed, `requests`, where its traffic can go on so long. `missed_rps` is the lowest rate that the search saw fail.
    ///
    /// # Errors
    /// Every [`Diagnostic`] of the scenario, or that this many replicas cannot be simulated.
    pub fn new(
        scenario: &Scenario,
        loaded: Option<&LoadedTrace>,
        replicas: u32,
        requests: u64,
        missed_rps: Option<f64>,
    ) -> Result<Self, Vec<Diagnostic>> {
        let limited = missed_rps.and_then(|missed_rps| limited(scenario, loaded, missed_rps).ok());
        let scenario = checked_scenario(scenario, loaded, replicas, requests)?;
        let running = SimulationHandle::begin(&scenario, loaded)?;
        let (asked_rps, goal) = (scenario.number(Id::Rate), Goal::of(&scenario));
        Ok(Self { replicas, asked_rps, goal, running: Some(running), checked: None, limited })
    }

    /// Takes at most `steps` steps and gives the share that is done; 1 is the end.
    pub fn advance(&mut self, steps: usize) -> f64 {
        if let Some(running) = &mut self.running {
            let share = running.advance(steps);
            if share < 1.0 {
                return OF_LOAD * share;
            }
            if let Some(running) = self.running.take() {
                self.checked = Some(self.judge(&running.finish()));
            }
        }
        match &mut self.limited {
            None => 1.0,
            Some(limited) => OF_LOAD + (1.0 - OF_LOAD) * limited.advance(steps),
        }
    }

    fn judge(&self, run: &Run) -> Checked {
        let probe = Probe::of(self.asked_rps, run, &self.goal);
        let (report, slo) = (&run.report, run.scenario.slo());
        let met = (0..report.trace.len()).filter(|&id| slo.is_met(report, id)).count();
        Checked {
            replicas: self.replicas,
            rate_rps: probe.rate_rps,
            requests: probe.measures.requests,
            quantile_s: probe.measures.quantile_s,
            in_slo: met as f64 / report.trace.len().max(1) as f64,
            digest: format!("{:016x}", report.digest()),
            duration_s: probe.duration_s,
            miss: probe.miss,
            limit: None,
        }
    }

    /// What the finished runs showed.
    pub fn finish(mut self) -> Checked {
        while self.advance(usize::MAX) < 1.0 {}
        let limit = self.limited.and_then(|running| Limit::of(&running.finish().report));
        let checked = self.checked.expect("a check at its end has simulated the load");
        Checked { limit, ..checked }
    }
}

/// The scenario that a check simulates: this many replicas, for as long as this many requests take to come.
///
/// # Errors
/// That this many replicas cannot be simulated.
fn checked_scenario(
    scenario: &Scenario,
    loaded: Option<&LoadedTrace>,
    replicas: u32,
    requests: u64,
) -> Result<Scenario, Vec<Diagnostic>> {
    let one = |error| vec![error];
    let mut scenario = scenario.clone();
    scenario.plan_replicas(replicas).map_err(one)?;
    let can_go_on = loaded.is_none()
        && scenario.changes_with_time().is_none()
        && scenario.number(Id::CapacityMostRequests) > 0.0;
    if can_go_on {
        let wanted_s = (requests as f64).min(MOST_REQUESTS) / scenario.number(Id::Rate);
        // Whole seconds: the run can be made again from what is shown.
        let duration_s = scenario.number(Id::Duration).max(wanted_s.min(LONGEST_S).ceil());
        scenario.set(Id::Duration, Value::Number(duration_s)).map_err(one)?;
    }
    Ok(scenario)
}

/// The deployment that was searched, at the rate that failed.
fn limited(
    scenario: &Scenario,
    loaded: Option<&LoadedTrace>,
    missed_rps: f64,
) -> Result<SimulationHandle, Vec<Diagnostic>> {
    let duration_s = scenario.number(Id::Duration).min(LIMITED_REQUESTS / missed_rps);
    let scenario = at_rate(scenario, loaded, missed_rps, duration_s)?;
    Ok(SimulationHandle::begin(&scenario, loaded)?.with_decisions())
}
