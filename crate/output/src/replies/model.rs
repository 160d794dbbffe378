//! A model of one's own, from its `config.json`.

use serde::Serialize;
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::model_config::ModelConfig;
use servescope_settings::scenario::{Scenario, ScenarioPatch};

/// A scenario with the model of a `config.json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct OwnModel {
    /// The settings.
    pub scenario: ScenarioPatch,
    /// What was assumed or left out.
    pub notes: Vec<Diagnostic>,
}

impl OwnModel {
    /// Gives the model of a file to a scenario.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn of(
        name: &str,
        text: &str,
        quantization: Option<&str>,
        mut scenario: Scenario,
    ) -> Result<Self, Vec<Diagnostic>> {
        let notes = ModelConfig::read_beside(name, text, quantization)?.apply(&mut scenario)?;
        Ok(Self { scenario: scenario.patch(), notes })
    }
}
