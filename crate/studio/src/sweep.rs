//! A sweep of the page: what its runs are, and what the finished ones say. They are the lines that the terminal's `sweep --out`
//! writes.

use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use servescope_boundary::convert::{charts, object, to_js_error};
use servescope_boundary::inputs::Inputs;
use servescope_boundary::types::{
    JsFailure, JsMeasured, JsPatch, JsSweepPlan, JsSweepResults, JsSweepSpec, JsTraceColumns,
};
use servescope_lab::metric::{Measured, Metric};
use servescope_lab::sweep::{Axis, AxisValues, Results, Shape, Sweep, resume};
use servescope_lab::views::sweep::{SweepChart, sweep_charts, sweep_maps};
use servescope_lab::{Failure, LoadedTrace, Scenario};
use wasm_bindgen::prelude::*;

/// What is swept, as the page says it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    scenario: Json,
    over: Vec<String>,
    metrics: Vec<String>,
    seeds: usize,
}

impl Spec {
    fn read(spec: &JsSweepSpec) -> Result<Self, JsFailure> {
        serde_wasm_bindgen::from_value(spec.into()).map_err(|error| bad("sweep", &error.to_string()))
    }

    /// The sweep of a scenario that has been read of it.
    fn sweep(&self, base: &Scenario, loaded: Option<&LoadedTrace>) -> Result<Sweep, Failure> {
        let axes = self.over.iter().map(|text| Axis::parse(text)).collect::<Result<Vec<_>, _>>()?;
        let metrics = self.metrics.iter().map(|path| Metric::of_path(path)).collect();
        Sweep::new(base, axes, metrics, self.seeds, loaded)
    }

    fn scenario(&self) -> Result<Scenario, JsFailure> {
        match Scenario::from_json(&self.scenario) {
            (scenario, failures) if failures.is_empty() => Ok(scenario),
            (_, failures) => Err(to_js_error(failures)),
        }
    }
}

fn bad(path: &str, why: &str) -> JsFailure {
    to_js_error(vec![Failure::new("bad_json", path, why.to_owned())])
}

/// Sweeps: what their runs are, and their lines. The runs themselves are simulated in threads of the other module.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Sweeps {
    inputs: Inputs,
    /// The last sweep; making it reads the whole trace.
    known: Option<(Spec, Sweep)>,
}

/// What a run showed, or why there is none.
#[derive(Deserialize)]
struct Shown {
    values: Vec<Option<f64>>,
    digest: String,
}

#[wasm_bindgen]
impl Sweeps {
    /// Over generated traces.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the trace that is simulated in place of a generated one.
    ///
    /// # Errors
    /// The column that is no column of a trace.
    pub fn load_columns(&mut self, name: &str, columns: &JsTraceColumns) -> Result<(), JsFailure> {
        self.inputs.load_columns(name, columns)
    }

