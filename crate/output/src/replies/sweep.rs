//! A sweep of the page: what its runs have in common, and what the finished ones say.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use servescope_lab::sweep::{AxisValues, Expected, Results, Sweep, SweepPoint};

use crate::views::Chart;
use crate::views::sweep::{SweepChart, SweepView, sweep_charts, sweep_maps};

/// A sweep as the terminal's `sweep` takes it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct SweepSpec {
    /// The settings that all runs have.
    #[cfg_attr(feature = "types", ts(type = "ScenarioPatch"))]
    pub scenario: Json,
    /// A text for each parameter: PATH=FROM:TO:N, PATH=FROM:TO:N:log or PATH=VALUE,VALUE.
    #[cfg_attr(feature = "types", ts(type = "readonly string[]"))]
    pub over: Vec<String>,
    /// Key paths of the summary.
    #[cfg_attr(feature = "types", ts(type = "readonly string[]"))]
    pub metrics: Vec<String>,
    /// Seeds of each point.
    pub seeds: usize,
}

/// What the runs of a sweep have in common. Run `index` is of point `index / seeds`; the last axis moves fastest.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct SweepPlan {
    /// Digest of everything that its results depend on, but for the simulator itself.
    pub sweep: String,
    /// How many there are.
    pub runs: usize,
    /// Seeds of each point.
    pub seeds: usize,
    /// The axes.
    pub over: Vec<AxisValues>,
    /// Key paths of the summary.
    pub metrics: Vec<String>,
    /// The bound that the SLO sets to each metric.
    pub bounds: Vec<Option<f64>>,
    /// Values of closed forms of queueing theory for each metric: null where none is known for it.
    pub expected: Vec<Option<Expected>>,
    /// The terminal's command for the same.
    pub command: String,
}

impl SweepPlan {
    /// Of a sweep that `command` runs in the terminal.
    pub fn of(sweep: &Sweep, command: String) -> Self {
        let shape = sweep.shape();
        let base = sweep.scenario(0);
        Self {
            sweep: shape.id.clone(),
            runs: shape.runs,
            seeds: sweep.seeds(),
            over: sweep.axis_values(),
            metrics: shape.metrics.clone(),
            bounds: sweep.metrics().iter().map(|metric| metric.slo(&base)).collect(),
            expected: sweep.expected(),
            command,
        }
    }
}

/// What the runs so far say.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct SweepResults {
    /// The points.
    pub points: Vec<SweepPoint>,
    /// What the charts show.
    pub views: Vec<SweepView>,
    /// A chart each.
    #[serde(skip_serializing)]
    pub charts: Vec<Chart>,
}

impl SweepResults {
    /// With curves, or heat maps over the first two parameters.
    pub fn of(results: &Results, bounds: &[Option<f64>], as_map: bool) -> Self {
        let drawn = if as_map { sweep_maps } else { sweep_charts }(results, bounds);
        Self {
            points: results.points(),
            views: drawn.iter().map(SweepChart::view).collect(),
            charts: drawn.into_iter().map(|one| one.chart).collect(),
        }
    }
}
