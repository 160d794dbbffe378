//! The scheduler debugger, in a thread of its own: it keeps a run, and the step at which the reader stands.

use servescope_output::debugger::{Debugger, Move, Preparing};
use servescope_output::replies::DebuggerStep;
use wasm_bindgen::prelude::*;

use crate::compare::nothing_ran;
use crate::inputs::{Inputs, takes_inputs};
use servescope_boundary::convert::{object, to_js_error};
use servescope_boundary::types::{JsCallErrors, JsDebuggerStep, JsPatch};

/// Times at which something happens in one slice: a few milliseconds.
const SLICE_TIMES: usize = 5_000;

/// Simulates a scenario, and steps through its decisions.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Stepper {
    pub(crate) inputs: Inputs,
    preparing: Option<Preparing>,
    debugger: Option<Debugger>,
}

takes_inputs!(Stepper);

#[wasm_bindgen]
impl Stepper {
    /// One that generates its trace.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stands ready to simulate a scenario; the former run is gone.
    ///
    /// # Errors
    /// What is wrong with the scenario.
    pub fn begin(&mut self, scenario: &JsPatch) -> Result<(), JsCallErrors> {
        (self.preparing, self.debugger) = (None, None);
        let scenario = self.inputs.scenario(scenario)?;
        self.preparing = Some(Preparing::begin(&scenario, self.inputs.trace()).map_err(to_js_error)?);
        Ok(())
    }

    /// Simulates for some milliseconds and gives the share that is done; 1 is the end.
    pub fn advance(&mut self) -> f64 {
        self.preparing.as_mut().map_or(1.0, |preparing| preparing.advance(SLICE_TIMES))
    }

    /// The first step of the run that has reached its end.
    ///
    /// # Errors
    /// That nothing ran, or nothing was decided.
    pub fn finish(&mut self) -> Result<JsDebuggerStep, JsCallErrors> {
        let preparing = self.preparing.take().ok_or_else(nothing_ran)?;
        self.debugger = Some(preparing.finish().map_err(|error| to_js_error(vec![error]))?);
        self.step()
    }

    /// Goes to another step: "by", "to", "time" or "request" with a number, "next" or "previous" with a kind of step.
    ///
    /// # Errors
    /// That there is no such step; the reader stays then.
    pub fn go(&mut self, way: &str, number: f64, kind: &str) -> Result<JsDebuggerStep, JsCallErrors> {
        let debugger = self.debugger.as_mut().ok_or_else(nothing_ran)?;
        let moved = Move::read(way, number, kind).and_then(|to| debugger.go(to));
        moved.map_err(|error| to_js_error(vec![error]))?;
        self.step()
    }

    fn step(&mut self) -> Result<JsDebuggerStep, JsCallErrors> {
        let step = self.debugger.as_mut().and_then(DebuggerStep::of).ok_or_else(nothing_ran)?;
        Ok(object(&step).unchecked_into())
    }
}
