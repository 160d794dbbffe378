//! The load of a setting as a share of its capacity: what an answer shows in place of how busy the GPU is, which is near 1
//! at a third of the capacity already, for one request that decodes keeps a GPU busy.

use serde::Serialize;

use super::search::{Capacity, Search};
use crate::diagnostic::Diagnostic;
use crate::parameters::{Id, Value};
use crate::run::LoadedTrace;
use crate::scenario::Scenario;

/// The quick search ends at this tolerance.
const TOLERANCE: f64 = 0.05;

/// It makes no run longer than this many requests, if the duration is not.
const MOST_REQUESTS: f64 = 20_000.0;

/// The load of a setting beside its capacity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "CapacityLoad"))]
pub struct Load {
    /// The scenario's own load, requests a second.
    pub load_rps: f64,
    /// The capacity of these settings by the goal of the capacity search, requests a second.
    pub capacity_rps: f64,
    /// The first over the second; above 1 more arrives than can be served.
    pub share: f64,
}

impl Load {
    /// What a search says of the load; none where no rate meets its goal.
    pub fn of(found: &Capacity) -> Option<Self> {
        let capacity_rps = found.rate_rps?;
        Some(Self { load_rps: found.load_rps, capacity_rps, share: found.load_rps / capacity_rps })
    }
}

/// The capacity search of a scenario with a wider tolerance and shorter runs, where its own are not wider or shorter: it
/// finds the load in a few runs.
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
