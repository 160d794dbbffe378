//! Result files of load generators, read for the simulator's module.

use servescope_boundary::convert::{object, to_js_error};
use servescope_boundary::types::{JsCallErrors, JsReadResult};
use servescope_lab::Diagnostic;
use servescope_lab::overlay::{NamedText, read_among};
use wasm_bindgen::prelude::*;

/// The measured run of a result file, among files that were opened together, for the simulator's `Overlayer`. `names` and `texts` go
/// together.
///
/// # Errors
/// What is wrong with the file, and where.
#[wasm_bindgen]
pub fn read_result(names: Vec<String>, texts: Vec<String>) -> Result<JsReadResult, JsCallErrors> {
    let named = names.iter().zip(&texts);
    let files: Vec<NamedText<'_>> = named.map(|(name, text)| NamedText { name, text }).collect();
    let run = read_among(&files).map_err(|error| {
        let why = error.to_string();
        to_js_error(vec![Diagnostic::error("bad_overlay", "", why.clone()).text("why", &why)])
    })?;
    Ok(object(&run).unchecked_into())
}
