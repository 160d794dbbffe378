//! A model of one's own, from its `config.json`.

use servescope_boundary::convert::{object, scenario_of, to_js_error};
use servescope_boundary::types::{JsCallErrors, JsOwnModel, JsPatch};
use servescope_output::replies::OwnModel;
use wasm_bindgen::prelude::*;

/// A scenario with the model of a file, and of the `hf_quant_config.json` beside it, where there is one.
///
/// # Errors
/// What is wrong with the file or with the scenario.
#[wasm_bindgen]
pub fn model_config(
    name: &str,
    text: &str,
    quantization: Option<String>,
    scenario: &JsPatch,
) -> Result<JsOwnModel, JsCallErrors> {
    let scenario = scenario_of(scenario)?;
    Ok(object(&OwnModel::of(name, text, quantization.as_deref(), scenario).map_err(to_js_error)?)
        .unchecked_into())
}
