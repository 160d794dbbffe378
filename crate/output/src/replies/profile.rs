//! Profiles that are fitted to a person's own measurements.

use serde::{Deserialize, Serialize};
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::profiles::{LoadedProfile, MeasurementSettings, NamedText};

/// A file's name and text.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct ProfileFile {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Files of measurements, or one fitted profile, and what they do not say.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct ProfileFiles {
    /// The files.
    pub files: Vec<ProfileFile>,
    /// The GPU that they were measured on, or "".
    pub gpu: String,
    /// The model, or "".
    pub model: String,
    /// Its layers, or 0.
    pub layers: f64,
}

/// Relative errors of a part of a fitted profile.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct FittedError {
    /// GPUs a layer; 0: all degrees.
    pub degree: u32,
    /// The operator, or attention.
    pub name: &'static str,
    /// Where its times come from.
    #[cfg_attr(feature = "types", ts(as = "servescope_cost::profile::TimedOrigin"))]
    pub origin: &'static str,
    /// Points that were compared; without any there was nothing to compare with.
    pub points: usize,
    /// Median.
    pub median: f64,
    /// 95th percentile.
    pub p95: f64,
}

/// A profile that was loaded.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct FittedProfile {
    /// The name of its file.
    pub name: String,
    /// GPU.
    pub gpu: String,
    /// Model.
    pub model: String,
    /// The profile as text, for a simulator.
    pub text: String,
    /// Numbers of GPUs a layer that it knows.
    pub degrees: Vec<u32>,
    /// How far the fit is from what was measured.
    pub errors: Vec<FittedError>,
    /// What a reader should know.
    pub notes: Vec<Diagnostic>,
}

impl FittedProfile {
    /// Fitted to files of measurements, or read from one.
    ///
    /// # Errors
    /// What is wrong with the files.
    pub fn of(asked: &ProfileFiles) -> Result<Self, Vec<Diagnostic>> {
        let texts: Vec<NamedText<'_>> =
            asked.files.iter().map(|file| NamedText { name: &file.name, text: &file.text }).collect();
        let of = MeasurementSettings { gpu: &asked.gpu, model: &asked.model, layers: asked.layers as u32 };
        let (loaded, notes) = LoadedProfile::of_files(&texts, &of)?;
        let error = |error: &servescope_cost::profile::OperatorError| FittedError {
            degree: error.degree,
            name: error.name,
            origin: error.origin.name(),
            points: error.points,
            median: error.median,
            p95: error.p95,
        };
        let profile = &loaded.profile;
        Ok(Self {
            errors: loaded.errors.iter().map(error).collect(),
            gpu: profile.gpu.clone(),
            model: profile.model.clone(),
            text: profile.to_text(),
            degrees: profile.degrees.iter().map(|degree| degree.degree).collect(),
            name: loaded.name,
            notes,
        })
    }
}
