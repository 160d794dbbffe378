//! Result files of load generators, read for the simulator's module.

use js_sys::Uint8Array;
use servescope_boundary::convert::{object, to_js_error};
use servescope_boundary::types::{JsCallErrors, JsReadResult};
use servescope_evidence::overlay::read_among;
use servescope_settings::diagnostic::{Diagnostic, Reason};
use servescope_settings::profiles::NamedText;
use servescope_workload::formats::unpacked;
use wasm_bindgen::prelude::*;

/// The measured run of a result file, among files that were opened together, for the simulator's `Overlayer`: the run of that
/// place in it, from 1 on, or the first for 0. `names` and `files` go together; files may be packed with gzip.
///
/// # Errors
/// What is wrong with the file, and where.
#[wasm_bindgen]
pub fn read_result(
    names: Vec<String>,
    files: Vec<Uint8Array>,
    benchmark: usize,
) -> Result<JsReadResult, JsCallErrors> {
    let mut texts = Vec::with_capacity(files.len());
    for (name, bytes) in names.iter().zip(files) {
        let bytes = bytes.to_vec();
        let plain = unpacked(&bytes).map_err(|error| to_js_error(vec![Diagnostic::of_file(name, &error)]))?;
        let text = String::from_utf8(plain.into_owned());
        let not_text = |_| {
            let reason = Reason::new("overlay_not_text").text("file", name);
            to_js_error(vec![bad(&format!("{name}: the bytes are not UTF-8")).because(reason)])
        };
        texts.push(text.map_err(not_text)?);
    }
    let named = names.iter().zip(&texts);
    let files: Vec<NamedText<'_>> = named.map(|(name, text)| NamedText { name, text }).collect();
    let run = read_among(&files, (benchmark > 0).then_some(benchmark));
    Ok(object(&run.map_err(|error| to_js_error(vec![bad(&error.to_string())]))?).unchecked_into())
}

fn bad(why: &str) -> Diagnostic {
    Diagnostic::error("bad_overlay", "", why.to_owned()).text("why", why)
}
