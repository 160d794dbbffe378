//! What a rate must meet.

use servescope_settings::parameters::Id;
use servescope_settings::scenario::Scenario;

/// The times that a goal can bound, in the order of [`Goal::limits_s`].
pub const METRICS: [&str; 5] = ["ttft_s", "tbt_s", "e2e_s", "queue_s", "tpot_s"];

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
    /// The goal of a scenario. Where the search has no bound of its own on TTFT, TBT or TPOT, that of the SLO is its
    /// bound.
    pub fn of(scenario: &Scenario) -> Self {
        let positive = |id: Id| Some(scenario.number(id)).filter(|&s| s > 0.0);
        let limit = |own: Id, slo: Option<Id>| {
            positive(own).or_else(|| slo.and_then(positive)).unwrap_or(f64::INFINITY)
        };
        Self {
            quantiles: Self::quantiles(scenario),
            limits_s: [
                limit(Id::CapacityTtft, Some(Id::SloTtft)),
                limit(Id::CapacityTbt, Some(Id::SloTbt)),
                limit(Id::CapacityE2e, None),
                limit(Id::CapacityQueue, None),
                limit(Id::CapacityTpot, Some(Id::SloTpot)),
            ],
            tolerance: scenario.number(Id::CapacityTolerance),
        }
    }

    /// The quantile of each of [`METRICS`] that a scenario asks about.
    pub fn quantiles(scenario: &Scenario) -> [f64; METRICS.len()] {
        let all = scenario.number(Id::CapacityQuantile);
        [all, all, all, scenario.number(Id::CapacityQueueQuantile), all]
    }

    /// The share of what is offered that must be served at least.
    pub fn served(&self) -> f64 {
        self.quantiles[0]
    }
}
