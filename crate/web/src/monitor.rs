//! What each client used, for the page's monitor.

use servescope_output::replies::MonitorView;
use servescope_settings::diagnostic::Diagnostic;
use wasm_bindgen::prelude::*;

use crate::simulator::Simulator;
use servescope_boundary::convert::{to_js_error, with_charts};
use servescope_boundary::types::{JsCallErrors, JsMonitor, JsMonitorOptions};

#[wasm_bindgen]
impl Simulator {
    /// What each client of the finished run used.
    ///
    /// # Errors
    /// When there is no run, or the options are bad.
    pub fn monitor(&self, options: &JsMonitorOptions) -> Result<JsMonitor, JsCallErrors> {
        let bad = |error: serde_wasm_bindgen::Error| {
            to_js_error(vec![Diagnostic::error("bad_json", "options", error.to_string())])
        };
        let request = serde_wasm_bindgen::from_value(options.into()).map_err(bad)?;
        let view = MonitorView::of(self.finished()?, request).map_err(|error| to_js_error(vec![error]))?;
        Ok(with_charts(&view, [("charts", &view.charts[..])]).unchecked_into())
    }
}
