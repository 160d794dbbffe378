//! The capacity search: a configuration in each worker, and the ranking of what they found.

use servescope_lab::capacity::{
    Capacity, CapacityCheck, CapacityEntry, ConfigurationGrid, Goal, Search, quick_search, standings,
};
use servescope_output::replies::{
    CapacityDescribed, CapacityGrid, CapacityReply, CheckedReply, StandingsReply,
};
use servescope_output::views::capacity::{fronts, probes};
use servescope_settings::diagnostic::Diagnostic;
use wasm_bindgen::prelude::*;

use crate::inputs::{Inputs, takes_inputs};
use servescope_boundary::convert::{object, read_scenario, scenario_of, to_js_error, with_charts};
use servescope_boundary::types::{
    JsCallErrors, JsCapacity, JsChecked, JsEntries, JsGrid, JsPatch, JsStandings,
};

/// Router steps of one slice: a few milliseconds.
const SLICE_STEPS: usize = 20_000;

/// Searches one configuration at a time.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct CapacitySearch {
    pub(crate) inputs: Inputs,
    search: Option<Search>,
    goal: Option<Goal>,
    found: Option<Capacity>,
    check: Option<CapacityCheck>,
}

takes_inputs!(CapacitySearch);

#[wasm_bindgen]
impl CapacitySearch {
    /// A search of generated requests.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stands ready to search the capacity of a scenario.
    ///
    /// # Errors
    /// What is wrong with the scenario.
    pub fn begin(&mut self, scenario: &JsPatch) -> Result<(), JsCallErrors> {
        self.search = None;
        let scenario = self.inputs.scenario(scenario)?;
        self.goal = Some(Goal::of(&scenario));
        let search = Search::new(&scenario, self.inputs.trace().cloned()).map_err(to_js_error)?;
        self.search = Some(search.with_limits());
        Ok(())
    }

    /// Stands ready to search, quickly, the highest rate at which the SLO of a scenario holds.
    ///
    /// # Errors
    /// What is wrong with the scenario.
    pub fn begin_slo(&mut self, scenario: &JsPatch) -> Result<(), JsCallErrors> {
        self.search = None;
        let scenario = self.inputs.scenario(scenario)?;
        self.search = Some(quick_search(&scenario, self.inputs.trace().cloned()).map_err(to_js_error)?);
        Ok(())
    }

    /// That rate; none where the SLO holds at no rate, or nothing was searched.
    pub fn finish_slo(&mut self) -> Option<f64> {
        self.search.take()?.finish().rate_rps
    }

    /// Stands ready to simulate what the ranking says that the load needs; `requests` as many as the search did. `missed_rps`
    /// is the lowest rate that failed, where one did.
    ///
    /// # Errors
    /// What is wrong with the scenario, or that this many replicas cannot be simulated.
    pub fn begin_check(
        &mut self,
        scenario: &JsPatch,
        replicas: u32,
        requests: f64,
        missed_rps: Option<f64>,
    ) -> Result<(), JsCallErrors> {
        self.check = None;
        let scenario = self.inputs.scenario(scenario)?;
        let check = CapacityCheck::new(&scenario, self.inputs.trace(), replicas, requests as u64, missed_rps);
        self.check = Some(check.map_err(to_js_error)?);
        Ok(())
    }

    /// Simulates for some milliseconds and gives the share that is done; 1 is the end.
    pub fn advance_check(&mut self) -> f64 {
        self.check.as_mut().map_or(1.0, |check| check.advance(SLICE_STEPS))
    }

    /// What the finished check showed, with the terminal's words for it; none where there is none.
    pub fn finish_check(&mut self) -> Option<JsChecked> {
        let reply = CheckedReply::from(self.check.take()?.finish());
        Some(object(&reply).unchecked_into())
    }

    /// Searches for some milliseconds and estimates the share that is done; 1 is the end.
    pub fn advance(&mut self) -> f64 {
        self.search.as_mut().map_or(1.0, |search| search.advance(SLICE_STEPS))
    }

    /// What was found, the terminal's words for it, and its chart.
    ///
    /// # Errors
    /// When nothing was searched.
    pub fn finish(&mut self) -> Result<JsCapacity, JsCallErrors> {
        if let Some(search) = self.search.take() {
            self.found = Some(search.finish());
        }
        let (Some(found), Some(goal)) = (&self.found, &self.goal) else {
            return Err(to_js_error(vec![Diagnostic::error(
                "no_trace",
                "",
                "nothing has been searched yet".to_owned(),
            )]));
        };
        let reply = CapacityReply {
            described: CapacityDescribed {
                priced: found.describe(false),
                unpriced: found.describe(true),
                binding: found.binding.map_or_else(String::new, |binding| binding.to_string()),
            },
            capacity: found.clone(),
            charts: vec![probes(&found.probes, goal.limits_s)],
        };
        Ok(with_charts(&reply, [("charts", &reply.charts[..])]).unchecked_into())
    }
}

/// The grid to begin a comparison with, as a scenario writes it; none where there is nothing to compare.
#[wasm_bindgen]
pub fn grid_to_begin_with(scenario: &JsPatch) -> Option<String> {
    Some(ConfigurationGrid::to_begin_with(&read_scenario(scenario).0)?.to_text())
}

/// The configurations of a scenario's grid.
///
/// # Errors
/// What is wrong with the scenario or its grid.
#[wasm_bindgen]
pub fn capacity_grid(scenario: &JsPatch) -> Result<JsGrid, JsCallErrors> {
    let grid = CapacityGrid::of(&scenario_of(scenario)?).map_err(|error| to_js_error(vec![error]))?;
    Ok(object(&grid).unchecked_into())
}

/// The order of configurations, and the charts of their cost.
///
/// # Errors
/// When an entry is none.
#[wasm_bindgen]
pub fn capacity_standings(entries: &JsEntries) -> Result<JsStandings, JsCallErrors> {
    let entries: Vec<CapacityEntry> = serde_wasm_bindgen::from_value(entries.into())
        .map_err(|error| to_js_error(vec![Diagnostic::error("bad_json", "entries", error.to_string())]))?;
    let reply = StandingsReply { standings: standings(&entries), charts: fronts(&entries).into() };
    Ok(with_charts(&reply, [("charts", &reply.charts[..])]).unchecked_into())
}
