//! Why requests of the last run took as long as they did. Decisions are kept only when the page asks: the run is then made once
//! more, with equal bits.

use servescope_engine::Report;
use servescope_engine::queue::Client;
use servescope_lab::run::SimulationHandle;
use servescope_output::why::{most_delayed, why, why_requests};
use servescope_settings::diagnostic::Diagnostic;
use servescope_workload::BASE_MODEL;
use wasm_bindgen::prelude::*;

use servescope_boundary::convert::{object, to_js_error};
use servescope_boundary::types::{JsCallErrors, JsDelayed, JsRequestWhy, JsWhy};

use crate::simulator::Simulator;

#[wasm_bindgen]
impl Simulator {
    /// Where the time of all requests of the finished run went, and who delayed whom.
    ///
    /// # Errors
    /// When there is no run.
    pub fn why(&mut self) -> Result<JsWhy, JsCallErrors> {
        let reported = why(self.why_report()?);
        Ok(object(&reported).unchecked_into())
    }

    /// Why request `id` of the finished run took as long as it did.
    ///
    /// # Errors
    /// When there is no such request.
    pub fn why_request(&mut self, id: usize) -> Result<JsRequestWhy, JsCallErrors> {
        let report = self.why_report()?;
        let count = report.results.len();
        if id >= count {
            return Err(to_js_error(vec![Diagnostic::out_of_range(
                "id",
                id as f64,
                0.0,
                count as f64 - 1.0,
            )]));
        }
        let reported = why_requests(report, &[id]).and_then(|mut all| all.pop());
        Ok(object(&reported).unchecked_into())
    }

    /// The requests of a user, or of an adapter (-1: the base model), that were delayed most.
    ///
    /// # Errors
    /// When there is no run.
    pub fn most_delayed(&mut self, by: &str, index: i32) -> Result<JsDelayed, JsCallErrors> {
        let client = if by == "adapter" { Client::Adapter } else { Client::User };
        let index = u32::try_from(index).unwrap_or(BASE_MODEL);
        Ok(object(&most_delayed(self.why_report()?, Some((client, index)))).unchecked_into())
    }

    /// The finished run with its decisions.
    fn why_report(&mut self) -> Result<&Report, JsCallErrors> {
        if self.run_with_decisions.is_none() {
            let run = self.finished()?;
            let again = SimulationHandle::begin(&run.scenario, self.inputs.trace()).map_err(to_js_error)?;
            let again = again.with_decisions().run();
            if again.report.digest() != run.report.digest() {
                let text = "the run was of other requests than those that are loaded now";
                return Err(to_js_error(vec![Diagnostic::error("no_trace", "", text.to_owned())]));
            }
            self.run_with_decisions = Some(again);
        }
        let nothing =
            || to_js_error(vec![Diagnostic::error("no_trace", "", "nothing has run yet".to_owned())]);
        self.run_with_decisions.as_ref().map(|run| &run.report).ok_or_else(nothing)
    }
}
