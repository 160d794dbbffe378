//! A fleet's own part of the summary, for which the cost model is asked about every iteration again.

use servescope_lab::Diagnostic;
use wasm_bindgen::prelude::*;

use crate::simulator::Simulator;
use servescope_boundary::convert::{object, to_js_error};
use servescope_boundary::types::{JsCallErrors, JsFleet};

#[wasm_bindgen]
impl Simulator {
    /// What else is to be said of the finished run of a fleet.
    ///
    /// # Errors
    /// When there is no run, or it is none of a fleet.
    pub fn fleet(&self) -> Result<JsFleet, JsCallErrors> {
        let fleet = self.finished()?.fleet();
        let none =
            || to_js_error(vec![Diagnostic::error("no_trace", "", "the run is none of a fleet".to_owned())]);
        Ok(object(&fleet.ok_or_else(none)?).unchecked_into())
    }
}
