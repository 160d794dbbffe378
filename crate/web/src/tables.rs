//! Operator tables: the page fetches the one that a run asks for.

use servescope_settings::tables;
use wasm_bindgen::prelude::*;

use servescope_boundary::convert::to_js_error;
use servescope_boundary::types::JsCallErrors;

/// Takes the text of the table that an error `needs_table` has named; it stays as long as the module's memory.
///
/// # Errors
/// That it is not the text that this build of the page knows under that name.
#[wasm_bindgen]
pub fn take_table(file: &str, text: &str) -> Result<(), JsCallErrors> {
    tables::take_table(file, text).map_err(|error| to_js_error(vec![error]))
}
