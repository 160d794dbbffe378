//! A setting as a command of vLLM.

use servescope_boundary::convert::{scenario_of, to_js_error};
use servescope_boundary::types::{JsCallErrors, JsPatch};
use servescope_lab::run::serve_command;
use wasm_bindgen::prelude::*;

/// The command `vllm serve` with the flags that stand for a scenario, and what no flag stands for.
///
/// # Errors
/// What is wrong with the scenario, or that its scheduler is not vLLM's.
#[wasm_bindgen]
pub fn vllm_serve(scenario: &JsPatch) -> Result<String, JsCallErrors> {
    serve_command(&scenario_of(scenario)?).map_err(to_js_error)
}
