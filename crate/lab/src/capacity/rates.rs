//! Two rates that a setting can take: up to which the SLO holds, and what the replicas serve when they are saturated.

use serde::Serialize;
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::parameters::{Id, Value};
use servescope_settings::scenario::Scenario;
use servescope_traces::loaded_trace::LoadedTrace;

use super::search::Search;

/// The quick search ends at this tolerance.
const TOLERANCE: f64 = 0.05;

/// It makes no run longer than this many requests, if the duration is not.
const MOST_REQUESTS: f64 = 20_000.0;

/// The rates that a setting can take, requests a second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CapacityRates {
    /// The SLO capacity: the highest rate that meets the goal of the capacity search; missing where none does.
    pub slo_rps: Option<f64>,
    /// What the replicas serve when they are saturated; missing where no request reaches them.
    pub saturated_rps: Option<f64>,
}

/// The capacity search of a scenario with a wider tolerance and shorter runs, where its own are not wider or shorter: it
/// finds the SLO capacity in a few runs.
///
/// # Errors
/// Those of [`Search::new`].
pub fn quick_search(scenario: &Scenario, loaded: Option<LoadedTrace>) -> Result<Search, Vec<Diagnostic>> {
    let mut quick = scenario.clone();
    let tolerance = scenario.number(Id::CapacityTolerance).max(TOLERANCE);
    let most = scenario.number(Id::CapacityMostRequests).min(MOST_REQUESTS);
    for (id, value) in [(Id::CapacityTolerance, tolerance), (Id::CapacityMostRequests, most)] {
        quick.set(id, Value::Number(value)).map_err(|error| vec![error])?;
    }
    Search::new(&quick, loaded)
}
