//! A sweep in threads of the page: what it is, one run of it at a time, and what the finished runs say. Its runs are the lines
//! that the terminal's `sweep --out` writes.

use serde::Deserialize;
use serde_json::{Value as Json, json};
use servescope_lab::metric::Metric;
use servescope_lab::sweep::{Axis, AxisValues, Results, Shape, Sweep, resume};
use servescope_lab::views::sweep::{SweepChart, sweep_charts, sweep_maps};
use servescope_lab::{Failure, LoadedTrace, Running, Scenario, link};
use wasm_bindgen::prelude::*;

use crate::compare::nothing_ran;
use crate::inputs::{Inputs, takes_inputs};
use servescope_boundary::convert::{charts, object, to_js_error};
use servescope_boundary::types::{JsFailure, JsSweepPlan, JsSweepResults, JsSweepSpec};

/// Router steps of one slice: a few milliseconds.
const SLICE_STEPS: usize = 20_000;

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
        let metrics = Metric::parse_all(self.metrics.iter().map(String::as_str))?;
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

/// Simulates runs of a sweep, one at a time.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Sweeper {
    pub(crate) inputs: Inputs,
    /// The sweep of the last run; making it reads the whole trace.
    known: Option<(Spec, Sweep)>,
    run: Option<Begun>,
}

/// A run under way, or why its settings make none.
#[derive(Debug)]
struct Begun {
    index: usize,
    running: Result<Running, Vec<Failure>>,
}

takes_inputs!(Sweeper);

#[wasm_bindgen]
impl Sweeper {
    /// One that generates its traces.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
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
        let bound = |path: &String| Metric::parse(path).ok()?.slo(&base);
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

    /// Stands ready to simulate a run.
    ///
    /// # Errors
    /// What is wrong with the sweep, or an operator table that the run needs. Settings that make no run are no error: the
    /// line of the run says why.
    pub fn begin(&mut self, spec: &JsSweepSpec, index: usize) -> Result<(), JsFailure> {
        self.run = None;
        let spec = Spec::read(spec)?;
        let sweep = self.sweep(spec)?;
        if index >= sweep.runs() {
            return Err(bad("index", &format!("{index} is not below {}", sweep.runs())));
        }
        let scenario = sweep.scenario(index);
        let running = Running::begin(&scenario, self.inputs.trace());
        match running {
            Err(failures) if failures.iter().any(|failure| failure.code == "needs_table") => {
                Err(to_js_error(failures))
            }
            running => {
                self.run = Some(Begun { index, running });
                Ok(())
            }
        }
    }

    /// Simulates for some milliseconds and gives the share that is done; 1 is the end.
    pub fn advance(&mut self) -> f64 {
        match &mut self.run {
            Some(Begun { running: Ok(running), .. }) => running.advance(SLICE_STEPS),
            _ => 1.0,
        }
    }

    /// The line of the finished run, without its line break.
    ///
    /// # Errors
    /// When there is none.
    pub fn finish(&mut self) -> Result<String, JsFailure> {
        let (Some((_, sweep)), Some(Begun { index, running })) = (&self.known, self.run.take()) else {
            return Err(nothing_ran());
        };
        Ok(sweep.line(index, running.map(Running::finish)).text(sweep.shape()))
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
        self.known.as_ref().map(|(_, sweep)| sweep).ok_or_else(nothing_ran)
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

/// The run of a point with its first seed, as the part of an address behind `#`.
///
/// # Errors
/// What is wrong with the sweep, or that it has no such point.
#[wasm_bindgen]
pub fn sweep_link(spec: &JsSweepSpec, point: usize) -> Result<String, JsFailure> {
    let spec = Spec::read(spec)?;
    let sweep = spec.sweep(&spec.scenario()?, None).map_err(|failure| to_js_error(vec![failure]))?;
    let index = point * sweep.seeds();
    if index >= sweep.runs() {
        return Err(bad("point", &format!("{point} is not below {}", sweep.runs() / sweep.seeds())));
    }
    Ok(link::encode(&sweep.scenario(index)))
}
