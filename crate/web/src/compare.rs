//! A comparison in a thread of the page: runs of one seed, and what all seeds together say.

use servescope_lab::compare::Comparison;
use servescope_lab::metric::{Measured, Members, Metric};
use servescope_lab::replications::{seeds, with_seed};
use servescope_lab::run::{Run, SimulationHandle};
use servescope_output::replies::ComparedPair;
use servescope_settings::diagnostic::Diagnostic;
use wasm_bindgen::prelude::*;

use crate::inputs::{Inputs, takes_inputs};
use servescope_boundary::convert::{object, scenario_of, to_js_error, with_charts};
use servescope_boundary::types::{
    JsCallErrors, JsComparedPair, JsComparison, JsMeasured, JsMeasuredRuns, JsPatch,
};

/// Router steps of one slice: a few milliseconds.
pub(crate) const SLICE_STEPS: usize = 20_000;

/// Simulates a setting, or two with the same seed.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Comparer {
    pub(crate) inputs: Inputs,
    running: Vec<SimulationHandle>,
    pub(crate) runs: Vec<Run>,
}

takes_inputs!(Comparer);

#[wasm_bindgen]
impl Comparer {
    /// One that generates its traces.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stands ready to simulate a scenario with a seed.
    ///
    /// # Errors
    /// What is wrong with the scenario.
    pub fn begin(&mut self, scenario: &JsPatch, seed: f64) -> Result<(), JsCallErrors> {
        (self.running, self.runs) = (Vec::new(), Vec::new());
        self.running.push(self.ready(scenario, seed)?);
        Ok(())
    }

    /// Stands ready to simulate A and B with a seed; both keep their decisions.
    ///
    /// # Errors
    /// What is wrong with one of them.
    pub fn begin_pair(&mut self, a: &JsPatch, b: &JsPatch, seed: f64) -> Result<(), JsCallErrors> {
        (self.running, self.runs) = (Vec::new(), Vec::new());
        for side in [b, a] {
            let running = self.ready(side, seed)?.with_decisions();
            self.running.push(running);
        }
        Ok(())
    }

    /// Simulates for some milliseconds and gives the share that is done; 1 is the end.
    pub fn advance(&mut self) -> f64 {
        let all = (self.running.len() + self.runs.len()) as f64;
        let Some(running) = self.running.last_mut() else { return 1.0 };
        let share = running.advance(SLICE_STEPS);
        if share >= 1.0 {
            self.runs.extend(self.running.pop().map(SimulationHandle::finish));
            return self.runs.len() as f64 / all;
        }
        (self.runs.len() as f64 + share) / all
    }

    /// The usual metrics of the finished run.
    ///
    /// # Errors
    /// When there is none.
    pub fn finish(&mut self) -> Result<JsMeasured, JsCallErrors> {
        let run = self.runs.pop().ok_or_else(nothing_ran)?;
        let usual = Metric::usual_of(Members::of(&run.scenario, self.inputs.trace()));
        Ok(object(&Measured::of(&run, &usual)).unchecked_into())
    }

    /// Numbers of the finished run's summary, by key path: of a sweep.
    ///
    /// # Errors
    /// When there is no run, or no such number.
    pub fn finish_metrics(&mut self, paths: Vec<String>) -> Result<JsMeasured, JsCallErrors> {
        let run = self.runs.pop().ok_or_else(nothing_ran)?;
        let metrics = Metric::parse_all(paths.iter().map(String::as_str));
        let metrics = metrics.map_err(|error| to_js_error(vec![error]))?;
        Ok(object(&Measured::of(&run, &metrics)).unchecked_into())
    }

    /// What the two finished runs have and how they differ, request by request.
    ///
    /// # Errors
    /// When there are none.
    pub fn finish_pair(&mut self) -> Result<JsComparedPair, JsCallErrors> {
        let [a, b] = &std::mem::take(&mut self.runs)[..] else { return Err(nothing_ran()) };
        let pair = ComparedPair::of(a, b, self.inputs.trace());
        let charts = [
            ("charts_a", &pair.charts_a[..]),
            ("charts_b", &pair.charts_b[..]),
            ("charts", &pair.charts[..]),
        ];
        Ok(with_charts(&pair, charts).unchecked_into())
    }

    fn ready(&self, scenario: &JsPatch, seed: f64) -> Result<SimulationHandle, JsCallErrors> {
        let scenario = self.inputs.scenario(scenario)?;
        SimulationHandle::begin(&with_seed(&scenario, seed as u64), self.inputs.trace()).map_err(to_js_error)
    }
}

pub(crate) fn nothing_ran() -> JsCallErrors {
    to_js_error(vec![Diagnostic::error("no_trace", "", "nothing has run yet".to_owned())])
}

/// The seeds of a comparison: A's own and those that follow it.
///
/// # Errors
/// What is wrong with A, or too many seeds.
#[wasm_bindgen]
pub fn compare_seeds(a: &JsPatch, count: usize) -> Result<Vec<f64>, JsCallErrors> {
    let seeds = seeds(&scenario_of(a)?, count).map_err(|error| to_js_error(vec![error]))?;
    Ok(seeds.into_iter().map(|seed| seed as f64).collect())
}

/// What the runs of A and B say of each of their metrics, in the order of their seeds.
///
/// # Errors
/// When a run has other values than metrics, or a metric that is none.
#[wasm_bindgen]
pub fn comparison(
    seeds: Vec<f64>,
    a: &JsMeasuredRuns,
    b: &JsMeasuredRuns,
) -> Result<JsComparison, JsCallErrors> {
    let (a, b) = (measured_of(a)?, measured_of(b)?);
    let seeds: Vec<u64> = seeds.into_iter().map(|seed| seed as u64).collect();
    let reported = Comparison::of_runs(&seeds, &a, &b).map_err(|error| to_js_error(vec![error]))?;
    Ok(object(&reported.metrics()).unchecked_into())
}

fn measured_of(runs: &JsMeasuredRuns) -> Result<Vec<Measured>, JsCallErrors> {
    let bad = |why: String| to_js_error(vec![Diagnostic::error("bad_json", "runs", why)]);
    let runs: Vec<Measured> =
        serde_wasm_bindgen::from_value(runs.into()).map_err(|error| bad(error.to_string()))?;
    if runs.iter().any(|run| run.values.len() != run.metrics.len()) {
        return Err(bad("a number for each metric expected".to_owned()));
    }
    Ok(runs)
}
