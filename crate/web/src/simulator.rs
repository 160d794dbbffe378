//! The simulator of a worker: one trace at most, one run at a time.

use js_sys::Array;
use serde_json::json;
use servescope_lab::engine::explain::at_arrival;
use servescope_lab::views::{self, SplitBy, ViewOptions};
use servescope_lab::workload::{BASE_MODEL, Trace};
use servescope_lab::{Failure, Run, Running, files};
use wasm_bindgen::prelude::*;

use crate::inputs::{Inputs, takes_inputs};
use servescope_boundary::convert::{charts, object, to_js_error};
use servescope_boundary::types::{JsCharts, JsFailure, JsPatch, JsRequestFacts, JsRun, JsRunOptions};

/// Router steps of one slice: a few milliseconds.
const SLICE_STEPS: usize = 20_000;

/// How to look at a run.
struct RunLook {
    views: ViewOptions,
    /// Names of the charts in sight; none: all are.
    in_sight: Option<Array>,
}

impl RunLook {
    fn of(options: &JsRunOptions) -> Self {
        let number = |value: JsValue| value.as_f64().unwrap_or(f64::NAN);
        let views = ViewOptions {
            columns: options.columns().max(1.0) as usize,
            window_s: options.window().map(|ends| (number(ends.get(0)), number(ends.get(1)))),
            split_by: SplitBy::from_name(&options.split_by()),
            drain: false,
        };
        Self { views, in_sight: options.in_sight() }
    }

    fn sees(&self, name: &str) -> bool {
        self.in_sight.as_ref().is_none_or(|names| names.includes(&name.into(), 0))
    }
}

/// Simulates scenarios, of which it keeps the last.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Simulator {
    pub(crate) inputs: Inputs,
    running: Option<Running>,
    run: Option<Run>,
    /// The last run again, with its decisions, once the page has asked why.
    pub(crate) told: Option<Run>,
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
    pub fn begin(&mut self, scenario: &JsPatch) -> Result<(), JsFailure> {
        self.running = None;
        let scenario = self.inputs.scenario(scenario)?;
        self.running = Some(Running::begin(&scenario, self.inputs.trace()).map_err(to_js_error)?);
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
    pub fn finish(&mut self, options: &JsRunOptions) -> Result<JsRun, JsFailure> {
        let look = RunLook::of(options);
        if let Some(running) = self.running.take() {
            self.run = Some(running.finish());
            self.told = None;
        }
        let run = self.finished()?;
        let reply = js_sys::Object::new();
        // The charts first: where those of a fleet are in sight, they make the sums of which the summary tells in passing.
        let charts = charts(&views::build_charts(run, &look.views, &|name| look.sees(name)));
        let _ = js_sys::Reflect::set(&reply, &"summary".into(), &object(&run.summary_without_utilization()));
        let _ = js_sys::Reflect::set(&reply, &"charts".into(), &charts);
        let traffic_end_s = run.report.trace.arrival_us.last().copied().unwrap_or(0.0) / 1e6;
        let _ = js_sys::Reflect::set(&reply, &"traffic_end_s".into(), &traffic_end_s.into());
        Ok(JsValue::from(reply).unchecked_into())
    }

    /// The charts of the finished run that are not in sight; all of them where the options name none.
    ///
    /// # Errors
    /// When there is no run.
    pub fn charts(&self, options: &JsRunOptions) -> Result<JsCharts, JsFailure> {
        let look = RunLook::of(options);
        let is_wanted = |name: &str| look.in_sight.is_none() || !look.sees(name);
        let views = views::build_charts(self.finished()?, &look.views, &is_wanted);
        Ok(JsValue::from(charts(&views)).unchecked_into())
    }

    /// Request `id` of the finished run: its lengths, its times, and what it found when it arrived.
    ///
    /// # Errors
    /// When there is no such request.
    pub fn request(&self, id: usize) -> Result<JsRequestFacts, JsFailure> {
        let run = self.finished()?;
        let count = run.report.results.len();
        if id >= count {
            return Err(to_js_error(vec![Failure::out_of_range("id", id as f64, 0.0, count as f64 - 1.0)]));
        }
        Ok(object(&facts(run, id)).unchecked_into())
    }

    /// A file of the finished run.
    ///
    /// # Errors
    /// When there is no run, or no such file.
    pub fn export(&self, kind: &str) -> Result<String, JsFailure> {
        let run = self.finished()?;
        match kind {
            "requests.csv" => Ok(files::requests_csv(&run.report)),
            "batches.csv" => Ok(files::batches_csv(&run.report)),
            "clients.csv" => Ok(files::clients_csv(run)),
            "clients_over_time.csv" => Ok(files::clients_over_time_csv(run)),
            "events.csv" => Ok(files::events_csv(&run.report)),
            "trace.json" => Ok(files::chrome_trace(&run.report)),
            "summary.json" => Ok(format!("{:#}\n", json!(run.summary()))),
            other => Err(to_js_error(vec![
                Failure::new("unknown_option", "kind", format!("there is no file {other}"))
                    .text("value", other),
            ])),
        }
    }

    pub(crate) fn finished(&self) -> Result<&Run, JsFailure> {
        self.run
            .as_ref()
            .ok_or_else(|| to_js_error(vec![Failure::new("no_trace", "", "nothing has run yet".to_owned())]))
    }
}

/// What there is to say of a request before its decisions are asked for.
fn facts(run: &Run, id: usize) -> serde_json::Value {
    let report = &run.report;
    let trace: &Trace = &report.trace;
    let (found, split) = (at_arrival(report, id), report.split(id).unwrap_or_default());
    let r = trace.request(id);
    let seconds = |us: Option<f64>| us.map(|us| us / 1e6);
    json!({
        "id": id,
        "user": r.user,
        "adapter": if r.adapter == BASE_MODEL { -1 } else { i64::from(r.adapter) },
        "rank": trace.rank(id),
        "input_tokens": r.input_tokens,
        "output_tokens": r.output_tokens,
        "max_tokens": r.max_tokens,
        "outcome": report.results[id].outcome.name(),
        "arrival_s": r.arrival_us / 1e6,
        "scheduled_s": seconds(report.scheduled_us(id)),
        "first_token_s": seconds(report.first_token_us(id)),
        "finish_s": seconds(report.results[id].finish_us),
        "queue_s": split.queue_us / 1e6,
        "adapter_load_s": split.load_us / 1e6,
        "prefill_s": split.prefill_us / 1e6,
        "stalled_s": split.stalled_us / 1e6,
        "decode_s": split.decode_us / 1e6,
        "ahead": found.ahead,
        "running_at_arrival": found.running,
        "kv_tokens_at_arrival": found.kv_tokens,
    })
}
