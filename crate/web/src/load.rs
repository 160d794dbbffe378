//! The load of a setting, and what makes its requests wait, in a thread of the page.

use servescope_lab::blame::Blame;
use servescope_lab::metric::Measured;
use servescope_lab::run::{Load, Saturation, SimulationHandle, Unneeded};
use servescope_settings::notes::Note;
use wasm_bindgen::prelude::*;

use crate::compare::SLICE_STEPS;
use crate::inputs::{Inputs, takes_inputs};
use servescope_boundary::convert::{object, to_js_error};
use servescope_boundary::types::{JsCallErrors, JsCauses, JsDiagnostics, JsLoad, JsPatch};

/// Measures the load of the replicas: simulates a setting, and saturates its replicas with what reached them.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct LoadMeter {
    pub(crate) inputs: Inputs,
    running: Option<SimulationHandle>,
    saturating: Option<Saturation>,
    load: Option<Load>,
}

takes_inputs!(LoadMeter);

#[wasm_bindgen]
impl LoadMeter {
    /// One that generates its traces.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stands ready to measure the load of a scenario.
    ///
    /// # Errors
    /// What is wrong with the scenario.
    pub fn begin(&mut self, scenario: &JsPatch) -> Result<(), JsCallErrors> {
        (self.running, self.saturating, self.load) = (None, None, None);
        let scenario = self.inputs.scenario(scenario)?;
        self.running = Some(SimulationHandle::begin(&scenario, self.inputs.trace()).map_err(to_js_error)?);
        Ok(())
    }

    /// Simulates for some milliseconds and gives the share that is done; 1 is the end.
    pub fn advance(&mut self) -> f64 {
        if let Some(running) = &mut self.running {
            let share = running.advance(SLICE_STEPS);
            if share >= 1.0 {
                let run = self.running.take().map(SimulationHandle::finish);
                self.saturating = run.and_then(|run| Saturation::new(&run).ok());
            }
            return 0.5 * share;
        }
        let is_over = self.saturating.as_mut().is_none_or(|saturating| saturating.advance(SLICE_STEPS));
        if !is_over {
            return 0.75;
        }
        self.load = self.saturating.take().map(Saturation::finish);
        1.0
    }

    /// The load; none where nothing was measured.
    pub fn finish(&mut self) -> Option<JsLoad> {
        Some(object(&self.load.take()?).unchecked_into())
    }
}

/// Finds what makes the requests of a setting wait: simulates it, and over further seeds what it is without each suspect.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct CauseFinder {
    pub(crate) inputs: Inputs,
    running: Option<SimulationHandle>,
    blame: Option<Blame>,
    measured: Vec<Measured>,
}

takes_inputs!(CauseFinder);

#[wasm_bindgen]
impl CauseFinder {
    /// One that generates its traces.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stands ready to find the causes in a scenario.
    ///
    /// # Errors
    /// What is wrong with the scenario.
    pub fn begin(&mut self, scenario: &JsPatch) -> Result<(), JsCallErrors> {
        (self.running, self.blame, self.measured) = (None, None, Vec::new());
        let scenario = self.inputs.scenario(scenario)?;
        let first = SimulationHandle::begin(&scenario, self.inputs.trace()).map_err(to_js_error)?;
        self.running = Some(first.with_decisions());
        Ok(())
    }

    /// Simulates for some milliseconds and gives the share that is done; 1 is the end.
    ///
    /// # Errors
    /// What is wrong with the scenario without a suspect.
    pub fn advance(&mut self) -> Result<f64, JsCallErrors> {
        if let Some(running) = &mut self.running {
            if running.advance(SLICE_STEPS) < 1.0 {
                return Ok(self.share());
            }
            let run = self.running.take().map(SimulationHandle::finish);
            match (run, &self.blame) {
                (Some(run), None) => self.blame = Some(Blame::of(&run, self.inputs.trace().is_some())),
                (Some(run), Some(_)) => self.measured.push(Measured::of(&run, &Blame::metrics())),
                (None, _) => {}
            }
        }
        let Some(blame) = &self.blame else { return Ok(1.0) };
        if self.measured.len() < blame.count() {
            let scenario = blame.scenario(self.measured.len());
            let next = SimulationHandle::begin(&scenario, self.inputs.trace()).map_err(to_js_error)?;
            self.running = Some(next);
        }
        Ok(self.share())
    }

    /// The causes; none where nothing was simulated.
    pub fn finish(&mut self) -> Option<JsCauses> {
        let causes = self.blame.take()?.causes(&self.measured);
        Some(object(&causes).unchecked_into())
    }

    fn share(&self) -> f64 {
        let Some(blame) = &self.blame else { return 0.0 };
        if self.running.is_none() { 1.0 } else { self.measured.len() as f64 / blame.count().max(1) as f64 }
    }
}

/// Finds the settings without which a run is the same: simulates a setting, and then without each of its parts.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct UnneededFinder {
    pub(crate) inputs: Inputs,
    running: Option<SimulationHandle>,
    search: Option<Unneeded>,
}

takes_inputs!(UnneededFinder);

#[wasm_bindgen]
impl UnneededFinder {
    /// One that generates its traces.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stands ready to look at a scenario.
    ///
    /// # Errors
    /// What is wrong with the scenario.
    pub fn begin(&mut self, scenario: &JsPatch) -> Result<(), JsCallErrors> {
        (self.running, self.search) = (None, None);
        let scenario = self.inputs.scenario(scenario)?;
        self.running = Some(SimulationHandle::begin(&scenario, self.inputs.trace()).map_err(to_js_error)?);
        Ok(())
    }

    /// Simulates for some milliseconds and gives the share that is done; 1 is the end.
    pub fn advance(&mut self) -> f64 {
        let loaded = self.inputs.trace();
        if let Some(running) = &mut self.running {
            if running.advance(SLICE_STEPS) >= 1.0 {
                let run = self.running.take().map(SimulationHandle::finish);
                self.search = run.map(|run| Unneeded::of(&run, loaded));
            }
            return 0.0;
        }
        self.search.as_mut().map_or(1.0, |search| search.advance(SLICE_STEPS, loaded))
    }

    /// A note for each; none where nothing was simulated.
    pub fn finish(&mut self) -> Option<JsDiagnostics> {
        let notes = self.search.take()?.finish();
        let reported: Vec<_> = notes.iter().map(Note::diagnostic).collect();
        Some(object(&reported).unchecked_into())
    }
}
