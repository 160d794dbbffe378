//! The simulator of a worker: one trace at most, one run at a time.

use serde_json::json;
use servescope_lab::run::{Run, SimulationHandle};
use servescope_output::files;
use servescope_output::replies::{RequestFacts, RunOptions, RunReply};
use servescope_output::views::{self, ViewOptions};
use servescope_settings::diagnostic::Diagnostic;
use wasm_bindgen::prelude::*;

use crate::inputs::{Inputs, takes_inputs};
use servescope_boundary::convert::{charts, object, to_js_error, with_charts};
use servescope_boundary::types::{JsCallErrors, JsCharts, JsPatch, JsRequestFacts, JsRun, JsRunOptions};

/// Router steps of one slice: a few milliseconds.
const SLICE_STEPS: usize = 20_000;

fn read(options: &JsRunOptions) -> Result<RunOptions, JsCallErrors> {
    serde_wasm_bindgen::from_value(options.into())
        .map_err(|error| to_js_error(vec![Diagnostic::error("bad_json", "options", error.to_string())]))
}

fn view_options(options: &RunOptions) -> ViewOptions {
    ViewOptions {
        columns: options.columns.max(1.0) as usize,
        window_s: options.window,
        split_by: options.split_by,
        drain: false,
    }
}

fn is_in_sight(options: &RunOptions, name: &str) -> bool {
    options.in_sight.as_ref().is_none_or(|names| names.iter().any(|one| one == name))
}

/// Simulates scenarios, of which it keeps the last.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Simulator {
    pub(crate) inputs: Inputs,
    running: Option<SimulationHandle>,
    run: Option<Run>,
    /// The last run again, with its decisions, once the page has asked why.
    pub(crate) run_with_decisions: Option<Run>,
}

takes_inputs!(Simulator);

#[wasm_bindgen]
impl Simulator {
    /// A simulator that generates its traces.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Goes back to generated traces.
    pub fn clear_trace(&mut self) {
        self.inputs.clear_trace();
    }

    /// Makes the trace of a scenario and stands ready to simulate it. The last finished run stays until `finish`.
    ///
    /// # Errors
    /// What is wrong with the scenario.
    pub fn begin(&mut self, scenario: &JsPatch) -> Result<(), JsCallErrors> {
        self.running = None;
        let scenario = self.inputs.scenario(scenario)?;
        self.running = Some(SimulationHandle::begin(&scenario, self.inputs.trace()).map_err(to_js_error)?);
        Ok(())
    }

    /// Simulates a slice of some milliseconds and returns the share that is done; 1 is the end.
    pub fn advance(&mut self) -> f64 {
        self.running.as_mut().map_or(1.0, |running| running.advance(SLICE_STEPS))
    }

    /// Summary of the run that has reached its end, and those of its charts that are in sight.
    ///
    /// # Errors
    /// When there is none.
    pub fn finish(&mut self, options: &JsRunOptions) -> Result<JsRun, JsCallErrors> {
        let options = read(options)?;
        if let Some(running) = self.running.take() {
            self.run = Some(running.finish());
            self.run_with_decisions = None;
        }
        let run = self.finished()?;
        // The charts first: where those of a fleet are in sight, they make the sums that the summary contains besides.
        let charts = views::build_charts(run, &view_options(&options), &|name| is_in_sight(&options, name));
        let reply = RunReply {
            summary: run.summary_without_utilization(),
            charts,
            traffic_end_s: run.report.trace.arrival_us.last().copied().unwrap_or(0.0) / 1e6,
        };
        Ok(with_charts(&reply, [("charts", &reply.charts[..])]).unchecked_into())
    }

    /// The charts of the finished run that are not in sight; all of them where the options name none.
    ///
    /// # Errors
    /// When there is no run.
    pub fn charts(&self, options: &JsRunOptions) -> Result<JsCharts, JsCallErrors> {
        let options = read(options)?;
        let is_wanted = |name: &str| options.in_sight.is_none() || !is_in_sight(&options, name);
        let views = views::build_charts(self.finished()?, &view_options(&options), &is_wanted);
        Ok(JsValue::from(charts(&views)).unchecked_into())
    }

    /// Request `id` of the finished run: its lengths, its times, and what it found when it arrived.
    ///
    /// # Errors
    /// When there is no such request.
    pub fn request(&self, id: usize) -> Result<JsRequestFacts, JsCallErrors> {
        let run = self.finished()?;
        let none = || {
            let most = run.report.results.len() as f64 - 1.0;
            to_js_error(vec![Diagnostic::out_of_range("id", id as f64, 0.0, most)])
        };
        Ok(object(&RequestFacts::of(run, id).ok_or_else(none)?).unchecked_into())
    }

    /// A file of the finished run.
    ///
    /// # Errors
    /// When there is no run, or no such file.
    pub fn export(&mut self, kind: &str) -> Result<String, JsCallErrors> {
        if let Some(run) = self.run.as_mut().filter(|_| kind == "summary.json") {
            run.find_unneeded(self.inputs.trace());
        }
        let run = self.finished()?;
        match kind {
            "requests.csv" => Ok(files::requests_csv(&run.report)),
            "batches.csv" => Ok(files::batches_csv(&run.report)),
            "operators.csv" => Ok(files::operators_csv(&run.report)),
            "clients.csv" => Ok(files::clients_csv(run)),
            "clients_over_time.csv" => Ok(files::clients_over_time_csv(run)),
            "events.csv" => Ok(files::events_csv(&run.report)),
            "trace.json" => Ok(files::chrome_trace(&run.report)),
            "summary.json" => Ok(format!("{:#}\n", json!(run.summary()))),
            other => Err(to_js_error(vec![
                Diagnostic::error("unknown_option", "kind", format!("there is no file {other}"))
                    .text("value", other),
            ])),
        }
    }

    pub(crate) fn finished(&self) -> Result<&Run, JsCallErrors> {
        self.run.as_ref().ok_or_else(|| {
            to_js_error(vec![Diagnostic::error("no_trace", "", "nothing has run yet".to_owned())])
        })
    }
}
