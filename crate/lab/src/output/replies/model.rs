//! A model of one's own, from its `config.json`.

use serde::Serialize;

use crate::diagnostic::Diagnostic;
use crate::model_config::ModelConfig;
use crate::scenario::{Scenario, ScenarioPatch};

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
    pub fn of(name: &str, text: &str, mut scenario: Scenario) -> Result<Self, Vec<Diagnostic>> {
        let notes = ModelConfig::read(name, text)?.apply(&mut scenario)?;
        Ok(Self { scenario: scenario.patch(), notes })
    }
}
