//! A profile that somebody has loaded or fitted here, in place of the shipped ones.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use servescope_lab::profiles::{LoadedProfile, Measured, NamedText};
use servescope_lab::{Failure, Scenario};
use wasm_bindgen::prelude::*;

use crate::convert::{object, thrown};
use crate::simulator::Simulator;
use crate::types::{JsFailure, JsFittedProfile, JsProfileFiles};

/// The profile, if there is one.
#[derive(Debug, Default)]
pub(crate) struct OwnProfile(Option<Arc<LoadedProfile>>);

impl OwnProfile {
    /// Takes the text of a fitted profile; none goes back to the shipped ones.
    pub(crate) fn load(&mut self, name: &str, text: &str) -> Result<(), JsFailure> {
        self.0 = if text.is_empty() {
            None
        } else {
            let read = LoadedProfile::read(name, text).map_err(|failure| thrown(vec![failure]))?;
            Some(Arc::new(read))
        };
        Ok(())
    }

    /// A scenario with it.
    pub(crate) fn give(&self, mut scenario: Scenario) -> Scenario {
        scenario.set_profile(self.0.clone());
        scenario
    }
}

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

#[wasm_bindgen]
impl Simulator {
    /// Fits a profile to files of measurements, or reads one; later runs take their times from it. The former one stays when
    /// a file is bad.
    ///
    /// # Errors
    /// What is wrong with the files.
    pub fn fit_profile(&mut self, files: &JsProfileFiles) -> Result<JsFittedProfile, JsFailure> {
        let asked: Files = serde_wasm_bindgen::from_value(files.into())
            .map_err(|error| thrown(vec![Failure::new("bad_json", "files", error.to_string())]))?;
        let texts: Vec<NamedText<'_>> =
            asked.files.iter().map(|file| NamedText { name: &file.name, text: &file.text }).collect();
        let of = Measured { gpu: &asked.gpu, model: &asked.model, layers: asked.layers as u32 };
        let (loaded, notes) = LoadedProfile::of_files(&texts, &of).map_err(thrown)?;
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
        self.profile = OwnProfile(Some(Arc::new(loaded)));
        Ok(object(&reply).unchecked_into())
    }

    /// Takes the text of a fitted profile in place of the shipped ones; "" goes back to those.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn load_profile(&mut self, name: &str, text: &str) -> Result<(), JsFailure> {
        self.profile.load(name, text)
    }
}
