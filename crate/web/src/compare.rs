//! A comparison in a thread of the page: runs of one seed, and what all seeds together say.

use serde_json::{Value as Json, json};
use servescope_lab::compare::Comparison;
use servescope_lab::compare::decisions::DecisionDifference;
use servescope_lab::compare::requests::RequestPairs;
use servescope_lab::metric::{Measured, Metric};
use servescope_lab::replications::{seeds, with_seed};
use servescope_lab::views::{self, ViewOptions, paired::ttft_pairs};
use servescope_lab::{Failure, Run, Running};
use wasm_bindgen::prelude::*;

use crate::inputs::{Inputs, takes_inputs};
use servescope_boundary::convert::{charts, object, scenario_of, to_js_error};
use servescope_boundary::types::{
    JsComparedPair, JsComparison, JsFailure, JsMeasured, JsMeasuredRuns, JsPatch,
};

/// Router steps of one slice: a few milliseconds.
pub(crate) const SLICE_STEPS: usize = 20_000;

/// Charts that are drawn of A and of B on the same axes.
const BOTH: [&str; 2] = ["latency_cdf", "running_waiting"];

/// Simulates a setting, or two with the same seed.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Comparer {
    pub(crate) inputs: Inputs,
    running: Vec<Running>,
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
    pub fn begin(&mut self, scenario: &JsPatch, seed: f64) -> Result<(), JsFailure> {
        (self.running, self.runs) = (Vec::new(), Vec::new());
        self.running.push(self.ready(scenario, seed)?);
        Ok(())
    }

    /// Stands ready to simulate A and B with a seed; both keep their decisions.
    ///
    /// # Errors
    /// What is wrong with one of them.
    pub fn begin_pair(&mut self, a: &JsPatch, b: &JsPatch, seed: f64) -> Result<(), JsFailure> {
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
            self.runs.extend(self.running.pop().map(Running::finish));
            return self.runs.len() as f64 / all;
        }
        (self.runs.len() as f64 + share) / all
    }

    /// The metrics of the finished run.
    ///
    /// # Errors
    /// When there is none.
    pub fn finish(&mut self) -> Result<JsMeasured, JsFailure> {
        let run = self.runs.pop().ok_or_else(nothing_ran)?;
        Ok(object(&measured(&run)).unchecked_into())
    }

    /// Numbers of the finished run's summary, by key path: of a sweep.
    ///
    /// # Errors
    /// When there is none.
    pub fn finish_metrics(&mut self, paths: Vec<String>) -> Result<JsMeasured, JsFailure> {
        let run = self.runs.pop().ok_or_else(nothing_ran)?;
        let metrics: Vec<Metric> = paths.iter().map(|path| Metric::of_path(path)).collect();
        let Measured { values, digest } = Measured::of(&run, &metrics);
        Ok(object(&json!({ "values": values, "digest": digest })).unchecked_into())
    }

    /// What the two finished runs have and how they differ, request by request.
    ///
    /// # Errors
    /// When there are none.
    pub fn finish_pair(&mut self) -> Result<JsComparedPair, JsFailure> {
        let [a, b] = &std::mem::take(&mut self.runs)[..] else { return Err(nothing_ran()) };
        let requests = RequestPairs::of(a, b);
        let seed = a.scenario.number(servescope_lab::parameters::Id::Seed);
        let one_run = self
            .inputs
            .trace()
            .map(|_| Comparison::of_one_run(&Metric::usual(), seed as u64, a, b).to_json());
        let told = json!({
            "a": measured(a),
            "b": measured(b),
            "requests": requests.to_json(),
            "first_different_decision": DecisionDifference::of(a, b).to_json(),
            "one_run": one_run,
        });
        let reply = object(&told);
        let set = |key: &str, value: &JsValue| {
            let _ = js_sys::Reflect::set(&reply, &key.into(), value);
        };
        let of = |run: &Run| {
            charts(&views::build_charts(run, &ViewOptions::default(), &|name| BOTH.contains(&name)))
        };
        set("charts_a", &of(a));
        set("charts_b", &of(b));
        set("charts", &charts(&[ttft_pairs(&requests)]));
        Ok(reply.unchecked_into())
    }

    fn ready(&self, scenario: &JsPatch, seed: f64) -> Result<Running, JsFailure> {
        let scenario = self.inputs.scenario(scenario)?;
        Running::begin(&with_seed(&scenario, seed as u64), self.inputs.trace()).map_err(to_js_error)
    }
}

fn measured(run: &Run) -> Json {
    let Measured { values, digest } = Measured::of(run, &Metric::usual());
    json!({ "values": values, "digest": digest })
}

pub(crate) fn nothing_ran() -> JsFailure {
    to_js_error(vec![Failure::new("no_trace", "", "nothing has run yet".to_owned())])
}

/// The seeds of a comparison: A's own and those that follow it.
///
/// # Errors
/// What is wrong with A, or too many seeds.
#[wasm_bindgen]
pub fn compare_seeds(a: &JsPatch, count: usize) -> Result<Vec<f64>, JsFailure> {
    let seeds = seeds(&scenario_of(a)?, count).map_err(|failure| to_js_error(vec![failure]))?;
    Ok(seeds.into_iter().map(|seed| seed as f64).collect())
}

/// What the runs of A and B say of each usual metric, in the order of their seeds.
///
/// # Errors
/// When a run has not these metrics.
#[wasm_bindgen]
pub fn comparison(
    seeds: Vec<f64>,
    a: &JsMeasuredRuns,
    b: &JsMeasuredRuns,
) -> Result<JsComparison, JsFailure> {
    let (a, b) = (measured_of(a)?, measured_of(b)?);
    let seeds: Vec<u64> = seeds.into_iter().map(|seed| seed as u64).collect();
    let told = Comparison::of_seeds(&Metric::usual(), &seeds, &a, &b);
    Ok(object(&told.to_json()).unchecked_into())
}

fn measured_of(runs: &JsMeasuredRuns) -> Result<Vec<Measured>, JsFailure> {
    #[derive(serde::Deserialize)]
    struct Read {
        values: Vec<Option<f64>>,
        digest: String,
    }
    let bad = |why: String| to_js_error(vec![Failure::new("bad_json", "runs", why)]);
    let runs: Vec<Read> =
        serde_wasm_bindgen::from_value(runs.into()).map_err(|error| bad(error.to_string()))?;
    if runs.iter().any(|run| run.values.len() != Metric::usual().len()) {
        return Err(bad("a number for each metric expected".to_owned()));
    }
    Ok(runs.into_iter().map(|Read { values, digest }| Measured { values, digest }).collect())
}
