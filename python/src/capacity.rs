//! The highest rate that meets a goal, for one configuration or a grid of them.

use pyo3::prelude::*;
use servescope_lab::capacity::{ConfigurationGrid, Search, rank, rank_again, search, to_json};
use servescope_settings::notes::{NoteContext, Purpose, common, lines};

use crate::errors::{raised, raised_one};
use crate::inputs::{Scenario, Trace, loaded};
use crate::threads::{all, number};

/// Searches the capacity of every configuration: the text that `servescope capacity --json` prints, and the notes that it prints.
#[pyfunction]
#[pyo3(signature = (scenario, grid, trace, threads))]
pub(crate) fn capacity(
    py: Python<'_>,
    scenario: &Scenario,
    grid: Vec<String>,
    trace: Option<&Bound<'_, Trace>>,
    threads: Option<i64>,
) -> PyResult<(String, Vec<String>)> {
    let one = |error| raised_one(py, error);
    let threads = number(py, threads)?;
    let mut whole = ConfigurationGrid::of(&scenario.0).map_err(one)?;
    whole.axes.extend(ConfigurationGrid::parse(grid.iter().map(String::as_str)).map_err(one)?.axes);
    whole.check().map_err(one)?;
    let loaded = loaded(trace);
    let configurations = whole.configurations(&scenario.0);
    let mut notes: Vec<String> = whole.notes(&configurations).into_iter().map(|axis| axis.message).collect();
    if let [only] = configurations.as_slice() {
        // What is wrong with the only configuration is wrong with the input.
        Search::new(&only.scenario, loaded.clone()).map_err(|errors| raised(py, errors))?;
    }
    let purpose = Purpose::Capacity;
    let context = loaded
        .as_ref()
        .map_or(NoteContext { purpose, ..NoteContext::default() }, |loaded| loaded.context(purpose));
    let scenarios = configurations.iter().map(|configuration| &configuration.scenario);
    notes.extend(lines(&common(scenarios, &context)));
    let found = all(py, configurations.len(), threads, |place| {
        search(place, &configurations[place], loaded.as_ref())
    })?;
    let mut ranking = rank(found);
    while ranking.iter().any(|ranked| ranked.standing.is_next) {
        ranking = all(py, ranking.len(), threads, |at| {
            ranking[at].with_load_simulated(&configurations, loaded.as_ref())
        })?;
        rank_again(&mut ranking);
    }
    Ok((format!("{:#}\n", to_json(&whole, &ranking, &configurations, loaded.as_ref())), notes))
}