    /// Takes the text of a fitted profile.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn load_profile(&mut self, name: &str, text: &str) -> Result<(), JsFailure> {
        self.inputs.load_profile(name, text)
    }

    /// What the runs of a sweep have in common.
    ///
    /// # Errors
    /// What is wrong with its scenario, its axes, its metrics or its size.
    pub fn plan(&mut self, spec: &JsSweepSpec) -> Result<JsSweepPlan, JsFailure> {
        let sweep = self.sweep(Spec::read(spec)?)?;
        let Shape { id, runs, metrics, .. } = sweep.shape();
        let over = |axis: &Axis| json!({"path": axis.path(), "values": axis.to_json()});
        let base = sweep.scenario(0);
        let bound = |path: &String| Metric::of_path(path).slo(&base);
        let plan = json!({
            "sweep": id,
            "runs": runs,
            "seeds": sweep.seeds(),
            "over": sweep.axes().iter().map(over).collect::<Vec<_>>(),
            "metrics": metrics,
            "bounds": metrics.iter().map(bound).collect::<Vec<_>>(),
        });
        Ok(object(&plan).unchecked_into())
    }

    /// The settings of a run, its seed among them.
    ///
    /// # Errors
    /// What is wrong with the sweep, or that it has no such run.
    pub fn scenario(&mut self, spec: &JsSweepSpec, index: usize) -> Result<JsPatch, JsFailure> {
        let scenario = self.with_run(spec, index)?.scenario(index);
        let patch: Map<String, Json> =
            scenario.changed().map(|(id, value)| (id.row().id.to_owned(), value.to_json())).collect();
        Ok(object(&patch).unchecked_into())
    }

    /// The line of a run, without its line break: what it showed, or why its settings make no run.
    ///
    /// # Errors
    /// What is wrong with the sweep, or that it has no such run.
    pub fn line(
        &mut self,
        spec: &JsSweepSpec,
        index: usize,
        shown: Option<JsMeasured>,
        why: &str,
    ) -> Result<String, JsFailure> {
        let sweep = self.with_run(spec, index)?;
        let read = |shown: JsMeasured| serde_wasm_bindgen::from_value::<Shown>(shown.into());
        let measured = match shown.map(read) {
            Some(Ok(Shown { values, digest })) if values.len() == sweep.shape().metrics.len() => {
                Ok(Measured { values, digest })
            }
            Some(_) => return Err(bad("run", "a number for each metric expected")),
            None => Err(why.to_owned()),
        };
        Ok(sweep.line_of(index, measured).text(sweep.shape()))
    }

    fn with_run(&mut self, spec: &JsSweepSpec, index: usize) -> Result<&Sweep, JsFailure> {
        let sweep = self.sweep(Spec::read(spec)?)?;
        if index < sweep.runs() { Ok(sweep) } else { Err(bad("index", "there is no such run")) }
    }

    fn sweep(&mut self, spec: Spec) -> Result<&Sweep, JsFailure> {
        let is_known = self.known.as_ref().is_some_and(|(known, _)| *known == spec);
        if !is_known {
            let mut base = spec.scenario()?;
            self.inputs.give_profile(&mut base);
            let sweep =
                spec.sweep(&base, self.inputs.trace()).map_err(|failure| to_js_error(vec![failure]))?;
            self.known = Some((spec, sweep));
        }
        self.known.as_ref().map(|(_, sweep)| sweep).ok_or_else(|| bad("sweep", "there is none"))
    }
}

/// What the page keeps of a plan.
#[derive(Deserialize)]
struct Plan {
    sweep: String,
    runs: usize,
    over: Vec<PlanAxis>,
    metrics: Vec<String>,
    bounds: Vec<Option<f64>>,
}

#[derive(Deserialize)]
struct PlanAxis {
    path: String,
    values: Vec<Json>,
}

/// What the finished runs of a sweep say: the points and their charts, curves or heat maps over the first two parameters. `lines` are theirs, each with its line break, in any order.
///
/// # Errors
/// When a line is none, or of another sweep.
#[wasm_bindgen]
pub fn sweep_results(plan: &JsSweepPlan, lines: &str, as_map: bool) -> Result<JsSweepResults, JsFailure> {
    let plan: Plan =
        serde_wasm_bindgen::from_value(plan.into()).map_err(|error| bad("plan", &error.to_string()))?;
    let shape = Shape {
        id: plan.sweep,
        runs: plan.runs,
        paths: plan.over.iter().map(|axis| axis.path.clone()).collect(),
        metrics: plan.metrics,
    };
    let lines = resume(lines.as_bytes(), &shape).map_err(|error| bad("lines", &error.to_string()))?.lines;
    let lines: Vec<_> = lines.into_values().collect();
    let axes = plan.over.into_iter().map(|PlanAxis { path, values }| AxisValues { path, values }).collect();
    let results = Results::so_far(&shape, axes, &lines);
    let drawn = if as_map { sweep_maps } else { sweep_charts }(&results, &plan.bounds);
    let views: Vec<Json> = drawn.iter().map(SweepChart::to_json).collect();
    let reply = object(&json!({"points": results.to_json()["points"], "views": views}));
    let drawn: Vec<_> = drawn.into_iter().map(|one| one.chart).collect();
    let _ = js_sys::Reflect::set(&reply, &"charts".into(), &charts(&drawn));
    Ok(reply.unchecked_into())
}
