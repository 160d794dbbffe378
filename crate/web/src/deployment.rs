//! What a replica's GPUs hold, for the panel of the fleet.

use servescope_output::views::deployment::deployment;
use wasm_bindgen::prelude::*;

use crate::simulator::Simulator;
use servescope_boundary::convert::object;
use servescope_boundary::types::{JsCallErrors, JsDeployment, JsPatch};

#[wasm_bindgen]
impl Simulator {
    /// Hardware, memory and the origin of times of a scenario.
    ///
    /// # Errors
    /// The scenario's errors.
    pub fn deployment(&self, scenario: &JsPatch) -> Result<JsDeployment, JsCallErrors> {
        Ok(object(&deployment(&self.inputs.scenario(scenario)?)).unchecked_into())
    }
}
