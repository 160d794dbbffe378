//! A sweep of the page: what its runs are, and what the finished ones say. They are the lines that the terminal's `sweep --out`
//! writes.

use serde::Deserialize;
use servescope_boundary::convert::{object, to_js_error, with_charts};
use servescope_boundary::inputs::Inputs;
use servescope_boundary::types::{
    JsCallErrors, JsMeasured, JsPatch, JsSweepPlan, JsSweepResults, JsSweepSpec, JsTraceColumns,
};
use servescope_lab::metric::{Measured, Metric};
use servescope_lab::sweep::{AxisValues, ExpectedValue, Results, Sweep, SweepAxis, SweepShape, resume};
use servescope_output::replies::{SweepPlan, SweepResults, SweepSpec};
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::link;
use servescope_settings::scenario::Scenario;
use servescope_traces::loaded_trace::LoadedTrace;
use wasm_bindgen::prelude::*;

/// What is swept.
#[derive(Debug, Clone, PartialEq)]
struct Spec(SweepSpec);

impl Spec {
    fn read(spec: &JsSweepSpec) -> Result<Self, JsCallErrors> {
        let read = serde_wasm_bindgen::from_value(spec.into());
        read.map(Self).map_err(|error| bad("sweep", &error.to_string()))
    }

    /// The sweep of a scenario that has been read of it.
    fn sweep(&self, base: &Scenario, loaded: Option<&LoadedTrace>) -> Result<Sweep, Diagnostic> {
        let axes = self.0.over.iter().map(|text| SweepAxis::parse(text)).collect::<Result<Vec<_>, _>>()?;
        let metrics = Metric::parse_all(self.0.metrics.iter().map(String::as_str))?;
        Sweep::new(base, axes, metrics, self.0.seeds, loaded)
    }

    /// The terminal's command that sweeps the same.
    fn command(&self, base: &Scenario, trace_file: &str) -> String {
        let mut words = vec![link::command_of("sweep", base, trace_file)];
        words.extend(self.0.over.iter().map(|axis| format!("--over {}", link::quoted(axis))));
        words.push(format!("--metric {} --seeds {} --closed-forms", self.0.metrics.join(" "), self.0.seeds));
        words.join(" ")
    }

    fn scenario(&self) -> Result<Scenario, JsCallErrors> {
        match Scenario::from_values(&self.0.scenario) {
            (scenario, errors) if errors.is_empty() => Ok(scenario),
            (_, errors) => Err(to_js_error(errors)),
        }
    }
}

fn bad(path: &str, why: &str) -> JsCallErrors {
    to_js_error(vec![Diagnostic::error("bad_json", path, why.to_owned())])
}

