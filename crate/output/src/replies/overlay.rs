//! A measured run over its simulation.

use serde::Serialize;
use servescope_evidence::overlay::{
    CostFit, LengthBucket, MeasuredRun, OverlaidMetric, Overlay, OverlayCause, OverlayFit, Taken,
    TakenSetting, fittable, overlaid_metrics,
};
use servescope_settings::ordered::Ordered;
use servescope_settings::parameters::{Id, Value};
use servescope_settings::scenario::{Scenario, ScenarioPatch};

use crate::views::Chart;
use crate::views::overlay::overlay_charts;

/// A measured run over its simulation, with the number of requests in their place.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "OverlayReply"))]
pub struct OverlayReply {
    /// What wrote the file.
    pub tool: &'static str,
    /// Requests in flight, of a closed loop.
    pub in_flight: Option<u32>,
    /// Requests in both runs.
    pub requests: usize,
    /// Requests of the measured run that did not end in the simulated one.
    pub unfinished: usize,
    /// What a reader should know, in English.
    pub notes: Vec<String>,
    /// Settings that were taken from the file.
    pub taken_over: Vec<TakenSetting>,
    /// The settings of the simulation, with the constants as fitted. Traffic that is generated with them has adapters where the
    /// measured requests have.
    pub scenario: ScenarioPatch,
    /// TTFT, TPOT, ITL, E2E, and both throughputs.
    pub metrics: Ordered<OverlaidMetric>,
    /// By prompt length, shortest first.
    pub by_input_length: Vec<LengthBucket>,
    /// Where the difference comes from; nothing while something is missing.
    pub cause: Option<OverlayCause>,
    /// Paths of what neither the file nor the user says: the GPU, the model.
    pub missing: Vec<&'static str>,
    /// Whether single requests of both runs belong together.
    pub is_matched: bool,
    /// The runs of the file, where there are several, and which of them this is, from 1 on.
    pub benchmarks: Vec<String>,
    /// See `benchmarks`.
    pub benchmark: usize,
    /// Paths of the constants that can be fitted; none where the file has no times to fit to.
    pub fittable: Vec<&'static str>,
    /// The fit, where one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "types", ts(optional))]
    pub fit: Option<OverlayFit>,
    /// Both runs.
    #[serde(skip_serializing)]
    pub charts: Vec<Chart>,
}

impl OverlayReply {
    /// Of an overlay of a measured run, whose settings `taken` were taken from the file.
    pub fn of(
        measured: &MeasuredRun,
        scenario: &Scenario,
        taken: Taken,
        notes: Vec<String>,
        overlay: &Overlay,
        fit: Option<&CostFit>,
    ) -> Self {
        Self {
            tool: measured.tool.name(),
            in_flight: measured.sending.in_flight(),
            requests: overlay.pairs.len(),
            unfinished: overlay.unfinished,
            notes,
            cause: taken.missing.is_empty().then(|| overlay.cause.clone()),
            taken_over: taken.settings,
            missing: taken.missing,
            is_matched: overlay.is_matched,
            benchmarks: measured.benchmarks.clone(),
            benchmark: measured.benchmark,
            fittable: if overlay.is_matched { fittable(scenario) } else { Vec::new() },
            scenario: as_generated(measured, fit.map_or(scenario, |fit| &fit.scenario)).patch(),
            metrics: overlaid_metrics(&overlay.metrics),
            by_input_length: overlay.by_length.clone(),
            fit: fit.map(OverlayFit::of),
            charts: overlay_charts(overlay),
        }
    }
}

/// The settings without the measured requests: what is generated in their place has no adapters where they have none.
fn as_generated(measured: &MeasuredRun, scenario: &Scenario) -> Scenario {
    let mut scenario = scenario.clone();
    if measured.trace().adapter_count() == 0 {
        // Within its bounds.
        let _ = scenario.set(Id::Adapters, Value::Number(0.0));
    }
    scenario
}
