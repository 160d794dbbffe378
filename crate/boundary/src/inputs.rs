//! What is simulated beside the settings: a trace from a file, and an operator profile of one's own. Every class that
//! simulates takes both in the same way.

use std::sync::Arc;

use crate::convert::{scenario_of, to_js_error};
use crate::trace_from_js;
use crate::types::{JsCallErrors, JsPatch, JsTraceColumns};
use servescope_settings::profiles::LoadedProfile;
use servescope_settings::scenario::Scenario;
use servescope_traces::loaded_trace::LoadedTrace;

/// A trace and a profile, where they were loaded.
#[derive(Debug, Default)]
pub struct Inputs {
    trace: Option<LoadedTrace>,
    profile: Option<Arc<LoadedProfile>>,
}

impl Inputs {
    /// The loaded trace; none where requests are generated.
    pub fn trace(&self) -> Option<&LoadedTrace> {
        self.trace.as_ref()
    }

    /// Goes back to generated traces.
    pub fn clear_trace(&mut self) {
        self.trace = None;
    }

    /// The scenario of a patch, with the loaded profile.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn scenario(&self, patch: &JsPatch) -> Result<Scenario, JsCallErrors> {
        let mut scenario = scenario_of(patch)?;
        self.give_profile(&mut scenario);
        Ok(scenario)
    }

    /// Gives a scenario the loaded profile.
    pub fn give_profile(&self, scenario: &mut Scenario) {
        scenario.set_profile(self.profile.clone());
    }

    /// Takes a trace over from the studio. The former one stays when this one is bad.
    ///
    /// # Errors
    /// The column that is no column of a trace.
    pub fn load_columns(&mut self, name: &str, columns: &JsTraceColumns) -> Result<(), JsCallErrors> {
        let trace = trace_from_js::trace(columns).map_err(|error| to_js_error(vec![error]))?;
        self.trace = Some(LoadedTrace::from_trace(name, trace));
        Ok(())
    }

    /// Takes the text of a fitted profile in place of the shipped ones; "" goes back to those.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn load_profile(&mut self, name: &str, text: &str) -> Result<(), JsCallErrors> {
        self.profile = if text.is_empty() {
            None
        } else {
            let profile = LoadedProfile::read(name, text).map_err(|error| to_js_error(vec![error]))?;
            Some(Arc::new(profile))
        };
        Ok(())
    }
}
