//! A fleet's own part of the summary, for which the cost model is asked about every iteration again.

use wasm_bindgen::prelude::*;

use crate::simulator::Simulator;
use servescope_boundary::convert::object;
use servescope_boundary::types::{JsCallErrors, JsFleet};

#[wasm_bindgen]
impl Simulator {
    /// What else is to be said of the fleet of the finished run.
    ///
    /// # Errors
    /// When there is no run.
    pub fn fleet(&self) -> Result<JsFleet, JsCallErrors> {
        Ok(object(&self.finished()?.fleet()).unchecked_into())
    }
}
