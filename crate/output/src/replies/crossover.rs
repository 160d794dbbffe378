//! Where the better of two settings changes, found in steps: the page simulates what a step needs.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use servescope_lab::compare::interval::Paired;
use servescope_lab::crossover::CrossoverFound;
use servescope_settings::scenario::ScenarioPatch;

use crate::views::Chart;

/// What is sought, as the terminal's `compare --crossover` takes it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct CrossoverSpec {
    /// The settings of A.
    #[cfg_attr(feature = "types", ts(type = "ScenarioPatch"))]
    pub a: Json,
    /// The settings of B.
    #[cfg_attr(feature = "types", ts(type = "ScenarioPatch"))]
    pub b: Json,
    /// The parameter and its range: PATH=FROM:TO, or PATH=FROM:TO:log.
    pub over: String,
    /// Key path of the summary.
    pub metric: String,
    /// Seeds of each value.
    pub seeds: usize,
}

/// The metric at a value of the parameter, by seed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct CrossoverKnown {
    /// The value.
    pub value: f64,
    /// The metric in A.
    pub a: Vec<Option<f64>>,
    /// The metric in B.
    pub b: Vec<Option<f64>>,
}

impl CrossoverKnown {
    /// The pairs of the seeds that have the metric in both.
    pub fn paired(&self) -> Option<Paired> {
        let pairs: Vec<(f64, f64)> =
            self.a.iter().zip(&self.b).filter_map(|(a, b)| Some(((*a)?, (*b)?))).collect();
        Paired::of(&pairs)
    }
}

/// Both settings with the parameter at a value.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct CrossoverNeed {
    /// The value.
    pub value: f64,
    /// The settings of A.
    pub a: ScenarioPatch,
    /// The settings of B.
    pub b: ScenarioPatch,
}

/// What is to be simulated next, or what was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct CrossoverStep {
    /// The seeds of every run.
    pub seeds: Vec<u64>,
    /// Empty where the search is over.
    pub needs: Vec<CrossoverNeed>,
    /// What was found, once the search is over.
    pub found: Option<CrossoverFound>,
    /// The terminal's command for the same.
    pub command: String,
    /// The metric over the parameter, once the search is over.
    #[serde(skip_serializing)]
    pub charts: Vec<Chart>,
}