/// Sweeps: what their runs are, and their lines. The runs themselves are simulated in threads of the other module.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Sweeps {
    inputs: Inputs,
    /// The last sweep; making it reads the whole trace.
    known: Option<(Spec, Sweep)>,
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
    pub fn load_columns(&mut self, name: &str, columns: &JsTraceColumns) -> Result<(), JsCallErrors> {
        self.inputs.load_columns(name, columns)
    }

    /// Takes the text of a fitted profile.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn load_profile(&mut self, name: &str, text: &str) -> Result<(), JsCallErrors> {
        self.inputs.load_profile(name, text)
    }

    /// What the runs of a sweep have in common.
    ///
    /// # Errors
    /// What is wrong with its scenario, its axes, its metrics or its size.
    pub fn plan(&mut self, spec: &JsSweepSpec) -> Result<JsSweepPlan, JsCallErrors> {
        let spec = Spec::read(spec)?;
        let trace_file = self.inputs.trace().map_or_else(String::new, |loaded| loaded.name.clone());
        let command = spec.command(&spec.scenario()?, &trace_file);
        let sweep = self.sweep(spec)?;
        Ok(object(&SweepPlan::of(sweep, command)).unchecked_into())
    }

    /// The settings of a run, its seed among them.
    ///
    /// # Errors
    /// What is wrong with the sweep, or that it has no such run.
    pub fn scenario(&mut self, spec: &JsSweepSpec, index: usize) -> Result<JsPatch, JsCallErrors> {
        Ok(object(&self.with_run(spec, index)?.scenario(index).patch()).unchecked_into())
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
    ) -> Result<String, JsCallErrors> {
        let sweep = self.with_run(spec, index)?;
        let read = |shown: JsMeasured| serde_wasm_bindgen::from_value::<Measured>(shown.into());
        let measured = match shown.map(read) {
            Some(Ok(measured)) if measured.values.len() == sweep.shape().metrics.len() => Ok(measured),
            Some(_) => return Err(bad("run", "a number for each metric expected")),
            None => Err(why.to_owned()),
        };
        Ok(sweep.line_of(index, measured).text(sweep.shape()))
    }

    fn with_run(&mut self, spec: &JsSweepSpec, index: usize) -> Result<&Sweep, JsCallErrors> {
        let sweep = self.sweep(Spec::read(spec)?)?;
        if index < sweep.runs() { Ok(sweep) } else { Err(bad("index", "there is no such run")) }
    }

    fn sweep(&mut self, spec: Spec) -> Result<&Sweep, JsCallErrors> {
        let is_known = self.known.as_ref().is_some_and(|(known, _)| *known == spec);
        if !is_known {
            let mut base = spec.scenario()?;
            self.inputs.give_profile(&mut base);
            let sweep = spec.sweep(&base, self.inputs.trace()).map_err(|error| to_js_error(vec![error]))?;
            self.known = Some((spec, sweep));
        }
        self.known.as_ref().map(|(_, sweep)| sweep).ok_or_else(|| bad("sweep", "there is none"))
    }
}

/// What the page keeps of a plan.
#[derive(Deserialize)]
struct KeptPlan {
    sweep: String,
    runs: usize,
    over: Vec<AxisValues>,
    metrics: Vec<String>,
    bounds: Vec<Option<f64>>,
    expected: Vec<Option<ExpectedOfMetric>>,
}

#[derive(Deserialize)]
struct ExpectedOfMetric {
    points: Vec<Option<ExpectedValue>>,
}

impl KeptPlan {
    fn read(plan: &JsSweepPlan) -> Result<Self, JsCallErrors> {
        serde_wasm_bindgen::from_value(plan.into()).map_err(|error| bad("plan", &error.to_string()))
    }

    /// The points of the finished runs; `lines` are theirs, each with its line break, in any order.
    fn results(self, lines: &str) -> Result<Results, JsCallErrors> {
        let shape = SweepShape {
            id: self.sweep,
            runs: self.runs,
            paths: self.over.iter().map(|axis| axis.path.clone()).collect(),
            metrics: self.metrics,
        };
        let lines = resume(lines.as_bytes(), &shape).map_err(|error| bad("lines", &error.to_string()))?.lines;
        let lines: Vec<_> = lines.into_values().collect();
        let mut results = Results::so_far(&shape, self.over, &lines);
        results.expected =
            self.expected.into_iter().map(|one| one.map_or_else(Vec::new, |one| one.points)).collect();
        Ok(results)
    }
}

/// What the finished runs of a sweep say: the points and their charts, curves or heat maps over the first two parameters.
///
/// # Errors
/// When a line is none, or of another sweep.
#[wasm_bindgen]
pub fn sweep_results(plan: &JsSweepPlan, lines: &str, as_map: bool) -> Result<JsSweepResults, JsCallErrors> {
    let mut plan = KeptPlan::read(plan)?;
    let bounds = std::mem::take(&mut plan.bounds);
    let results = plan.results(lines)?;
    let reply = SweepResults::of(&results, &bounds, as_map);
    Ok(with_charts(&reply, [("charts", &reply.charts[..])]).unchecked_into())
}

/// The points of the finished runs as the terminal's `sweep --closed-forms --csv` writes them.
///
/// # Errors
/// When a line is none, or of another sweep.
#[wasm_bindgen]
pub fn sweep_csv(plan: &JsSweepPlan, lines: &str) -> Result<String, JsCallErrors> {
    Ok(KeptPlan::read(plan)?.results(lines)?.csv())
}
