//! Two settings over the same seeds.

use pyo3::prelude::*;
use servescope_lab::compare::Task;
use servescope_lab::metric::{Measured, Metric};
use servescope_lab::replications::MAX_SEEDS;
use servescope_lab::run::Run;
use servescope_settings::notes::lines;

use crate::errors::{count, raised, raised_one};
use crate::inputs::{Scenario, Trace, loaded};
use crate::threads::{all, number};

/// Compares two scenarios: the text that `servescope compare --json` prints, and the notes that it prints.
#[pyfunction]
#[pyo3(signature = (a, b, trace, metrics, seeds, threads))]
pub(crate) fn compare(
    py: Python<'_>,
    a: &Scenario,
    b: &Scenario,
    trace: Option<&Bound<'_, Trace>>,
    metrics: Vec<String>,
    seeds: Option<i64>,
    threads: Option<i64>,
) -> PyResult<(String, Vec<String>)> {
    let one = |error| raised_one(py, error);
    let metrics = Metric::parse_all(metrics.iter().map(String::as_str)).map_err(one)?;
    let seeds = seeds.map(|seeds| count(py, "seeds", seeds, MAX_SEEDS)).transpose()?;
    let threads = number(py, threads)?;
    let task = Task::new(a.0.clone(), b.0.clone(), loaded(trace), metrics, seeds).map_err(one)?;
    let many = |errors| raised(py, errors);
    let pair: Vec<Run> =
        all(py, 2, threads, |side| task.first(side))?.into_iter().collect::<Result<_, _>>().map_err(many)?;
    let further: Vec<Measured> = all(py, task.further(), threads, |place| task.measure(place))?
        .into_iter()
        .collect::<Result<_, _>>()
        .map_err(many)?;
    let (text, idle, is_without_chance) = {
        let outcome = task.outcome(&pair[0], &pair[1], &further);
        (format!("{:#}\n", task.to_json(&outcome, None)), outcome.idle, outcome.is_without_chance)
    };
    let mut notes = Vec::new();
    if task.has_two_seeds() {
        notes.push("A and B have seeds of their own; both are simulated with those of A".to_owned());
    }
    if is_without_chance {
        notes.push("every seed gives the same run, so the intervals mean nothing".to_owned());
    }
    notes.extend(lines(&idle));
    Ok((text, notes))
}
