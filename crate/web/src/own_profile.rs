//! A profile that somebody has loaded, in place of the shipped ones.

use std::sync::Arc;

use servescope_boundary::convert::thrown;
use servescope_boundary::types::JsFailure;
use servescope_lab::Scenario;
use servescope_lab::profiles::LoadedProfile;
use wasm_bindgen::prelude::*;

use crate::simulator::Simulator;

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

#[wasm_bindgen]
impl Simulator {
    /// Takes the text of a fitted profile in place of the shipped ones; "" goes back to those.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn load_profile(&mut self, name: &str, text: &str) -> Result<(), JsFailure> {
        self.profile.load(name, text)
    }
}
