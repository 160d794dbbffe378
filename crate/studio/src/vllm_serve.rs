//! A setting as a command of vLLM.

use servescope_boundary::convert::{scenario_of, to_js_error};
use servescope_boundary::types::{JsCallErrors, JsPatch, JsTraffic};
use servescope_lab::notes::Traffic;
use servescope_lab::run::serve_command;
use wasm_bindgen::prelude::*;

/// The command `vllm serve` with the flags that stand for a scenario, over the trace that carries `traffic`, if there is one,
/// and what no flag stands for.
///
/// # Errors
/// What is wrong with the scenario, or that its scheduler is not vLLM's.
#[wasm_bindgen]
pub fn vllm_serve(scenario: &JsPatch, traffic: Option<JsTraffic>) -> Result<String, JsCallErrors> {
    let traffic: Option<Traffic> =
        traffic.and_then(|traffic| serde_wasm_bindgen::from_value(traffic.into()).ok());
    serve_command(&scenario_of(scenario)?, traffic.as_ref()).map_err(to_js_error)
}
