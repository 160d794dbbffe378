//! A search, and the check of its answer, from start to end: for callers that show no progress within one configuration.

use serde_json::{Value as Json, json};

use super::check::Check;
use super::grid::{Configuration, Grid};
use super::ranking::{Found, Ranked};
use super::search::Search;
use crate::run::LoadedTrace;

/// Searches the capacity of a configuration, which has this place in its grid.
pub fn search(place: usize, configuration: &Configuration, loaded: Option<&LoadedTrace>) -> Found {
    let Configuration { values, scenario } = configuration;
    let result = Search::new(scenario, loaded.cloned()).map(|mut search| {
        while search.advance(usize::MAX) < 1.0 {}
        search.finish()
    });
    Found { place, values: values.clone(), result }
}

impl Ranked {
    /// Simulates what the ranking answers for the load, where that is asked of this place: the check, or why it cannot be made.
    pub fn simulate_load(&mut self, all: &[Configuration], loaded: Option<&LoadedTrace>) {
        let measures = self.capacity.as_ref().and_then(|capacity| capacity.measures);
        let (true, Some(need), Some(measures)) = (self.standing.is_checked, self.standing.need, measures)
        else {
            return;
        };
        let scenario = &all[self.standing.place].scenario;
        match Check::new(scenario, loaded, need.replicas, measures.requests) {
            Ok(mut check) => {
                while check.advance(usize::MAX) < 1.0 {}
                self.check = Some(check.finish());
            }
            Err(failures) => self.failures = failures,
        }
    }
}

/// The ranking as JSON, every run of the searches included.
pub fn to_json(grid: &Grid, ranking: &[Ranked]) -> Json {
    let axes: Vec<&str> = grid.axes.iter().map(|axis| axis.id.row().id).collect();
    json!({ "axes": axes, "ranking": ranking })
}
