//! What a file is, scenario files, and files of rates over time.

use servescope_boundary::convert::{object, scenario_of, to_js_error};
use servescope_boundary::types::{JsCallErrors, JsPatch, JsRecognisedFile};
use servescope_output::replies::{RecognisedFile, curve_of_file, scenario_of_file};
use wasm_bindgen::prelude::*;

/// What a file of this name is, from its beginning; what a launch line sets is set in `scenario`.
///
/// # Errors
/// The scenario's errors.
#[wasm_bindgen]
pub fn recognise_file(name: &str, head: &[u8], scenario: &JsPatch) -> Result<JsRecognisedFile, JsCallErrors> {
    Ok(object(&RecognisedFile::of(name, head, &scenario_of(scenario)?)).unchecked_into())
}

/// Takes the arrivals of a file of rates over time into the scenario.
///
/// # Errors
/// What is wrong with the file, or the scenario's errors.
#[wasm_bindgen]
pub fn curve_file(name: &str, bytes: &[u8], scenario: &JsPatch) -> Result<JsPatch, JsCallErrors> {
    let with = curve_of_file(name, bytes, &scenario_of(scenario)?).map_err(to_js_error)?;
    Ok(object(&with).unchecked_into())
}

/// Reads a scenario file.
///
/// # Errors
/// Bytes that are no JSON, or the scenario's errors.
#[wasm_bindgen]
pub fn scenario_file(name: &str, bytes: &[u8]) -> Result<JsPatch, JsCallErrors> {
    Ok(object(&scenario_of_file(name, bytes).map_err(to_js_error)?).unchecked_into())
}
