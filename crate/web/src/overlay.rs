//! A measured run over its simulation, in a thread of the page, slice by slice.

use servescope_evidence::overlay::{
    CostFit, FitError, FitSearch, MAX_CONSTANTS, MeasuredRun, Overlay, Taken, take_over,
};
use servescope_lab::run::SimulationHandle;
use servescope_output::replies::OverlayReply;
use servescope_settings::diagnostic::{Diagnostic, Reason};
use servescope_settings::scenario::Scenario;
use servescope_traces::loaded_trace::LoadedTrace;
use wasm_bindgen::prelude::*;

use crate::compare::{SLICE_STEPS, nothing_ran};
use servescope_boundary::convert::{scenario_of, to_js_error, with_charts};
use servescope_boundary::types::{JsCallErrors, JsOverlay, JsPatch, JsReadResult};

/// Simulates a measured run, and fits constants to it.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Overlayer {
    work: Option<OverlayWork>,
}

#[derive(Debug)]
struct OverlayWork {
    measured: MeasuredRun,
    scenario: Scenario,
    taken: Taken,
    notes: Vec<String>,
    running: Option<SimulationHandle>,
    overlay: Option<Overlay>,
    search: Option<FitSearch>,
}

#[wasm_bindgen]
impl Overlayer {
    /// One without a run.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stands ready to simulate a measured run, as the studio has read it; what the scenario sets overrides what the file
    /// contains. `fit` are the paths of constants to fit, or none.
    ///
    /// # Errors
    /// What is wrong with the scenario or with a constant.
    pub fn begin(
        &mut self,
        measured: &JsReadResult,
        scenario: &JsPatch,
        fit: Vec<String>,
    ) -> Result<(), JsCallErrors> {
        self.work = None;
        let measured: MeasuredRun = serde_wasm_bindgen::from_value(measured.into())
            .map_err(|error| to_js_error(vec![bad(&error.to_string())]))?;
        let mut scenario = scenario_of(scenario)?;
        let taken = take_over(&measured, &mut scenario);
        let notes = measured.notes.iter().chain(&taken.notes).cloned().collect();
        let loaded = LoadedTrace::from_trace("measured", measured.trace());
        let running = Some(SimulationHandle::begin(&scenario, Some(&loaded)).map_err(to_js_error)?);
        let search = if fit.is_empty() {
            None
        } else {
            Some(FitSearch::begin(&measured, &scenario, &fit).map_err(failure_of)?)
        };
        self.work = Some(OverlayWork { measured, scenario, taken, notes, running, overlay: None, search });
        Ok(())
    }

    /// Simulates for some milliseconds, or a run of the fit, and gives the share that is done; 1 is the end.
    pub fn advance(&mut self) -> f64 {
        let Some(work) = &mut self.work else { return 1.0 };
        if let Some(running) = &mut work.running {
            let share = running.advance(SLICE_STEPS);
            if share < 1.0 {
                return if work.search.is_some() { 0.0 } else { share };
            }
            let run = work.running.take().map(SimulationHandle::finish);
            work.overlay = run.map(|run| Overlay::of(&work.measured, &run));
        }
        let Some(search) = &mut work.search else { return 1.0 };
        if search.advance() { search.share().min(0.99) } else { 1.0 }
    }

    /// What was found.
    ///
    /// # Errors
    /// When no measured request ends in the simulated run.
    pub fn finish(&mut self) -> Result<JsOverlay, JsCallErrors> {
        let work = self.work.take().ok_or_else(nothing_ran)?;
        let overlay = work.overlay.ok_or_else(nothing_ran)?;
        if overlay.pairs.is_empty() {
            let reason = Reason::new("overlay_no_pairs");
            let none = bad("no measured request ends in the simulated run").because(reason);
            return Err(to_js_error(vec![none]));
        }
        let fit: Option<CostFit> = work.search.map(FitSearch::finish).transpose().map_err(failure_of)?;
        let OverlayWork { measured, scenario, taken, notes, .. } = work;
        let reply = OverlayReply::of(&measured, &scenario, taken, notes, &overlay, fit.as_ref());
        Ok(with_charts(&reply, [("charts", &reply.charts[..])]).unchecked_into())
    }
}

fn bad(why: &str) -> Diagnostic {
    Diagnostic::error("bad_overlay", "", why.to_owned()).text("why", why)
}

fn failure_of(error: FitError) -> JsCallErrors {
    let sentence = error.to_string();
    let of = |code, constant: &str| Reason::new(code).text("constant", constant);
    let reason = match error {
        FitError::Run(errors) => return to_js_error(errors),
        FitError::Count(count) => {
            Reason::new("fit_count").number("count", count as f64).number("max", MAX_CONSTANTS as f64)
        }
        FitError::Unknown(constant) => of("fit_unknown", &constant),
        FitError::NoNumber(constant) => of("fit_no_number", constant),
        FitError::Twice(constant) => of("fit_twice", constant),
        FitError::NoEffect(constant) => of("fit_no_effect", constant),
        FitError::NoTimes => Reason::new("fit_no_times"),
    };
    to_js_error(vec![bad(&sentence).because(reason)])
}
