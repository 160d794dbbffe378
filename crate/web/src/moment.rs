//! The service at one time of the finished run, for the page's picture of it.

use servescope_output::views::moment::moment;
use wasm_bindgen::prelude::*;

use crate::simulator::Simulator;
use servescope_boundary::convert::object;
use servescope_boundary::types::{JsCallErrors, JsMoment};

#[wasm_bindgen]
impl Simulator {
    /// The service of the finished run at a time, with the requests that arrive within a span after it, seconds.
    ///
    /// # Errors
    /// When there is no run.
    pub fn moment(&self, time_s: f64, span_s: f64) -> Result<JsMoment, JsCallErrors> {
        Ok(object(&moment(self.finished()?, time_s, span_s)).unchecked_into())
    }
}
