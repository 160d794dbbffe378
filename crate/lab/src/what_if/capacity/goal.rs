//! What a rate must meet.

use crate::failure::Failure;
use crate::parameters::Id;
use crate::scenario::Scenario;

/// The times that a goal can bound, in the order of [`Goal::limits_s`].
pub const METRICS: [&str; 4] = ["ttft_s", "tbt_s", "e2e_s", "queue_s"];

/// Bounds on quantiles of some times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// The quantile of each of [`METRICS`], above 0 and below 1.
    pub quantiles: [f64; METRICS.len()],
    /// The bounds in seconds, in the order of [`METRICS`]; infinite where there is none.
    pub limits_s: [f64; METRICS.len()],
    /// The search ends when the lowest rate that fails is at most this share above the highest that passes.
    pub tolerance: f64,
}

impl Goal {
    /// The goal of a scenario.
    ///
    /// # Errors
    /// That nothing is bounded.
    pub fn of(scenario: &Scenario) -> Result<Self, Failure> {
        let limit = |id: Id| Some(scenario.number(id)).filter(|&s| s > 0.0).unwrap_or(f64::INFINITY);
        let limits_s = [Id::CapacityTtft, Id::CapacityTbt, Id::CapacityE2e, Id::CapacityQueue].map(limit);
        if limits_s.iter().all(|s| s.is_infinite()) {
            let path = Id::CapacityTtft.row().id;
            let message = format!("{path}: one of the bounds of the capacity search must be above 0");
            return Err(Failure::new("no_goal", path, message));
        }
        Ok(Self {
            quantiles: Self::quantiles(scenario),
            limits_s,
            tolerance: scenario.number(Id::CapacityTolerance),
        })
    }

    /// The quantile of each of [`METRICS`] that a scenario asks about.
    pub fn quantiles(scenario: &Scenario) -> [f64; METRICS.len()] {
        let all = scenario.number(Id::CapacityQuantile);
        [all, all, all, scenario.number(Id::CapacityQueueQuantile)]
    }

    /// The share of what is offered that must be served at least.
    pub fn served(&self) -> f64 {
        self.quantiles[0]
    }
}
