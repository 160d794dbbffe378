//! One run: its summary and its requests as columns.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;
use servescope_lab::run::SimulationHandle;
use servescope_output::files::{RequestColumn, Values, request_columns};

use crate::errors::raised;
use crate::inputs::{Scenario, Trace, loaded};
use crate::threads::sliced;

/// Times of the simulation in a slice between two looks at signals.
const SLICE: usize = 20_000;

/// A column: its name, the kind of its values (`int64`, `float64` or `name`), their bytes, and the names that the bytes number.
type ColumnFields = (&'static str, &'static str, Py<PyBytes>, Vec<&'static str>);

/// Simulates a scenario: the summary as the text that `servescope simulate --json` prints, and the columns of `requests.csv`.
#[pyfunction]
#[pyo3(signature = (scenario, trace=None))]
pub(crate) fn simulate(
    py: Python<'_>,
    scenario: &Scenario,
    trace: Option<&Bound<'_, Trace>>,
) -> PyResult<(String, Vec<ColumnFields>)> {
    let loaded = loaded(trace);
    let begun = py.detach(|| SimulationHandle::begin(&scenario.0, loaded.as_ref()));
    let mut running = begun.map_err(|errors| raised(py, errors))?;
    sliced(py, || running.advance(SLICE) >= 1.0)?;
    let (text, columns) = py.detach(|| {
        let mut run = running.finish();
        run.find_unneeded(loaded.as_ref());
        let mut summary = run.summary_of(usize::MAX);
        summary.warnings.extend(loaded.into_iter().flat_map(|loaded| loaded.warnings));
        (format!("{:#}\n", json!(summary)), request_columns(&run.report))
    });
    Ok((text, columns.into_iter().map(|column| column_fields(py, column)).collect()))
}

fn column_fields(py: Python<'_>, RequestColumn { name, values }: RequestColumn) -> ColumnFields {
    let bytes = |bytes: Vec<u8>| PyBytes::new(py, &bytes).unbind();
    match values {
        Values::Whole(all) => {
            (name, "int64", bytes(all.iter().flat_map(|x| x.to_ne_bytes()).collect()), Vec::new())
        }
        Values::Seconds(all) => {
            let all = all.iter().flat_map(|x| x.unwrap_or(f64::NAN).to_ne_bytes());
            (name, "float64", bytes(all.collect()), Vec::new())
        }
        Values::Names(all) => {
            let mut names: Vec<&str> = Vec::new();
            let number = |name: &&'static str| {
                let known = names.iter().position(|other| other == name);
                let place = known.unwrap_or_else(|| {
                    names.push(name);
                    names.len() - 1
                });
                u8::try_from(place).expect("outcomes have few names")
            };
            let numbers = all.iter().map(number).collect();
            (name, "name", bytes(numbers), names)
        }
    }
}
