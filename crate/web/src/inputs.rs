//! What is simulated beside the settings: a trace from a file, and an operator profile of one's own. Every class that
//! simulates takes both in the same way.

use std::sync::Arc;

use servescope_boundary::convert::{scenario_of, to_js_error};
use servescope_boundary::trace_from_js;
use servescope_boundary::types::{JsFailure, JsPatch, JsTraceColumns};
use servescope_lab::profiles::LoadedProfile;
use servescope_lab::{LoadedTrace, Scenario};

/// A trace and a profile, where they were loaded.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    trace: Option<LoadedTrace>,
    profile: Option<Arc<LoadedProfile>>,
}

impl Inputs {
    /// The loaded trace; none where requests are generated.
    pub(crate) fn trace(&self) -> Option<&LoadedTrace> {
        self.trace.as_ref()
    }

    /// Goes back to generated traces.
    pub(crate) fn clear_trace(&mut self) {
        self.trace = None;
    }

    /// The scenario of a patch, with the loaded profile.
    pub(crate) fn scenario(&self, patch: &JsPatch) -> Result<Scenario, JsFailure> {
        let mut scenario = scenario_of(patch)?;
        self.give_profile(&mut scenario);
        Ok(scenario)
    }

    /// Gives a scenario the loaded profile.
    pub(crate) fn give_profile(&self, scenario: &mut Scenario) {
        scenario.set_profile(self.profile.clone());
    }

    pub(crate) fn load_columns(&mut self, name: &str, columns: &JsTraceColumns) -> Result<(), JsFailure> {
        let trace = trace_from_js::trace(columns).map_err(|failure| to_js_error(vec![failure]))?;
        self.trace = Some(LoadedTrace::from_trace(name, trace));
        Ok(())
    }

    pub(crate) fn load_profile(&mut self, name: &str, text: &str) -> Result<(), JsFailure> {
        self.profile = if text.is_empty() {
            None
        } else {
            let profile = LoadedProfile::read(name, text).map_err(|failure| to_js_error(vec![failure]))?;
            Some(Arc::new(profile))
        };
        Ok(())
    }
}

/// What a class of the page that has a field `inputs` takes them with.
macro_rules! takes_inputs {
    ($class:ident) => {
        #[wasm_bindgen]
        impl $class {
            /// Takes a trace over from the studio; later runs simulate it. The former trace stays when this one is bad.
            ///
            /// # Errors
            /// The column that is no column of a trace.
            pub fn load_columns(
                &mut self,
                name: &str,
                columns: &servescope_boundary::types::JsTraceColumns,
            ) -> Result<(), JsFailure> {
                self.inputs.load_columns(name, columns)
            }

            /// Takes the text of a fitted profile in place of the shipped ones; "" goes back to those.
            ///
            /// # Errors
            /// What is wrong with the text.
            pub fn load_profile(&mut self, name: &str, text: &str) -> Result<(), JsFailure> {
                self.inputs.load_profile(name, text)
            }
        }
    };
}

pub(crate) use takes_inputs;
