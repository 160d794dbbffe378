//! Profiles fitted to files of measurements.

use serde::Deserialize;
use serde_json::json;
use servescope_boundary::convert::{object, to_js_error};
use servescope_boundary::types::{JsFailure, JsFittedProfile, JsProfileFiles};
use servescope_lab::Failure;
use servescope_lab::profiles::{LoadedProfile, Measured, NamedText};
use wasm_bindgen::prelude::*;

/// A file's name and text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    text: String,
}

/// What was chosen.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Files {
    files: Vec<File>,
    gpu: String,
    model: String,
    layers: f64,
}

/// Fits a profile to files of measurements, or reads one; a simulator takes its text.
///
/// # Errors
/// What is wrong with the files.
#[wasm_bindgen]
pub fn fit_profile(files: &JsProfileFiles) -> Result<JsFittedProfile, JsFailure> {
    let asked: Files = serde_wasm_bindgen::from_value(files.into())
        .map_err(|error| to_js_error(vec![Failure::new("bad_json", "files", error.to_string())]))?;
    let texts: Vec<NamedText<'_>> =
        asked.files.iter().map(|file| NamedText { name: &file.name, text: &file.text }).collect();
    let of = Measured { gpu: &asked.gpu, model: &asked.model, layers: asked.layers as u32 };
    let (loaded, notes) = LoadedProfile::of_files(&texts, &of).map_err(to_js_error)?;
    let errors: Vec<serde_json::Value> = loaded
        .errors
        .iter()
        .map(|e| {
            json!({
                "degree": e.degree,
                "name": e.name,
                "origin": e.origin.name(),
                "points": e.points,
                "median": e.median,
                "p95": e.p95,
            })
        })
        .collect();
    let profile = &loaded.profile;
    let degrees: Vec<u32> = profile.degrees.iter().map(|d| d.degree).collect();
    let reply = json!({
        "name": loaded.name,
        "gpu": profile.gpu,
        "model": profile.model,
        "text": profile.to_text(),
        "degrees": degrees,
        "errors": errors,
        "notes": notes,
    });
    Ok(object(&reply).unchecked_into())
}
