//! How the classes of this module that simulate take a trace and a profile.

pub(crate) use servescope_boundary::inputs::Inputs;

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
            ) -> Result<(), JsCallErrors> {
                self.inputs.load_columns(name, columns)
            }

            /// Takes the text of a fitted profile in place of the shipped ones; "" goes back to those.
            ///
            /// # Errors
            /// What is wrong with the text.
            pub fn load_profile(&mut self, name: &str, text: &str) -> Result<(), JsCallErrors> {
                self.inputs.load_profile(name, text)
            }
        }
    };
}

pub(crate) use takes_inputs;
