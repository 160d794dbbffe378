//! A model of one's own, from its `config.json`.

use servescope_boundary::convert::{object, scenario_of, to_js_error};
use servescope_boundary::types::{JsCallErrors, JsOwnModel, JsPatch};
use servescope_output::replies::OwnModel;
use wasm_bindgen::prelude::*;

/// A scenario with the model of a file.
///
/// # Errors
/// What is wrong with the file or with the scenario.
#[wasm_bindgen]
pub fn model_config(name: &str, text: &str, scenario: &JsPatch) -> Result<JsOwnModel, JsCallErrors> {
    let scenario = scenario_of(scenario)?;
    Ok(object(&OwnModel::of(name, text, scenario).map_err(to_js_error)?).unchecked_into())
}
