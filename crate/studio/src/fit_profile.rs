//! Profiles fitted to files of measurements.

use servescope_boundary::convert::{object, to_js_error};
use servescope_boundary::types::{JsCallErrors, JsFittedProfile, JsProfileFiles};
use servescope_output::replies::FittedProfile;
use servescope_settings::diagnostic::Diagnostic;
use wasm_bindgen::prelude::*;

/// Fits a profile to files of measurements, or reads one; a simulator takes its text.
///
/// # Errors
/// What is wrong with the files.
#[wasm_bindgen]
pub fn fit_profile(files: &JsProfileFiles) -> Result<JsFittedProfile, JsCallErrors> {
    let asked = serde_wasm_bindgen::from_value(files.into())
        .map_err(|error| to_js_error(vec![Diagnostic::error("bad_json", "files", error.to_string())]))?;
    Ok(object(&FittedProfile::of(&asked).map_err(to_js_error)?).unchecked_into())
}
